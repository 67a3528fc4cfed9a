"""A batch as text and as a table for the terminal: short, and nothing in it becomes markup."""

from __future__ import annotations

from io import StringIO

import torch
from jaxtyping import Int64
from rich.console import Console
from torch import Tensor

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.dataproto.sizes import column_bytes, deep_bytes
from batchpact.schemas import BatchSchema
from tests.dataproto.support import jagged, small


class Rollout(BatchSchema):
    ids: Int64[Tensor, "batch two"]


def full() -> DataProto:
    """A batch of which there is something to say in every column."""
    data = small().bind(Rollout)
    data._writers = {"ids": "generate"}
    return pad_dataproto_to_divisor(data, 3)[0]


def large() -> DataProto:
    tensors = {f"t{at}": torch.ones(2, 3) for at in range(3000)}
    columns = {f"c{at}": ["a", "b"] for at in range(3000)}
    return DataProto.from_dict(tensors, columns, dict.fromkeys((f"m{at}" for at in range(3000)), "x" * 1_000_000))


# --- text -------------------------------------------------------------------------------------------------------------


def test_a_batch_prints_what_it_holds_and_no_values() -> None:
    data = small()
    assert data.batch is not None
    data.batch["jagged"] = jagged([1], [], [2, 3], [4])

    assert repr(data) == (
        "DataProto(4 rows\n"
        "  batch: ids: i64[4, 2], reward: f32[4], jagged: i64[4, jagged]\n"
        "  non_tensor_batch: uid: 4 objects, score: float32[4]\n"
        "  meta_info: temperature: float 0.7, stop: list of 4)"
    )
    assert repr(DataProto()) == "DataProto(0 rows\n  batch: -\n  non_tensor_batch: -\n  meta_info: -)"
    assert repr(data[:1]).startswith("DataProto(1 row\n")
    assert repr(full()).startswith("DataProto(6 rows, 2 of them padding, bound to Rollout\n")


def test_a_row_prints_what_it_holds_and_no_values() -> None:
    assert repr(small()[2]) == (
        "DataProtoItem(1 row\n"
        "  batch: ids: i64[2], reward: f32[]\n"
        "  non_tensor_batch: uid: str, score: float32\n"
        "  meta_info: temperature: float 0.7, stop: list of 4)"
    )


def test_an_inconsistent_batch_prints_what_is_there() -> None:
    data = small()
    data.non_tensor_batch["late"] = column(["only", "two"])

    assert repr(data) == (
        "DataProto(inconsistent (4 rows in the tensors, uid and score, 2 rows in late)\n"
        "  batch: ids: i64[4, 2], reward: f32[4]\n"
        "  non_tensor_batch: uid: 4 objects, score: float32[4], late: 2 objects\n"
        "  meta_info: temperature: float 0.7, stop: list of 4)"
    )


def test_of_many_fields_the_first_are_printed() -> None:
    text = repr(large())

    assert len(text) < 2000
    assert text.splitlines()[1].endswith(", t38: f32[2, 3], t39: f32[2, 3] and 2960 more")
    assert text.splitlines()[3].endswith(", m39: str and 2960 more)")
    assert len(repr(large()[0])) < 2000


def test_the_longest_text_of_long_names_is_bounded() -> None:
    kind = type("k" * 1000, (), {})
    data = DataProto(meta_info={f"{at} {'n' * 1000}": kind() for at in range(3000)})

    assert len(repr(data)) < 6000


# --- the terminal -----------------------------------------------------------------------------------------------------


def printed(data: DataProto, width: int = 120) -> list[str]:
    output = StringIO()
    Console(file=output, width=width).print(data)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_the_terminal_shows_a_line_for_each_field() -> None:
    data = full()
    uid, stop = column_bytes(data.non_tensor_batch["uid"]), deep_bytes(data.meta_info["stop"])

    assert printed(data) == [
        f"DataProto: 6 rows, 2 of them padding, bound to Rollout, 6 fields, {120 + uid + 24 + 24 + stop} B",
        "field             type        device   size  written by  declared  value",
        "─" * 88,
        "batch                                 120 B",
        "  ids             i64[6, 2]   cpu      96 B  generate    yes",
        "  reward          f32[6]      cpu      24 B",
        f"non_tensor_batch                      {uid + 24} B",
        f"  uid             6 objects           {uid} B",
        "  score           float32[6]           24 B",
        f"meta_info                             {stop + 24} B",
        "  temperature     float 0.7            24 B",
        f"  stop            list of 4           {stop} B                        ['x', 'y', 'z', 'w']",
    ]


def test_in_a_narrow_terminal_the_values_give_way_first_and_no_line_wraps() -> None:
    data = full()
    data.meta_info["prompt"] = "a long text " * 20

    assert all(len(line) <= 90 for line in printed(data, 90))
    assert len(printed(data, 90)) == 13
    assert len(printed(data, 30)) == 13 + 2  # the two that the first line takes more
    assert any("i64[6, 2]   cpu      96 B  generate    yes" in line for line in printed(data, 90))


def test_markup_of_the_terminal_is_text() -> None:
    data = DataProto(meta_info={"[red]a[/red]": "[bold]b", "[/]": 1})
    data._writers = {"[/]": "[blink]c"}

    lines = "\n".join(printed(data))

    assert all(text in lines for text in ("[red]a[/red]", "'[bold]b'", "[/]", "[blink]c"))


def test_of_many_fields_the_terminal_shows_the_first() -> None:
    lines = printed(large())

    assert len(lines) == 3 + 3 * (1 + 100 + 1)
    assert lines.count("  and 2900 more") == 3
    assert lines[0].startswith("DataProto: 2 rows, 9000 fields, at least ")


def test_an_empty_batch_is_shown() -> None:
    assert printed(DataProto()) == [
        "DataProto: 0 rows, 0 fields, 0 B",
        "field             type",
        "─" * 23,
        "batch             -",
        "non_tensor_batch  -",
        "meta_info         -",
    ]
