"""A batch as text, as a table and as HTML: short, the same facts in all of them, and nothing in it becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import StringIO

import pytest
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


# --- HTML -------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags, titles and table rows of a fragment; every tag that opens has to close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.titles: list[str] = []
        self.rows: list[list[str]] = []
        self.style = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.titles += [value for name, value in attrs if name == "title" and value is not None]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            self.style += data
        elif "tr" in self.open:
            self.rows[-1][-1] += data


TAGS = {"div", "style", "b", "small", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary"}
ATTRIBUTES = {"class", "colspan", "title"}


def page(data: DataProto) -> Page:
    made = Page(data._repr_html_())
    assert made.tags <= TAGS
    assert made.attributes <= ATTRIBUTES
    return made


def test_a_notebook_shows_the_fields_by_store_and_the_first_cells() -> None:
    data = full()
    uid, stop = column_bytes(data.non_tensor_batch["uid"]), deep_bytes(data.meta_info["stop"])

    assert page(data).rows == [
        ["field", "type", "device", "size", "written by", "declared", "value"],
        ["batch120 B"],
        ["ids", "i64[6, 2]", "cpu", "96 B", "generate", "yes", ""],
        ["reward", "f32[6]", "cpu", "24 B", "", "", ""],
        [f"non_tensor_batch{uid + 24} B"],
        ["uid", "6 objects", "", f"{uid} B", "", "", ""],
        ["score", "float32[6]", "", "24 B", "", "", ""],
        [f"meta_info{stop + 24} B"],
        ["temperature", "float 0.7", "", "24 B", "", "", ""],
        ["stop", "list of 4", "", f"{stop} B", "", "", "['x', 'y', 'z', 'w']"],
        ["uid", "score"],
        ["'a'", "1.5"],
        ["'b'", "2.5"],
        ["'c'", "3.5"],
        ["'d'", "4.5"],
        ["'a'", "1.5"],
    ]
    assert "<b>DataProto</b><small>6 rows, 2 of them padding, bound to Rollout, 6 fields, " in full()._repr_html_()


def test_text_terminal_and_notebook_say_the_same_of_every_field() -> None:
    data = full()
    text, lines, rows = repr(data), printed(data, 200), page(data).rows

    for key, kind, device, size, writer, declared, value in (
        row for row in rows if len(row) == 7 and row[0] != "field"
    ):
        assert f"{key}: {kind}" in text
        line = next(line for line in lines if line.split()[0] == key)
        assert re.split(r"\s{2,}", line.strip()) == [
            part for part in (key, kind, device, size, writer, declared, value) if part
        ]


SCRIPT = "<script>alert('\"&')</script>"


def test_nothing_from_the_batch_becomes_markup() -> None:
    kind = type(SCRIPT, (), {})
    bold = type("<b>", (DataProto,), {})
    data = bold.from_dict(
        {f"{SCRIPT} t": torch.ones(2)},
        {f"{SCRIPT} c": [SCRIPT, {SCRIPT: SCRIPT}], "'\"><img src=x>": [kind(), None]},
        {f"{SCRIPT} m": kind(), "long": [SCRIPT] * 9, "</style>": SCRIPT, "&lt;": "&lt;"},
    )
    data._writers = {"long": SCRIPT}

    found = page(data)

    shown = [cell for row in found.rows for cell in row]
    assert all(f"{SCRIPT} {store}" in [*shown, *found.titles] for store in "tcm")
    assert SCRIPT in shown  # the writer, and the type
    assert "'\"><img src=x>" in shown
    assert {"</style>", "&lt;", "'&lt;'"} <= set(shown)
    assert repr([SCRIPT] * 5)[:-1] + ", ...]" in found.titles
    assert "<b>&lt;b&gt;</b>" in data._repr_html_()
    assert "<script" not in data._repr_html_()


def test_the_name_of_a_bound_schema_becomes_no_markup() -> None:
    schema = type(BatchSchema)("<i>", (BatchSchema,), {"__annotations__": {"ids": Int64[Tensor, "batch two"]}})
    text = small().bind(schema)._repr_html_()

    assert "<i>" not in text
    assert "bound to &lt;i&gt;" in text


def test_a_page_takes_nothing_from_elsewhere_and_has_no_colours_of_its_own() -> None:
    style = page(full()).style

    assert not re.search(r"url\(|@import|https?:", full()._repr_html_())
    assert set(re.findall(r"[\w-]*color: ([^;]+);", style)) == {"inherit"}
    assert set(re.findall(r"background: ([^;]+);", style)) == {"none"}
    assert re.findall(r"#[0-9a-f]{3}|rgba?\([^)]*\)", style) == ["rgba(128, 128, 128, .4)"]
    assert all(line.startswith(".batchpact") for line in style.split("\n") if line and line[0] not in " }")


def test_long_values_are_cut_and_whole_in_a_title() -> None:
    data = DataProto(meta_info={"prompt": "x" * 100, "stop": "y"})
    found = page(data)

    assert found.rows[-2][-1] == f"'{'x' * 32}..."
    assert found.titles == [f"'{'x' * 100}'"]


def test_a_huge_batch_has_a_small_page() -> None:
    assert len(large()._repr_html_()) < 200_000
    assert [row for row in page(large()).rows if len(row) == 1] == [
        ["batchat least 2.3 KB"],
        ["and 2900 more"],
        [page(large()).rows[103][0]],
        ["and 2900 more"],
        ["meta_infoat least 95.4 MB"],
        ["and 2900 more"],
    ]


@pytest.mark.parametrize("name", ["batch", "non_tensor_batch", "meta_info"])
def test_a_broken_batch_has_a_page(name: str) -> None:
    data = small()
    setattr(data, name, ["<br>"])
    data.non_tensor_batch = {"late": column(["one"])} if name != "non_tensor_batch" else data.non_tensor_batch

    assert [f"{name}list of 1"] in page(data).rows
    assert printed(data)[0].startswith("DataProto: inconsistent")


def test_without_columns_there_are_no_first_cells() -> None:
    assert page(small().select(non_tensor_batch_keys=[])).tags == TAGS - {"details", "summary"}
    assert page(small().select([], ["uid"])).tags == TAGS


def test_columns_of_different_lengths_leave_cells_empty() -> None:
    data = DataProto.from_dict({}, {"uid": ["a", "b"]})
    data.non_tensor_batch["late"] = column(["c"])

    assert page(data).rows[-3:] == [["uid", "late"], ["'a'", "'c'"], ["'b'", ""]]
