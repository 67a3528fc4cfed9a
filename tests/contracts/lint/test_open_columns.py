"""Open columns in the code of a stage: names that only run time knows are no findings, all else is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found

HEALTHY = {
    "by names that meta has": """
@stage(Open)
def f(data):
    total = data.batch["x"]
    for key in data.meta_info["keys"]:
        total = total + torch.tensor(data.non_tensor_batch[key])
    squares = {key: value**2 for key, value in data.batch.items() if key != "x"}
    return DataProto.from_dict({"y": total, **squares})
""",
    "by a name in the source": """
@stage(Open)
def f(data):
    acc = data.non_tensor_batch["acc"]
    return DataProto.from_dict({"y": data.batch["x"], "acc_squared": data.batch["extra"]**2}, {}, {})
""",
    "typed": """
@stage
def f(batch: Open.Reads) -> Open.Writes:
    total = sum(torch.tensor(column) for column in batch.scores.values())
    squares = {name: column**2 for name, column in batch.more.items()}
    return Open.Writes(y=batch.x + total, squares=squares)
""",
    "given to another stage": """
def _of(data):
    return sum(data.non_tensor_batch[key] for key in data.meta_info["keys"])

def _more(data):
    return {key: column for key, column in data.batch.items() if key != "x"}

@stage(Open)
def inner(data):
    return DataProto.from_dict({"y": data.batch["x"] + _of(data), **_more(data)})

@stage(Open)
def f(data):
    return inner(data)
""",
}


@pytest.mark.parametrize("source", HEALTHY.values(), ids=HEALTHY)
def test_what_may_be_one_of_the_columns_is_no_finding(source: str, tmp_path: Path) -> None:
    assert found(source, tmp_path, undecidable=True) == []


def test_columns_that_nothing_uses_or_sets_are_found(tmp_path: Path) -> None:
    source = """
@stage
def f(batch: Open.Reads) -> Open.Writes:
    return Open.Writes(y=batch.x)
"""
    unused = (
        "nothing uses them; Open.Reads declares these columns; use them, or take them out: what is declared is shipped"
    )
    assert found(source, tmp_path) == [
        f"2:5 BP074 scores[*] {unused}",
        f"2:5 BP074 more[*] {unused}",
        "2:5 BP075 squares[*] no result sets them; Open.Writes declares these columns; set them in what is returned, "
        "or take them out",
    ]


def test_a_misspelt_field_and_an_attribute_that_is_none_are_found_beside_open_columns(tmp_path: Path) -> None:
    source = """
@stage
def f(batch: Open.Reads) -> Open.Writes:
    return Open.Writes(y=batch.x + batch.acc + len(batch.scores), squares=batch.more)

@stage(Open)
def g(data):
    more = {key: data.batch[key] for key in data.meta_info["kyes"]}
    label = data.non_tensor_batch["score"]
    return DataProto.from_dict({"y": data.batch["x"], "z": more}, {"acc": label})
"""
    assert found(source, tmp_path) == [
        "3:42 BP071 acc read; Open.Reads does not declare it; add acc to it, or leave it alone",
        "7:60 BP071 kyes read from meta_info; Open.Reads does not declare it; closest name: 'keys'",
        "9:68 BP072 acc set in non_tensor_batch; Open.Writes does not declare it; declare it, or leave it out of the "
        "result",
    ]
