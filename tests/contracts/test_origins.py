"""What happens to the rows: declared, traced or stated, and applied to the fields that the stage never saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from jaxtyping import Float32
from tensordict import TensorDict
from torch import Tensor

from batchpact.contracts import checking, from_rows, stage, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError, BatchSchema, ContractError, Repeat, StageSchema
from tests.contracts.stages import Container, in_every_container, refusal, rewards, scored, stores_of, tensor_dict


class Total(StageSchema):
    """The sum of each row."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        total: Float32[Tensor, "batch"]


class Permute(Total):
    rows = "permute"


class Select(Total):
    rows = "select"


class Twice(Total):
    rows = Repeat(2)


class AsConfigured(Total):
    rows = Repeat("rollout.n")


class New(Total):
    rows = "new"


def of_rows(choose: Callable[[DataProto], DataProto]) -> Callable[[DataProto], DataProto]:
    """A function that works on other rows of the batch it was given."""

    def function(data: DataProto) -> DataProto:
        chosen = choose(data)
        return chosen.union(DataProto.from_dict({"total": chosen.batch["rewards"].sum(1)}))

    return function


def stated(origin: list[int], rows: int | None = None) -> Callable[[Any], Any]:
    """A function that makes its result by hand and says where the rows come from."""
    total = rewards().sum(1)[torch.tensor(origin, dtype=torch.int64).clamp(0, 3)]
    return lambda data: from_rows(Total.Writes(total=total[:rows]), origin)


def run(schema: type[StageSchema], function: Callable[[Any], Any], batch: Any = None) -> Any:
    return stage(schema, name="resample")(function)(scored() if batch is None else batch)


def rows_of(batch: Any) -> tuple[list[float], list[str], list[float], dict[str, object]]:
    """What became of the rows: a field that was read, two that were not handed out, and meta."""
    stores = stores_of(batch)
    firsts = {key: tensor[:, 0].tolist() for key, tensor in stores.tensors.items() if tensor.dim() > 1}
    return firsts["rewards"], stores.columns["data_source"].tolist(), firsts["values"], dict(stores.meta)


META = {"gamma": 0.5, "global_steps": 7}
TURNED = ([10.0, 7.0, 4.0, 1.0], ["code", "code", "math", "math"], [-10.0, -7.0, -4.0, -1.0], META)
CHOSEN = ([10.0, 10.0, 1.0], ["code", "code", "math"], [-10.0, -10.0, -1.0], META)
DOUBLE = (
    [1.0, 1.0, 4.0, 4.0, 7.0, 7.0, 10.0, 10.0],
    ["math"] * 4 + ["code"] * 4,
    [-1.0, -1.0, -4.0, -4.0, -7.0, -7.0, -10.0, -10.0],
    META,
)


def reordered(data: DataProto) -> DataProto:
    data.reorder(torch.tensor([3, 2, 1, 0]))
    return data


@pytest.mark.parametrize(
    ("schema", "choose", "expected"),
    [
        (Permute, lambda data: data[[3, 2, 1, 0]], TURNED),
        (Permute, reordered, TURNED),
        (Permute, lambda data: DataProto.concat(data[::-1].chunk(2)), TURNED),
        (Select, lambda data: data.select_idxs(torch.tensor([3, 3, 0])), CHOSEN),
        (Select, lambda data: DataProto.concat([data[3:], data[3:], data[:1]]), CHOSEN),
        (Twice, lambda data: data.repeat(2), DOUBLE),
    ],
    ids=["index", "reorder", "chunk and concat", "select_idxs", "slice and concat", "repeat"],
)
def test_our_batch_knows_its_rows_and_takes_the_rest_along(schema: Any, choose: Any, expected: Any) -> None:
    batch = scored()

    result = run(schema, of_rows(choose), batch)

    assert rows_of(result) == expected
    assert torch.equal(result.batch["total"], result.batch["rewards"].sum(1))
    assert result.last_writer("total") == "resample"
    assert rows_of(batch)[0] == [1.0, 4.0, 7.0, 10.0], "the caller's batch keeps its rows"


