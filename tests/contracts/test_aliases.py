"""`.as_(...)` and `alias`: one code that serves several contracts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import Pipeline, WorkerGroup, alias, checking, contract_of, from_rows, stage
from batchpact.contracts.lint.linter import lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.dataproto import DataProto, column
from batchpact.schemas import Arg, BatchSchema, DeclarationError, NonTensor, StageSchema, When, arg
from tests.contracts.stages import (
    CONTAINERS,
    Container,
    in_every_container,
    ours,
    refusal,
    rewards,
    scored,
    store_of,
    stores_of,
)


class Infer(StageSchema):
    """Log-probs of the responses."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        uid: NonTensor[str]
        calculate_entropy: Arg[bool] = True

    class Writes(BatchSchema):
        log_probs: Float32[Tensor, "batch response"]
        entropys: Annotated[Float32[Tensor, "batch response"], When(arg("calculate_entropy"))]


@stage
def infer(batch: Infer.Reads) -> Infer.Writes:
    """Infer."""
    written = {"log_probs": 2 * batch.rewards}
    if batch.calculate_entropy:
        written["entropys"] = batch.rewards
    return Infer.Writes(**written)


@stage(Infer)
def infer_in_place(data: Any) -> Any:
    tensors = store_of(data, "tensor")
    tensors["log_probs"] = 2 * tensors["rewards"]
    if store_of(data, "meta")["calculate_entropy"]:
        tensors["entropys"] = tensors["rewards"]
    assert list(store_of(data, "column")["uid"])
    return data


RENAME = {"log_probs": "ref_log_prob"}
EVERYTHING = {"log_probs": "ref_log_prob", "rewards": "values", "uid": "data_source"}
ref = infer.as_("ref_log_prob", rename=RENAME, args={"calculate_entropy": False})


class Actor:
    factor = 2.0

    @stage
    def infer(self, batch: Infer.Reads, shift: float = 0.0) -> Infer.Writes:
        return Infer.Writes(log_probs=self.factor * batch.rewards + shift, entropys=batch.rewards)

    ref_log_prob = infer.as_("ref_log_prob", rename={**RENAME, "entropys": "ref_entropys"})


@in_every_container
def test_what_is_written_has_the_new_names(container: Container) -> None:
    batch = scored(container)

    result = ref(batch)

    assert type(result) is type(batch)
    assert stores_of(result).names() == ["ref_log_prob"]
    assert torch.equal(stores_of(result).tensors["ref_log_prob"], 2 * rewards())


@in_every_container
@pytest.mark.parametrize("level", ["off", "structure", "values"])
@pytest.mark.parametrize("function", [infer, infer_in_place])
def test_what_is_read_has_the_new_names_in_the_batch_and_its_own_in_the_code(
    container: Container, level: Any, function: Any
) -> None:
    batch = scored(container)
    before = stores_of(batch).names()
    with checking(level):
        result = alias(function, "ref", rename=EVERYTHING, args={"calculate_entropy": False})(batch)

    assert torch.equal(stores_of(result).tensors["ref_log_prob"], -2 * rewards())
    assert set(stores_of(result).names()) - {"ref_log_prob"} <= set(before)
    assert torch.equal(stores_of(batch).tensors["rewards"], rewards())
    assert "log_probs" not in stores_of(batch).names()


def test_it_is_a_stage_with_a_record_of_its_own() -> None:
    contract = contract_of(ref)

    assert contract is not None
    spec = contract.spec
    assert (spec.name, spec.qualname) == ("ref_log_prob", f"{__name__}.ref_log_prob")
    assert [field.key for field in spec.writes.fields] == ["ref_log_prob"]  # the condition of entropys is decided
    assert spec.writes.fields[0].name == "log_probs"
    assert spec.reads.fields[2].default is False
    own = contract_of(infer)
    assert own is not None
    assert [field.key for field in own.spec.writes.fields] == ["log_probs", "entropys"]


