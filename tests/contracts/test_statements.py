"""`StageSchema.on(batch)`: driver statements under contract, on every kind of batch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from tensordict import NonTensorData
from torch import Tensor

from batchpact.contracts import Event, checking, observe, stage, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    ContractError,
    Meta,
    MissingFieldError,
    NonTensor,
    StageSchema,
    UndeclaredReadError,
    When,
    config,
)
from tests.contracts.stages import (
    CONTAINERS,
    Container,
    every_store,
    in_every_container,
    ours,
    refusal,
    rewards,
    scored,
    store_of,
    stores_of,
)


class SetScores(StageSchema):
    """Scores of the rewards."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        uid: NonTensor[str]
        gamma: Meta[float]
        scale: Arg[float] = 2.0

    class Writes(BatchSchema):
        scores: Float32[Tensor, "batch response"]
        reward_sum: Meta[float] | None = None


def set_in(batch: Any, key: str, value: Any) -> None:
    store_of(batch, "tensor")[key] = value


def kept(batch: Any) -> dict[str, Any]:
    """What a batch holds, by name; the objects themselves where a container keeps them."""
    return {name: store[name] for _, store in stores_of(batch).by_placement() for name in store}


def unchanged(batch: Any, before: dict[str, Any]) -> bool:
    now = kept(batch)
    tensors = [name for name, value in before.items() if isinstance(value, Tensor)]
    return list(now) == list(before) and all(now[name] is before[name] for name in tensors)


@in_every_container
def test_what_the_block_sets_is_in_the_batch_afterwards(container: Container) -> None:
    batch = scored(container)
    names = stores_of(batch).names()
    scores = 3 * rewards()

    with SetScores.on(batch) as same:
        assert same is batch
        set_in(batch, "scores", scores)

    assert sorted(stores_of(batch).names()) == sorted([*names, "scores"])
    assert torch.equal(stores_of(batch).tensors["scores"], scores)
    assert type(store_of(batch, "tensor")) is type(store_of(scored(container), "tensor"))


@in_every_container
def test_meta_may_be_written_too(container: Container) -> None:
    batch = scored(container)
    with SetScores.on(batch):
        set_in(batch, "scores", rewards())
        value: Any = 1.0 if batch is not store_of(batch, "meta") else NonTensorData(1.0, batch_size=[4])
        store_of(batch, "meta")["reward_sum"] = value

    assert stores_of(batch).meta["reward_sum"] == 1.0


def test_our_batch_remembers_who_wrote_it() -> None:
    batch = scored()
    with SetScores.on(batch):
        batch.batch["scores"] = rewards()

    assert batch.last_writer("scores") == "set_scores"


@pytest.mark.parametrize("container", [CONTAINERS["ours"], CONTAINERS["verl"]])
@every_store
def test_a_data_proto_refuses_a_look_at_what_is_not_declared(container: Container, store: str) -> None:
    name = {"tensor": "values", "column": "data_source", "meta": "global_steps"}[store]
    batch = scored(container)
    before = kept(batch)

    def look() -> None:
        with SetScores.on(batch):
            store_of(batch, store)[name]

    assert f"BP002 withheld  {name}" in refusal(look, UndeclaredReadError)
    assert unchanged(batch, before)


def test_a_tensordict_stays_as_it_is_and_shows_everything() -> None:
    batch = scored(CONTAINERS["tensordict"])
    with SetScores.on(batch):
        batch["scores"] = batch["values"]

    assert torch.equal(batch["scores"], -rewards())


def wrong_shape(batch: Any) -> None:
    set_in(batch, "scores", torch.ones(4))


def undeclared(batch: Any) -> None:
    set_in(batch, "scores", rewards())
    set_in(batch, "extra", rewards())


def replaced(batch: Any) -> None:
    set_in(batch, "scores", rewards())
    set_in(batch, "rewards", rewards())


def taken_out(batch: Any) -> None:
    set_in(batch, "scores", rewards())
    store_of(batch, "tensor").pop("rewards")


@in_every_container
@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (wrong_shape, "BP011 rank  scores  f32[4]"),
        (undeclared, "BP004 unasked  extra  returned tensor f32[4, 3]; its Writes do not declare it"),
        (replaced, "BP031 changed  rewards  returned with another value; the stage reads it and does not write it"),
        (
            taken_out,
            "BP031 changed  rewards  taken out of the batch; the drops of the stage do not name it; declare drops = "
            "('rewards',)",
        ),
    ],
)
def test_on_a_violation_at_the_end_the_batch_is_what_it_was(
    container: Container, block: Callable[[Any], None], expected: str
) -> None:
    batch = scored(container)
    before = kept(batch)

    def run() -> None:
        with SetScores.on(batch):
            block(batch)

    message = refusal(run)
    assert message.startswith("1 problem where the block of stage 'set_scores' ends\n\n")
    assert expected in message
    assert unchanged(batch, before)


@in_every_container
def test_a_field_that_the_block_does_not_set_is_missing(container: Container) -> None:
    batch = scored(container)
    set_in(batch, "scores", rewards())  # an old value is not what this block writes

    def run() -> None:
        with SetScores.on(batch):
            pass

    assert "BP001 missing  scores" in refusal(run, MissingFieldError)


@in_every_container
def test_a_batch_without_the_reads_is_refused_when_the_block_begins(container: Container) -> None:
    batch = container({"rewards": rewards()}, {}, {"gamma": 1.0})

    def run() -> None:
        with SetScores.on(batch):
            raise AssertionError

    assert refusal(run, MissingFieldError).startswith("1 problem where stage 'set_scores' reads its batch")