@in_every_container
@pytest.mark.parametrize(
    ("schema", "origin", "expected"),
    [(Permute, [3, 2, 1, 0], TURNED), (Select, [3, 3, 0], CHOSEN), (Twice, [0, 0, 1, 1, 2, 2, 3, 3], DOUBLE)],
    ids=["permute", "select", "repeat"],
)
def test_a_writes_states_its_rows_in_every_container(
    container: Container, schema: Any, origin: Any, expected: Any
) -> None:
    result = run(schema, stated(origin), scored(container))

    assert rows_of(result) == expected
    assert torch.equal(stores_of(result).tensors["total"], rewards().sum(1)[origin])


@pytest.mark.parametrize("kind", [list, torch.tensor], ids=["list", "tensor"])
def test_a_tensordict_states_its_rows(kind: Any) -> None:
    def function(data: TensorDict) -> Any:
        return from_rows(TensorDict({"total": data["rewards"].sum(1)[[3, 3, 0]]}, batch_size=[3]), kind([3, 3, 0]))

    assert rows_of(run(Select, function, scored(tensor_dict))) == CHOSEN


@in_every_container
def test_after_new_rows_only_what_was_written_remains(container: Container) -> None:
    result = run(New, lambda data: Total.Writes(total=torch.arange(7.0)), scored(container))

    assert stores_of(result).names() == ["total"]
    assert stores_of(result).tensors["total"].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_select_may_choose_nothing() -> None:
    result = run(Select, of_rows(lambda data: data[[]]))

    assert (len(result), result.batch["values"].shape) == (0, (0, 3))


def test_the_number_of_repeats_comes_from_the_configuration() -> None:
    with use_config({"rollout": {"n": 2}}):
        result = run(AsConfigured, of_rows(lambda data: data.repeat(2)))

    assert rows_of(result) == DOUBLE


def test_without_a_configuration_every_row_has_as_many_repeats_as_the_first() -> None:
    assert len(run(AsConfigured, of_rows(lambda data: data.repeat(3)))) == 12
    with pytest.raises(ContractError, match="row 3 of the input is there 1 times, not 2 times"):
        run(AsConfigured, stated([0, 0, 1, 1, 2, 2, 3]))


# --- what is refused -------------------------------------------------------------------------------------------------

NOT_SAME = "declared rows = 'same'; declare what the stage does: 'permute', 'select', Repeat(n)"
STATE = "return from_rows(result, origin), or index or reorder the DataProto that was handed in"


@pytest.mark.parametrize(
    ("schema", "function", "text"),
    [
        (Total, stated([3, 0, 1, 2]), f"row 0 of the result is row 3 of the input; {NOT_SAME}"),
        (Total, stated([0, 1, 1, 3]), f"row 2 of the result is row 1 of the input; {NOT_SAME}"),
        (Total, of_rows(reordered), f"row 0 of the result is row 3 of the input; {NOT_SAME}"),
        (
            Permute,
            stated([0, 0, 1, 2]),
            "the result lacks 1 row of the input, first row 3; declared rows = 'permute'",
        ),
        (Permute, stated([0, 1]), "the result lacks 2 rows of the input, first row 2; declared rows = 'permute'"),
        (
            Permute,
            stated([0, 1, 2, 3, 0]),
            "the result has 5 rows and the input has 4; declared rows = 'permute'",
        ),
        (
            Select,
            lambda data: DataProto.from_dict({"total": torch.ones(3)}),
            f"nothing says which input rows the result has; declared rows = 'select'; {STATE}",
        ),
        (
            Select,
            lambda data: Total.Writes(total=torch.ones(3)),
            f"nothing says which input rows the result has; declared rows = 'select'; {STATE}",
        ),
        (
            Select,
            stated([0, 1, 2], rows=2),
            f"an origin for 3 rows and a result of 2; declared rows = 'select'; {STATE}",
        ),
        (Select, stated([0, 4]), "an origin in row 4, and the input has 4 rows; declared rows = 'select'"),
        (Select, stated([0, -1]), "an origin in row -1, and the input has 4 rows; declared rows = 'select'"),
        (
            Twice,
            of_rows(lambda data: data.repeat(3)),
            "row 0 of the input is there 3 times, not 2 times; declared rows = Repeat(2)",
        ),
        (
            AsConfigured,
            stated([0, 0, 1, 1, 2, 2, 3]),
            "row 3 of the input is there 1 times, not 2 times; declared rows = Repeat('rollout.n')",
        ),
    ],
)
def test_rows_that_are_not_as_declared_are_refused(schema: Any, function: Any, text: str) -> None:
    assert refusal(lambda: run(schema, function)) == (
        f"1 problem where stage 'resample' returns its result\n\n  BP034 origin  batch  {text}"
    )


