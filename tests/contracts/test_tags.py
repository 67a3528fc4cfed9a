"""A tag in every tool: a column in every carrier that has no tags, and its own place in what is declared."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Pipeline, stage
from batchpact.contracts.show import show
from batchpact.dataproto import DataProto, size_report
from batchpact.schemas import (
    BatchSchema,
    ContractError,
    DeclarationError,
    Fill,
    Key,
    Meta,
    NonTensor,
    StageSchema,
    Tag,
)
from tests.contracts.lint.support import found
from tests.contracts.plans import PerRow, declare, findings, report
from tests.contracts.stages import Container, in_every_container, refusal, stores_of


class Rank(StageSchema):
    """Say which rows come first."""

    class Reads(BatchSchema):
        score: Float32[Tensor, "batch"]
        priority: Tag[float]
        version: Tag[int] | None = None

    class Writes(BatchSchema):
        urgent: Tag[bool]


@stage
def rank(batch: Rank.Reads) -> Rank.Writes:
    return Rank.Writes(urgent=batch.priority > 0.5)


def batch(container: Container, **columns: list[Any]) -> Any:
    return container({"score": torch.ones(3)}, {"priority": [0.0, 1.0, 2.0], **columns}, {})


@in_every_container
def test_a_tag_is_a_column_of_a_carrier_without_tags(container: Container) -> None:
    made = stores_of(rank(batch(container)))

    assert list(made.columns["urgent"]) == [False, True, True]
    assert (dict(made.tensors), dict(made.meta)) == ({}, {})


@in_every_container
def test_a_tag_in_another_store_is_told(container: Container) -> None:
    held = container({"score": torch.ones(3)}, {}, {"priority": [0.0, 1.0, 2.0]})

    assert refusal(lambda: rank(held)) == (
        "1 problem where stage 'rank' reads its batch\n\n"
        "  BP003 place  priority  list of 3 in meta_info; declared tag, one per row; a column is made by "
        "batchpact.dataproto.column(values)"
    )


def test_a_missing_tag_and_one_of_other_rows_are_told() -> None:
    def text(columns: dict[str, Any]) -> str:
        return refusal(lambda: rank(Rank.Reads(score=torch.ones(3), **columns)))

    with pytest.raises(
        ContractError, match="BP001 missing  priority  declared tag float; no name in the batch is close"
    ):
        rank(DataProto.from_dict({"score": torch.ones(3)}))
    columns = DataProto.from_dict(non_tensors={"priority": [1.0, 2.0]}).non_tensor_batch
    assert "BP013 dims  batch  3 in score, 2 in priority; all must agree" in text(columns)


def test_the_types_of_tags_are_checked_with_the_values() -> None:
    held = DataProto.from_dict({"score": torch.ones(2)}, {"priority": [1.0, "high"]})

    with pytest.raises(ContractError) as caught:
        held.bind(Rank.Reads)

    assert str(caught.value) == (
        "1 problem where a batch is bound to Reads\n\n"
        "  BP006 type  priority  row 1: str, Input should be a valid number, declared float per row"
    )


def test_a_tag_says_the_type_of_a_row_and_may_not_have_a_default() -> None:
    with pytest.raises(DeclarationError, match=r"Tag needs the type of one row, as in Tag\[str\]"):

        class Bare(BatchSchema):
            x: Tag

    with pytest.raises(DeclarationError, match="a field with one value per row cannot have a default value"):

        class Default(BatchSchema):
            x: Tag[int] = 1


def test_tags_have_the_policies_of_rows() -> None:
    class Keyed(BatchSchema):
        uid: Annotated[Tag[str], Key()]
        weight: Annotated[Tag[float], Fill(0.0)] | None = None

    part = DataProto.from_dict(non_tensors={"uid": ["a"], "weight": [2.0]}).bind(Keyed)
    other = DataProto.from_dict(non_tensors={"uid": ["b"]}).bind(Keyed)
    whole = DataProto.concat([part, other])

    assert list(whole.non_tensor_batch["weight"]) == [2.0, 0.0]
    with pytest.raises(ContractError, match="BP023 keys  uid"):
        DataProto.concat([part, DataProto.from_dict(non_tensors={"uid": ["a"]}).bind(Keyed)])


def test_tags_travel_as_columns(tmp_path: Path) -> None:
    held = batch(DataProto.from_dict)
    held.union(rank(held))
    held.save_to_disk(tmp_path / "batch")

    parts = held.chunk(3)
    assert [list(part.non_tensor_batch["urgent"]) for part in parts] == [[False], [True], [True]]
    assert DataProto.concat(parts) == pickle.loads(pickle.dumps(held)) == held
    assert DataProto.load_from_disk(tmp_path / "batch", schema=Rank.Reads) == held


def test_a_batch_shows_that_its_tags_are_declared_and_shipped() -> None:
    held = batch(DataProto.from_dict)
    rows = {field.field: (field.placement, field.shipped) for field in size_report(held, Rank.Reads).fields}

    assert rows == {"score": ("tensor", True), "priority": ("non_tensor", True)}
    assert DataProto.from_single_dict({"score": torch.ones(2), "priority": [1.0, 2.0]}, schema=Rank.Reads).bind(
        Rank.Reads
    )


# --- static tools ----------------------------------------------------------------------------------------------------


def test_code_finds_tags_among_the_columns(tmp_path: Path) -> None:
    source = """
        from batchpact.schemas import Tag

        class Rank(StageSchema):
            class Reads(BatchSchema):
                priority: Tag[float]
            class Writes(BatchSchema):
                urgent: Tag[bool]

        @stage(Rank)
        def rank(data):
            {read}
            return DataProto.from_dict(non_tensors={{"urgent": priority > 0.5}})
    """

    assert found(source.format(read='priority = data.non_tensor_batch["priority"]'), tmp_path) == []
    assert found(source.format(read='priority = data.meta_info["priority"]'), tmp_path) == [
        "11:31 BP073 priority read from meta_info; Rank.Reads declares it in non_tensor_batch; take it from there, or "
        "declare it in meta_info"
    ]


def test_a_tag_is_read_as_what_it_was_written() -> None:
    """One place in a batch and two in TransferQueue: right for one carrier and wrong for the other is a warning."""
    make = declare("MakeTags", {}, {"priority": Tag[float]})
    use = declare("UseTags", {"priority": Tag[float]}, {"total": PerRow})
    column = declare("UseColumn", {"priority": NonTensor[float]}, {"total": PerRow})
    other = declare("UseInt", {"priority": NonTensor[int]}, {"total": PerRow})
    value = declare("UseMeta", {"priority": Meta[float]}, {"total": PerRow})
    both = declare("UseBoth", {"priority": Tag[float] | NonTensor[float]}, {"total": PerRow})
    told = (
        "'make_tags' writes tag float; declared non-tensor, one per row; one place in a batch, and two in "
        "TransferQueue: declare both alike"
    )

    assert findings({}, make, use) == findings({}, make, both) == []
    assert findings({}, make, column) == [f"BP003 place  use_column: priority  {told}"]
    assert [found.severity for found in report({}, make, column).findings] == ["warning"]
    assert [(found.code, found.severity) for found in report({}, make, other).findings] == [
        ("BP003", "warning"),
        ("BP006", "error"),
    ]
    assert findings({}, make, value) == [
        "BP003 place  use_meta: priority  'make_tags' writes tag float; declared meta, one for the batch"
    ]
    assert findings({"priority": NonTensor[float]}, use)[0].startswith("BP003 place  use_tags: priority  ")


def test_tags_follow_their_rows_and_end_with_new_ones() -> None:
    make = declare("MakeRows", {}, {"score": PerRow}, rows="new")
    use = declare("UseTags", {"priority": Tag[float]}, {"total": PerRow})

    assert findings({"priority": Tag[float]}, make, use) == [
        "BP001 missing  use_tags: priority  declared tag float; it was there, and left behind by 'make_rows', "
        "which makes new rows"
    ]


def test_a_tag_is_shown_as_one() -> None:
    pipeline = Pipeline("plan", inputs=Rank.Reads, stages=[Rank])

    assert "    priority  tag float; written by the inputs" in show([pipeline], "rank").splitlines()
