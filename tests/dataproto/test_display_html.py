"""A batch as HTML: well formed, the same facts as in text and in a terminal, and nothing in it becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.sizes import column_bytes, deep_bytes
from batchpact.schemas import BatchSchema
from tests.dataproto.support import small
from tests.dataproto.test_display import full, large, printed


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