def test_fewer_rows_than_came_in_are_refused_twice_where_the_rows_are_the_same() -> None:
    assert refusal(lambda: run(Total, of_rows(lambda data: data[:3]))) == (
        "2 problems where stage 'resample' returns its result\n\n"
        '  BP012 shape   total  f32[3], declared "batch"; batch=4 in what the stage read\n'
        f"  BP034 origin  batch  the result has 3 rows and the input has 4; {NOT_SAME}\n\n"
        "  dims  batch=3 (total)"
    )


def test_rows_in_their_old_order_are_the_same() -> None:
    result = run(Total, of_rows(lambda data: DataProto.concat(data.chunk(2))))

    assert stores_of(result).names() == ["total"]
    assert result.batch["total"].tolist() == [6.0, 15.0, 24.0, 33.0]


def test_resampling_in_a_stage_of_the_same_rows_is_refused() -> None:
    """verl's pf_ppo: rows scored 10, 20, 30, 40 would be given the returns of 40, 40, 30, 40."""

    class ComputeAdvantage(StageSchema):
        class Reads(BatchSchema):
            scores: Float32[Tensor, "batch"]

        class Writes(BatchSchema):
            returns: Float32[Tensor, "batch"]

    @stage(ComputeAdvantage)
    def compute_advantage(data: DataProto) -> DataProto:
        chosen = data.select_idxs(torch.tensor([3, 3, 2, 3]))
        chosen.batch["returns"] = chosen.batch["scores"].clone()
        return chosen

    batch = DataProto.from_dict({"scores": torch.tensor([10.0, 20.0, 30.0, 40.0])})

    assert refusal(lambda: compute_advantage(batch)) == (
        "1 problem where stage 'compute_advantage' returns its result\n\n"
        f"  BP034 origin  batch  row 0 of the result is row 3 of the input; {NOT_SAME}"
    )


def test_two_orders_of_one_batch_cannot_be_joined_in_a_stage() -> None:
    """Case R2: one output of a permuted computation is not permuted back."""

    def mixing(data: DataProto) -> DataProto:
        turned = data[[3, 2, 1, 0]]
        return data.union(turned.select(["rewards"]))

    assert refusal(lambda: run(Total, mixing), BatchError) == (
        "1 problem in DataProto.union; nothing was changed\n\n"
        "  BP016 rows  batch  row 0 is input row 0 on the left and input row 3 on the right; "
        "a union joins fields of the same rows; one side was reordered or selected; do the same to the other"
    )


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (
            [True, False],
            "an origin of bool; the numbers of input rows are integers; a mask gives them by mask.nonzero()",
        ),
        (torch.tensor([0.5, 1.0]), "an origin of float32; the numbers of input rows are integers"),
        (["a", "b"], "an origin of <U1; the numbers of input rows are integers"),
    ],
)
def test_an_origin_is_made_of_whole_numbers(origin: Any, text: str) -> None:
    """A mask would be taken for the rows 1 and 0."""
    assert refusal(lambda: from_rows(None, origin)) == f"1 problem in from_rows\n\n  BP034 origin  batch  {text}"


@pytest.mark.parametrize("origin", [[0, 4], [0, 1, 2]])
def test_an_origin_that_cannot_be_taken_is_raised_in_warn_mode_too(origin: list[int]) -> None:
    with checking(action="warn"), pytest.raises(ContractError, match="BP034 origin"):
        run(Select, stated(origin, rows=2))


def test_a_signature_with_inherited_reads_has_the_facts_of_the_stage_that_it_names() -> None:
    @stage
    def choose(batch: Select.Reads) -> Select.Writes:
        return from_rows(Select.Writes(total=batch.rewards[[3, 3, 0]].sum(1)), [3, 3, 0])

    assert rows_of(choose(scored())) == CHOSEN