def test_the_original_is_as_it_was() -> None:
    assert stores_of(infer(scored())).names() == ["log_probs", "entropys"]


def test_called_with_the_reads_of_the_original_it_returns_its_writes() -> None:
    result = ref(Infer.Reads(rewards=rewards(), uid=column(list("aabb"))))

    assert isinstance(result, Infer.Writes)
    assert torch.equal(result.log_probs, 2 * rewards())


def test_a_fixed_argument_cannot_be_given_another_value() -> None:
    ref(scored(), calculate_entropy=False)

    assert refusal(lambda: ref(scored(), calculate_entropy=True)) == (
        "1 problem where stage 'ref_log_prob' is called\n\n"
        "  BP036 call  calculate_entropy  called with bool True; in this stage it is always bool False"
    )


def test_a_field_whose_condition_the_argument_decides_may_not_be_written() -> None:
    @stage(Infer)
    def disobeys(data: DataProto) -> DataProto:
        return ours({"log_probs": rewards(), "entropys": rewards()}, {}, {})

    found = refusal(lambda: disobeys.as_("ref", args={"calculate_entropy": False})(scored()))  # type: ignore[attr-defined]
    assert "BP004 unasked  entropys" in found
    assert "it is written where arg calculate_entropy, and that does not hold" in found


def test_violations_name_the_new_stage_and_the_new_key() -> None:
    @stage(Infer)
    def wrong(data: DataProto) -> DataProto:
        return ours({"log_probs": torch.ones(4), "entropys": rewards()}, {}, {})

    found = refusal(lambda: alias(wrong, "ref", rename=RENAME)(scored()))
    assert found.startswith("1 problem where stage 'ref' returns its result")
    assert "BP011 rank  ref_log_prob  f32[4]" in found


def test_a_result_that_the_function_keeps_is_not_changed() -> None:
    own = ours({"log_probs": rewards(), "entropys": rewards()}, {}, {})

    alias(stage(Infer, name="keeps")(lambda data: own), "ref", rename=RENAME)(scored())

    assert own.stores().names() == ["log_probs", "entropys"]


def test_tuples_and_none_hold() -> None:
    @stage(Infer)
    def pair(data: DataProto) -> Any:
        return ours({"log_probs": rewards(), "entropys": rewards()}, {}, {}), 7

    result, more = alias(pair, "ref", rename=RENAME)(scored())

    assert sorted(result.stores().names()) == ["entropys", "ref_log_prob"]
    assert more == 7
    assert alias(stage(Infer, name="nothing")(lambda data: None), "ref", rename=RENAME)(scored()) is None


class Sort(StageSchema):
    rows = "permute"

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        order: Int64[Tensor, "batch"]


@pytest.mark.parametrize("how", ["indexed", "from_rows"])
def test_rows_keep_their_origin(how: str) -> None:
    @stage(Sort)
    def backwards(data: DataProto) -> DataProto:
        rows = [3, 2, 1, 0]
        if how == "from_rows":
            return from_rows(ours({"order": torch.tensor(rows)}, {}, {}), rows)
        turned = data[rows]
        turned.batch["order"] = torch.tensor(rows)
        return turned

    result = alias(backwards, "sort", rename={"rewards": "values", "order": "place"})(scored())

    assert result.batch["place"].tolist() == [3, 2, 1, 0]
    assert torch.equal(result.batch["values"], -rewards().flip(0))
    assert torch.equal(result.batch["rewards"], rewards().flip(0))


def test_in_a_class_the_method_has_the_name_of_its_attribute() -> None:
    result = Actor().ref_log_prob(scored(), shift=1.0)

    assert stores_of(result).names() == ["ref_log_prob", "ref_entropys"]
    assert torch.equal(result.batch["ref_log_prob"], 2 * rewards() + 1)


