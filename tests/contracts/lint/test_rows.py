"""What a schema does with rows: `collate` makes an instance of them, `check_row` reads one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, unasked, undeclared, unset, unused

ROWS = '[{"y": value} for value in batch.x]'


def stage(body: str) -> str:
    return f"@stage\ndef compute(batch: One.Reads) -> One.Writes:\n    {body}\n"


@pytest.mark.parametrize(
    "body",
    [
        f"return One.Writes.collate({ROWS})",
        f"return One.Writes.collate(rows={ROWS}, pad=True)",
        'rows = []\n    for value in batch.x:\n        rows.append({"y": value})\n    return One.Writes.collate(rows)',
        'row = {"y": batch.x}\n    One.Writes.check_row(row, level="values")\n    return One.Writes.collate([row])',
        "made = One.Writes.collate([])\n    made.y = batch.x\n    return made",
    ],
)
def test_rows_that_hold_what_the_writes_declare_are_in_order(body: str, tmp_path: Path) -> None:
    assert found(stage(body), tmp_path, undecidable=True) == []


def test_a_name_in_a_row_is_a_name_in_the_result(tmp_path: Path) -> None:
    body = 'return One.Writes.collate([{"y": value, "w": 1} for value in batch.x])'

    assert found(stage(body), tmp_path) == [unasked("3:45", "the result", "w")]


def test_a_field_that_no_row_holds_is_not_set(tmp_path: Path) -> None:
    body = 'return One.Writes.collate([{"w": value} for value in batch.x])'

    assert found(stage(body), tmp_path) == [unset("2:5", "y"), unasked("3:33", "the result", "w")]


def test_rows_of_which_nobody_knows_the_names_may_hold_every_field(tmp_path: Path) -> None:
    body = "return One.Writes.collate(dict(pairs) for pairs in batch.x)"

    assert found(stage(body), tmp_path, undecidable=True) == []


def test_checking_a_row_of_the_batch_reads_what_the_schema_declares(tmp_path: Path) -> None:
    source = """
        class Row(BatchSchema):
            x: PerRow
            z: PerRow
            maybe: PerRow | None = None

        @stage(One)
        def compute(data):
            Row.check_row(data.batch)
            return DataProto.from_dict({"y": 1})
    """

    assert found(source, tmp_path, undecidable=True) == [undeclared("8:5", "read by check_row from batch")]


def test_checking_a_row_of_its_own_uses_no_field_of_the_batch(tmp_path: Path) -> None:
    body = 'row = {"y": 1}\n    One.Writes.check_row(row)\n    return One.Writes.collate([row])'

    assert found(stage(body), tmp_path, undecidable=True) == [unused("2:5", "x")]


def test_methods_of_that_name_on_other_classes_are_not_known(tmp_path: Path) -> None:
    source = """
        class Other:
            @classmethod
            def collate(cls, rows): ...

        @stage(One)
        def compute(data):
            torch.utils.data.default_collate([data])
            return DataProto.from_dict({"y": Other.collate([data])})
    """

    lines = found(source, tmp_path, undecidable=True)
    assert lines == [opaque("7:5", "given to default_collate, whose code is not read")]
