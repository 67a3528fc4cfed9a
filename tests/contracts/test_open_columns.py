"""A call of a stage with open columns: those that are named are checked, handed out and written, and no others."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32
from tensordict import TensorDict
from torch import Tensor

from batchpact.contracts import Pipeline, checking, stage, use_config
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.variants import Variants
from batchpact.dataproto import DataProto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    ContractError,
    Finite,
    Meta,
    NonTensor,
    StageSchema,
    UndeclaredReadError,
    When,
    config,
    meta,
    named_by,
)
from batchpact.schemas.stores import column

PerRow = Float32[Tensor, "batch"]


class Square(StageSchema):
    """Square the scores that meta names, under names that the stage makes."""

    class Reads(BatchSchema):
        x: PerRow
        scores: Columns[NonTensor[float]] = named_by(meta("keys"))
        extra: Columns[Annotated[Float32[Tensor, "batch n"], Finite()]] = named_by(
            config("data.extra", default=[]), optional=True
        )

    class Writes(BatchSchema):
        y: PerRow
        squared: Meta[list[str]]
        squares: Columns[NonTensor[float]] = named_by(meta("squared"))


@stage
def square(batch: Square.Reads) -> Square.Writes:
    names = {name: f"{name}_squared" for name in batch.scores}
    squares = {names[name]: column(cells**2) for name, cells in batch.scores.items()}
    return Square.Writes(y=batch.x, squared=list(names.values()), squares=squares)


@stage(Square)
def square_carriers(data: DataProto) -> DataProto:
    names = [*data.non_tensor_batch]
    squares = {f"{name}_squared": column(data.non_tensor_batch[name] ** 2) for name in names}
    assert data.batch is not None
    return DataProto.from_dict({"y": data.batch["x"]}, squares, {"squared": [*squares]})


def batch(*names: str, **more: object) -> DataProto:
    columns = {name: column([0.5, 2.0]) for name in ("acc", "f1", "other")}
    return DataProto.from_dict({"x": torch.ones(2), "z": torch.ones(2, 3)}, columns, {"keys": [*names], **more})


def refusal(call: Any) -> list[str]:
    with pytest.raises(ContractError) as caught:
        call()
    return str(caught.value).splitlines()[2:]


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage_of_columns", [square, square_carriers])
def test_exactly_the_named_columns_are_handed_out_and_the_named_ones_written(stage_of_columns: Any) -> None:
    given = batch("acc", "f1")
    made = stage_of_columns(given)

    assert set(made.non_tensor_batch) == {"acc_squared", "f1_squared"}
    assert made.non_tensor_batch["acc_squared"].tolist() == [0.25, 4.0]
    assert given.union(made).meta_info == {"keys": ["acc", "f1"], "squared": ["acc_squared", "f1_squared"]}


def test_a_reads_goes_in_and_a_writes_comes_out() -> None:
    scores = {"acc": column([0.5, 2.0])}
    made = square(Square.Reads(x=torch.ones(2), scores=scores, extra={}))

    assert made.squares["acc_squared"].tolist() == [0.25, 4.0]
    with use_config({"data": {"extra": ["e"]}}):
        reads = Square.Reads(x=torch.ones(2), scores=scores, extra={"e": torch.ones(2), "f": torch.ones(2)})
        assert refusal(lambda: square(reads))[0].startswith("  BP011 rank  e  f32[2]")


def test_another_carrier_is_handed_out_so_too() -> None:
    from batchpact.dataproto import tensordicts as tu

    td = tu.get_tensordict({"x": torch.ones(2), "acc": ["a", "b"]}, {"keys": ["e"]})
    assert isinstance(td, TensorDict)
    assert refusal(lambda: square(td)) == [
        "  BP001 missing  e  declared non-tensor float, named by meta keys; no name in the batch is close"
    ]


def test_a_named_column_that_is_not_there_is_told_with_what_names_it() -> None:
    renamed = batch("acc", "f1")
    renamed.non_tensor_batch["acd"] = renamed.non_tensor_batch.pop("acc")
    assert refusal(lambda: square(renamed)) == [
        "  BP001 missing  acc  declared non-tensor float, named by meta keys; closest name in the batch: 'acd' "
        "(2 objects in non_tensor_batch)"
    ]


def test_a_named_column_has_the_declared_place_type_and_shape() -> None:
    assert refusal(lambda: square(batch("acc", "z"))) == [
        "  BP003 place  z  tensor f32[2, 3]; declared non-tensor, one per row"
    ]
    wrong = batch("acc")
    wrong.batch["z"] = torch.ones(2)  # type: ignore[index]
    with use_config({"data": {"extra": ["z"]}}):
        assert refusal(lambda: square(wrong))[0] == (
            '  BP011 rank  z  f32[2], declared "batch n"; 1 axis where 2 are declared; nothing is squeezed or expanded'
        )
    with checking("values"):
        text = batch("acc")
        text.non_tensor_batch["acc"] = column(["a", "b"])
        assert refusal(lambda: square(text))[0].startswith("  BP006 type  acc  rows 0, 1: str")
        infinite = batch("acc")
        infinite.batch["z"][0, 0] = torch.inf  # type: ignore[index]
        with use_config({"data": {"extra": ["z"]}}):
            assert refusal(lambda: square(infinite))[0].startswith("  BP021 values  z  1 element in row 0")


def test_names_that_cannot_be_told_are_the_only_problem_and_nothing_is_run() -> None:
    ran = []

    @stage(Square)
    def never(data: DataProto) -> DataProto:
        ran.append(data)
        return data

    nothing = batch()
    del nothing.meta_info["keys"]
    assert refusal(lambda: never(nothing)) == [
        "  BP056 columns  scores  meta keys is not there; it names these columns; write it before; "
        'named_by(meta("keys", default=[])) is for names that may be missing'
    ]
    assert refusal(lambda: never(batch("acc", "x"))) == [
        "  BP056 columns  scores  meta keys names 'x', and that is the field x; a name is declared once; "
        "take x out of the names, or out of what is declared beside them"
    ]
    assert ran == []


def test_a_column_that_is_not_named_is_withheld() -> None:
    @stage
    def typed(batch: Square.Reads) -> Square.Writes:
        return Square.Writes(y=batch.scores["other"], squared=[], squares={})

    @stage(Square)
    def carriers(data: DataProto) -> DataProto:
        return DataProto.from_dict({"y": data.non_tensor_batch["other"]})

    for reads_another in (typed, carriers):
        with pytest.raises(UndeclaredReadError) as caught:
            reads_another(batch("acc"))
        assert str(caught.value).splitlines()[2] == (
            "  BP002 withheld  other  the caller's batch holds 2 objects in non_tensor_batch; the Reads of "
            f"'{contract_of(reads_another).name}' do not declare it; "  # type: ignore[union-attr]
            "add other to them, or to meta keys or configuration data.extra"
        )


def test_optional_columns_may_be_absent_and_are_not_in_the_mapping_then() -> None:
    seen: list[list[str]] = []

    @stage
    def looks(batch: Square.Reads) -> Square.Writes:
        seen.append([*batch.extra])
        return Square.Writes(y=batch.x, squared=[], squares={})

    with use_config({"data": {"extra": ["z", "absent"]}}):
        looks(batch())
    looks(batch())

    assert seen == [["z"], []]


def test_names_in_a_meta_field_with_a_default_are_found_as_the_stage_would_find_them() -> None:
    class Default(StageSchema):
        class Reads(BatchSchema):
            keys: Meta[tuple[str, ...]] = ("acc",)
            scores: Columns[NonTensor[float]] = named_by(meta("keys"))

    seen: list[str] = []

    @stage
    def looks(batch: Default.Reads) -> None:
        seen.extend(batch.scores)

    data = batch()
    del data.meta_info["keys"]
    looks(data)
    assert seen == ["acc"]


def test_open_columns_under_a_condition() -> None:
    class Conditional(StageSchema):
        class Reads(BatchSchema):
            x: PerRow
            scores: Annotated[Columns[NonTensor[float]], When(config("reward"))] = named_by(meta("keys"))

    seen: list[list[str]] = []

    @stage
    def looks(batch: Conditional.Reads) -> None:
        seen.append([*batch.scores])

    with use_config({"reward": False}):
        looks(DataProto.from_dict({"x": torch.ones(2)}))
    with use_config({"reward": True}):
        looks(batch("acc"))
        assert refusal(lambda: looks(batch("acc", "f3")))[0].startswith("  BP001 missing  f3")

    assert seen == [[], ["acc"]]


# --- writing ----------------------------------------------------------------------------------------------------------


def writing(squared: Any, squares: Any, **more: Any) -> list[str]:
    @stage
    def writes(batch: Square.Reads) -> Square.Writes:
        return Square.Writes(y=batch.x, squared=squared, squares=squares)

    return refusal(lambda: writes(batch("acc")))


def test_all_named_columns_are_written_and_only_they() -> None:
    cells = column([1.0, 2.0])

    assert writing(["a", "b"], {"a": cells, "c": cells}) == [
        "  BP001 missing  b  declared non-tensor float, named by meta squared; no name in the result is close",
        "  BP004 unasked  c  returned 2 objects in non_tensor_batch; its Writes do not declare it, and meta squared "
        "does not name it; declare it, leave it out of the result, or set extra='allow' on Writes",
    ]
    assert writing(["a"], {"a": torch.ones(2)}) == [
        "  BP006 type  a  f32[2], declared non-tensor float; a column is made by batchpact.dataproto.column(values)"
    ]
    assert writing(["a"], {"a": column([1.0])})[0].startswith("  BP012 shape  a  1 object")
    assert writing(["y"], {})[0].startswith("  BP056 columns  squares  meta squared names 'y', and that is the field y")
    assert writing("a", {"a": cells})[0] == (
        "  BP056 columns  squares  meta squared is str; a list of names; write ['a']"
    )
    assert writing(["a"], cells) == ["  BP056 columns  squares  it holds 2 objects; a mapping from names to columns"]


def test_columns_that_are_read_and_written_are_rewritten() -> None:
    class Scale(StageSchema):
        class Reads(BatchSchema):
            scores: Columns[PerRow] = named_by(meta("keys"))
            factor: Arg[float] = 2.0

        class Writes(BatchSchema):
            scores: Columns[PerRow] = named_by(meta("keys"))

    @stage
    def scale(batch: Scale.Reads) -> Scale.Writes:
        return Scale.Writes(scores={name: values * batch.factor for name, values in batch.scores.items()})

    data = DataProto.from_dict({"acc": torch.ones(2), "f1": torch.ones(2)}, meta_info={"keys": ["acc"]})
    for level in ("structure", "off"):
        with checking(level):
            whole = data.union(scale(data))
    assert whole.batch is not None
    assert (whole.batch["acc"].tolist(), whole.batch["f1"].tolist()) == ([4.0, 4.0], [1.0, 1.0])

    class Inputs(BatchSchema):
        keys: Meta[list[str]]
        scores: Columns[PerRow] = named_by(meta("keys"))

    run = Pipeline("scaling", inputs=Inputs, stages=[scale]).run(data)
    assert run.batch is not None
    assert run.batch["acc"].tolist() == [8.0, 8.0]


def test_names_of_the_configuration_are_known_before_the_stage_runs() -> None:
    class Fill(StageSchema):
        class Reads(BatchSchema):
            x: PerRow

        class Writes(BatchSchema):
            made: Columns[PerRow] = named_by(config("made"))

    @stage
    def fill(batch: Fill.Reads) -> Fill.Writes:
        return Fill.Writes(made={"a": batch.x})

    data = DataProto.from_dict({"x": torch.ones(2)})
    with use_config({"made": ["a"]}):
        assert set(fill(data).batch.keys()) == {"a"}
    assert refusal(lambda: fill(data)) == [
        "  BP056 columns  made  configuration made is not there; it names these columns; set made; "
        'named_by(config("made", default=[])) is for names that may be missing'
    ]


async def test_a_coroutine_function_has_the_same_columns() -> None:
    @stage
    async def later(batch: Square.Reads) -> Square.Writes:
        return Square.Writes(y=batch.x, squared=[*batch.scores], squares=batch.scores)

    made = await later(DataProto.from_dict({"x": torch.ones(1)}, {"a": column([1.0])}, {"keys": ["a"]}))
    assert made.non_tensor_batch["a"].tolist() == [1.0]


def test_a_numeric_column_stays_one() -> None:
    @stage
    def keeps(batch: Square.Reads) -> Square.Writes:
        return Square.Writes(y=batch.x, squared=["b"], squares={"b": batch.scores["a"] * 2})

    data = DataProto(
        batch=TensorDict({"x": torch.ones(2)}, batch_size=2),
        non_tensor_batch={"a": np.array([1.0, 2.0])},
        meta_info={"keys": ["a"]},
    )
    assert keeps(data).non_tensor_batch["b"].dtype == np.float64


# --- many names -------------------------------------------------------------------------------------------------------


def test_boundaries_are_kept_for_names_that_come_again_and_not_for_ever() -> None:
    contract = contract_of(square)
    assert contract is not None
    variants = Variants(contract)
    first = variants.of(batch("acc"), (), {})

    assert variants.of(batch("acc"), (), {}) is first
    for at in range(300):
        variants.under(((f"n{at}",), (), None))
    assert len(variants._made) <= 256