def test_a_bound_method_stays_bound() -> None:
    actor = Actor()
    actor.factor = 5.0

    assert torch.equal(alias(actor.infer, "ref", rename=RENAME)(scored()).batch["ref_log_prob"], 5 * rewards())


def test_an_alias_has_other_names_too() -> None:
    again = ref.as_("third", rename={"ref_log_prob": "third_log_prob", "rewards": "values"})

    assert torch.equal(again(scored()).batch["third_log_prob"], -2 * rewards())
    assert "it is always bool False" in refusal(lambda: again(scored(), calculate_entropy=True))


def test_coroutine_functions_stay_such() -> None:
    @stage
    async def infer_later(batch: Infer.Reads) -> Infer.Writes:
        return Infer.Writes(log_probs=batch.rewards, entropys=batch.rewards)

    result = asyncio.run(infer_later.as_("ref", rename=RENAME)(scored()))  # type: ignore[arg-type]

    assert stores_of(result).names() == ["ref_log_prob", "entropys"]


class Scale(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        factor: Arg[float] = 1.0

    class Writes(BatchSchema):
        scaled: Float32[Tensor, "batch response"]


def test_a_function_of_plain_values_has_other_names_for_batches() -> None:
    scale = stage(Scale, unpack=True)(lambda rewards, factor: factor * rewards)
    values = scale.as_("scale_values", rename={"rewards": "values", "scaled": "scaled_values"}, args={"factor": 3.0})

    assert torch.equal(values(scored()).batch["scaled_values"], -3 * rewards())


def test_a_pipeline_has_both_names() -> None:
    class Inputs(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        uid: NonTensor[str]

    pipeline = Pipeline("both", inputs=Inputs, stages=[infer, ref], outputs=["log_probs", "ref_log_prob"])

    assert pipeline.check().ok
    result = pipeline.run(ours({"rewards": rewards()}, {"uid": list("aabb")}, {}))
    assert result.stores().names() == ["rewards", "log_probs", "entropys", "ref_log_prob", "uid"]


def test_a_worker_group_runs_it_by_the_attribute_of_the_class() -> None:
    with WorkerGroup(Actor, dp=2) as group:
        result = group.ref_log_prob(scored())

    assert torch.equal(result.batch["ref_log_prob"], 2 * rewards())


def test_the_linter_reads_the_code_by_its_own_names() -> None:
    stages = stages_of(f"{__name__}:ref")

    assert [stage.name for stage in stages] == ["infer"]
    assert lint(stages).report.ok


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: infer.as_(
                "x",
                rename={"log_prob": "a", "rewards": "uid", "calculate_entropy": "c"},
                args={"entropy": True},
            ),
            "4 problems in the alias 'x' of stage 'infer'\n\n"
            "  BP051 declared  log_prob           its contract has no such field; closest name: 'log_probs'\n"
            "  BP051 declared  rewards            'uid' is the key of another field of the contract\n"
            "  BP051 declared  calculate_entropy  an argument has no key in the batch; args={...} gives it a value\n"
            "  BP051 declared  entropy            its contract has the arguments 'calculate_entropy'",
        ),
        (
            lambda: alias(len, "x"),
            "1 problem in alias('x')\n\n  BP051 declared  len  only a stage function or a bound method has other names",
        ),
    ],
)
def test_mistakes_are_told_where_the_name_is_given(make: Callable[[], object], expected: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        make()

    assert str(caught.value) == expected


def test_a_stage_of_a_group_says_how_to_name_it() -> None:
    with WorkerGroup(Actor, dp=1) as group, pytest.raises(DeclarationError, match=r"name it in the class"):
        alias(group.infer, "ref")


def test_two_renamed_fields_may_change_places() -> None:
    swap = {"rewards": "values", "log_probs": "rewards"}

    result = alias(infer_in_place, "swapped", rename=swap, args={"calculate_entropy": False})(
        scored(CONTAINERS["tensordict"])
    )

    assert torch.equal(result["rewards"], -2 * rewards())