@in_every_container
def test_an_exception_passes_through_and_the_batch_is_what_it_was(container: Container) -> None:
    batch = scored(container)
    before = kept(batch)

    with pytest.raises(ZeroDivisionError), SetScores.on(batch):
        undeclared(batch)
        raise ZeroDivisionError

    assert unchanged(batch, before)


@in_every_container
def test_an_input_that_is_changed_in_place_is_found(container: Container) -> None:
    batch = scored(container)

    def run() -> None:
        with SetScores.on(batch):
            set_in(batch, "scores", store_of(batch, "tensor")["rewards"].mul_(2).clone())

    assert "BP031 changed  rewards  changed in place" in refusal(run)


@in_every_container
def test_arguments_stand_in_the_meta_for_the_length_of_the_block(container: Container) -> None:
    batch = scored(container)
    with SetScores.on(batch, scale=3.0):
        assert stores_of(batch).meta["scale"] == 3.0
        set_in(batch, "scores", rewards())

    assert "scale" not in stores_of(batch).names()


class Rewrite(StageSchema):
    drops = ("values",)

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        rewards: Float32[Tensor, "batch response"]


@in_every_container
def test_rewrites_replace_and_drops_leave(container: Container) -> None:
    batch = scored(container)
    with Rewrite.on(batch):
        store_of(batch, "tensor")["rewards"].mul_(2)

    assert torch.equal(stores_of(batch).tensors["rewards"], 2 * rewards())
    assert "values" not in stores_of(batch).names()


def test_stages_and_the_operations_of_a_batch_work_inside_a_block() -> None:
    class Score(StageSchema):
        class Reads(BatchSchema):
            rewards: Float32[Tensor, "batch response"]

        class Writes(BatchSchema):
            scores: Float32[Tensor, "batch response"]

    @stage
    def score(batch: Score.Reads) -> Score.Writes:
        return Score.Writes(scores=2 * batch.rewards)

    batch = scored()
    with SetScores.on(batch):
        batch.union(score(batch))

    assert torch.equal(batch.batch["scores"], 2 * rewards())


def test_rows_that_move_are_found_where_the_container_knows_them() -> None:
    batch = scored()

    def run() -> None:
        with SetScores.on(batch):
            batch.reorder(torch.tensor([1, 0, 2, 3]))
            batch.batch["scores"] = rewards()

    assert "BP034 origin  batch  row 0 of the result is row 1 of the input" in refusal(run)
    assert torch.equal(batch.batch["rewards"], rewards())


def test_blocks_nest() -> None:
    batch = scored()
    with SetScores.on(batch), Doubles.on(batch):
        batch.batch["scores"] = 2 * batch.batch["rewards"]

    assert torch.equal(batch.batch["scores"], 2 * rewards())


class Doubles(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        critic: Annotated[Float32[Tensor, "batch response"], When(config("use_critic"))]

    class Writes(BatchSchema):
        scores: Float32[Tensor, "batch response"]


def test_conditions_count() -> None:
    batch = scored()

    def run() -> None:
        with use_config({"use_critic": True}), Doubles.on(batch):
            raise AssertionError

    assert "BP001 missing  critic" in refusal(run, MissingFieldError)


@in_every_container
def test_at_level_off_the_result_is_the_same(container: Container) -> None:
    batch = scored(container)
    with checking("off"), Rewrite.on(batch):
        set_in(batch, "rewards", 5 * rewards())

    assert torch.equal(stores_of(batch).tensors["rewards"], 5 * rewards())
    assert "values" not in stores_of(batch).names()


def test_a_block_is_observed_as_a_call_is() -> None:
    events: list[Event] = []
    batch = scored()
    with observe(events.append), SetScores.on(batch):
        batch.batch["scores"] = rewards()

    assert [(event.stage, event.step, event.fields_written) for event in events] == [("set_scores", 7, 1)]


class Sorted(StageSchema):
    rows = "permute"

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (
            lambda: SetScores.on({"rewards": rewards()}),
            "BP036 call  batch  opened on dict of 1; a block works on a DataProto, a TensorDict or verl's DataProto",
        ),
        (
            lambda: Sorted.on(scored()),
            "BP036 call  batch  it declares rows = 'permute'; a block writes into the rows that are there; "
            "put a function under @stage",
        ),
        (
            lambda: SetScores.on(scored(), sclae=1.0),
            "BP036 call  sclae  given to a block; its Reads declare no such argument",
        ),
    ],
)
def test_what_cannot_be_a_block_is_refused(begin: Callable[[], Any], expected: str) -> None:
    def run() -> None:
        with begin():
            raise AssertionError

    assert expected in refusal(run)


def test_violations_that_are_not_raised_leave_what_was_written(recwarn: pytest.WarningsRecorder) -> None:
    batch = ours({"rewards": rewards()}, {"uid": list("aabb")}, {"gamma": 1.0})
    with checking(action="warn"), SetScores.on(batch):
        batch.batch["scores"] = torch.ones(4)

    assert torch.equal(batch.batch["scores"], torch.ones(4))
    assert len(recwarn) == 1


def test_without_boundaries_it_says_what_to_import() -> None:
    code = """
from batchpact.schemas import StageSchema
class Nothing(StageSchema): ...
try:
    Nothing.on(None)
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout == "Nothing.on needs the boundaries: from batchpact.contracts import stage\n", run.stderr


def test_a_contract_error_is_one_also_for_data_proto_operations() -> None:
    """What an operation refuses inside a block passes through as any exception does."""
    batch = scored()
    with pytest.raises(ContractError), SetScores.on(batch):
        batch.select(batch_keys=["values"])

    assert isinstance(batch, DataProto)
    assert torch.equal(batch.batch["values"], -rewards())
