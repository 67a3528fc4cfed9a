"""What there is to show of a batch: the same whatever prints it, without a look at a value or at a withheld name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from tensordict import TensorDict
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.dataproto.facts import Facts, FieldFacts, batch_facts, row_facts
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.sizes import Size, column_bytes
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import BatchSchema, Meta, Name, NonTensor, Violation
from tests.dataproto.support import jagged, small


def facts(batch: DataProto, most: int = 100) -> Facts:
    return batch_facts(batch, most)


def field(batch: DataProto, key: str) -> FieldFacts:
    return next(field for field in facts(batch).fields if field.key == key)


def of(value: Any) -> FieldFacts:
    """The facts of a value in meta."""
    return field(DataProto(meta_info={"m": value}), "m")


def said(found: Facts) -> list[list[str]]:
    return [[say(field) for _, say in found.columns] for field in found.fields]


# --- fields -----------------------------------------------------------------------------------------------------------


def test_every_field_is_there_with_what_it_is() -> None:
    data = small()
    data.union(DataProto.from_dict({"j": jagged([1], [], [2], [3])}))
    data._writers = {"ids": "generate", "temperature": "configure"}
    uid, stop = column_bytes(data.non_tensor_batch["uid"]), of(["x", "y", "z", "w"]).size

    found = facts(data)

    assert (found.name, found.head) == ("DataProto", "4 rows")
    assert [(store.name, len(store.fields), store.hidden) for store in found.stores] == [
        ("batch", 3, 0),
        ("non_tensor_batch", 2, 0),
        ("meta_info", 2, 0),
    ]
    assert [heading for heading, _ in found.columns] == ["field", "type", "device", "size", "written by", "value"]
    assert said(found) == [
        ["ids", "i64[4, 2]", "cpu", "64 B", "generate", ""],
        ["reward", "f32[4]", "cpu", "16 B", "", ""],
        ["j", "i64[4, jagged]", "cpu", "64 B", "", ""],
        ["uid", "4 objects", "", f"{uid} B", "", ""],
        ["score", "float32[4]", "", "16 B", "", ""],
        ["temperature", "float 0.7", "", "24 B", "configure", ""],
        ["stop", "list of 4", "", str(stop), "", "['x', 'y', 'z', 'w']"],
    ]
    assert found.summary == f"4 rows, 7 fields, {64 + 16 + 64 + uid + 16 + 24 + stop.bytes} B"


def test_only_field_and_type_are_said_of_nothing() -> None:
    found = facts(DataProto())

    assert [heading for heading, _ in found.columns] == ["field", "type"]
    assert found.summary == "0 rows, 0 fields, 0 B"
    assert [store.instead for store in found.stores] == ["-", "-", "-"]


def test_what_a_bound_schema_declares_is_marked() -> None:
    class Rollout(BatchSchema):
        ids: Int64[Tensor, "batch two"]
        scores: Annotated[Float32[Tensor, "batch"], Name("reward")]
        uid: NonTensor[str]
        temperature: Meta[float]

    found = facts(small().bind(Rollout))

    assert found.head == "4 rows, bound to Rollout"
    assert [field.key for field in found.fields if field.declared] == ["ids", "reward", "uid", "temperature"]
    assert [heading for heading, _ in found.columns][-2:] == ["declared", "value"]


def test_a_name_in_another_place_than_declared_is_not_marked() -> None:
    class OnlyMeta(BatchSchema):
        temperature: Meta[float]

    data = small().bind(OnlyMeta)
    del data.meta_info["temperature"]
    data.non_tensor_batch["temperature"] = np.ones(4)

    assert not field(data, "temperature").declared


def test_pad_rows_are_counted() -> None:
    assert facts(pad_dataproto_to_divisor(small(), 3)[0]).head == "6 rows, 2 of them padding"
    assert facts(pad_dataproto_to_divisor(small(), 3)[0][:4]).head == "4 rows"


def test_tensors_have_their_device_wherever_they_are() -> None:
    data = DataProto.from_dict({"x": torch.ones(2, device="meta")}, meta_info={"m": torch.ones(1)})
    assert data.batch is not None
    data.batch["n"] = TensorDict({"y": torch.ones(2)}, batch_size=[2])

    assert [(field.key, field.device) for field in facts(data).fields] == [("x", "meta"), ("n", ""), ("m", "cpu")]


@pytest.mark.parametrize(
    ("value", "kind", "content"),
    [
        (0.5, "float 0.5", ""),
        (None, "None", ""),
        ("a text", "str", "'a text'"),
        ([], "list of 0", "[]"),
        ({"a": 1}, "dict of 1", "{'a': 1}"),
        (torch.ones(2), "f32[2]", ""),
        (object(), "object", ""),
        (np.ones(2), "float64[2]", ""),
    ],
    ids=repr,
)
def test_of_meta_the_content_is_shown_where_the_type_does_not_say_it(value: Any, kind: str, content: str) -> None:
    assert (of(value).kind, of(value).content) == (kind, content)


def test_of_tensors_and_columns_no_content_is_shown_and_of_columns_the_first_cells() -> None:
    data = small()

    assert [found.content for found in facts(data).fields][:4] == [""] * 4
    assert field(data, "ids").cells == field(data, "stop").cells == []
    assert field(data, "uid").cells == ["'a'", "'b'", "'c'", "'d'"]


def test_of_a_row_there_are_the_same_facts() -> None:
    row = small()[1]

    found = row_facts("Row", row.batch, row.non_tensor_batch, row.meta_info, 100)

    assert found.head == "1 row"
    assert [(field.key, field.kind) for field in found.fields] == [
        ("ids", "i64[2]"),
        ("reward", "f32[]"),
        ("uid", "str"),
        ("score", "float32"),
        ("temperature", "float 0.7"),
        ("stop", "list of 4"),
    ]


# --- as much as can be shown ------------------------------------------------------------------------------------------


def test_fields_beyond_the_limit_are_counted() -> None:
    data = DataProto.from_dict({f"t{at}": torch.ones(2) for at in range(5)}, {"uid": ["a", "b"]})

    found = facts(data, 3)

    assert [field.key for field in found.fields] == ["t0", "t1", "t2", "uid"]
    assert [store.more for store in found.stores] == ["and 2 more", "", ""]
    assert found.stores[0].size == Size(24, whole=False)
    assert "6 fields, at least" in found.summary


def test_a_large_column_is_not_measured_to_its_end() -> None:
    cells = column(f"text {at}" for at in range(100_000))
    data = DataProto.from_dict({}, {"small": ["a"] * 100_000, "large": cells})

    assert field(DataProto.from_dict({}, {"large": cells[:99_999]}), "large").size.whole
    assert not field(data, "large").size.whole
    assert 800_000 < field(data, "large").size.bytes < column_bytes(cells)


def test_names_and_types_are_short_and_print() -> None:
    kind = type("K\n" + "k" * 100, (), {})
    data = DataProto(meta_info={"a\n" + "b" * 1_000_000: kind()})
    data._writers = dict.fromkeys(data.meta_info, "w\t" + "x" * 100)
    (found,) = facts(data).fields

    assert found.key == "a\\n" + "b" * 54 + "..."
    assert found.kind == "K\\n" + "k" * 54 + "..."
    assert found.writer == "w\\t" + "x" * 54 + "..."


# --- never a value, never an error ------------------------------------------------------------------------------------


class Watching(TorchDispatchMode):
    """Remembers what torch is asked to do."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_no_operation_on_tensors_but_looking_at_their_layout() -> None:
    data = small()
    assert data.batch is not None
    data.batch["jagged"] = jagged([1], [2, 3], [], [4])
    data.batch["strided"] = torch.nested.nested_tensor([torch.ones(2)] * 4)
    data.batch["nested"] = TensorDict({"x": torch.ones(4)}, batch_size=[4])
    data.non_tensor_batch["cells"] = column([torch.ones(2)] * 4)
    data.meta_info["tensors"] = [torch.ones(2), {"a": jagged([1])}]
    layouts = {"prim.layout.default", "aten._nested_get_values.default", "aten.unbind.int", "aten.detach.default"}

    with Watching() as watching:
        assert repr(data)
        assert data._repr_html_()
        assert data.__rich__()

    assert watching.seen <= layouts


def hand_out(data: DataProto, report: Callable[[Violation], None] | None = None) -> DataProto:
    """What a stage gets that declares `ids`, `uid` and `stop`."""
    withheld = Withheld("score", {"ids", "uid", "stop"}, data.stores, report)
    keys = (None, None, None) if report else (("ids",), ("uid",), ("stop",))
    return data._hand_out(HandOut(*keys, {"kl_coef": 0.1}, (), withheld))


def test_inside_a_stage_what_it_was_handed_is_there_and_no_more() -> None:
    handed = hand_out(pad_dataproto_to_divisor(small(), 3)[0])

    assert facts(handed).head == "6 rows, 2 of them padding"
    assert [field.key for field in facts(handed).fields] == ["ids", "uid", "stop", "kl_coef"]
    assert [field.key for field in facts(handed[:2]).fields] == ["ids", "uid", "stop", "kl_coef"]
    assert repr(handed[0]).count("reward") == 0


@pytest.mark.parametrize("broken", [False, True])
def test_showing_is_no_undeclared_read(broken: bool) -> None:
    found: list[Violation] = []
    recorded, refused = hand_out(small(), found.append), hand_out(small())
    for handed in (recorded, refused):
        if broken:
            handed.non_tensor_batch["late"] = column(["one row"])
            handed.meta_info["reward"] = "a name that was withheld from the stage, set by it"
        assert ("inconsistent" in repr(handed)) == broken
        assert handed._repr_html_()
        assert handed.__rich__()

    assert found == []


def test_what_is_wrong_with_an_inconsistent_batch_is_in_its_head() -> None:
    data = pad_dataproto_to_divisor(small(), 3)[0]
    data.non_tensor_batch["late"] = column(["only", "two"])
    data.meta_info["ids"] = 5

    assert facts(data).head == (
        "inconsistent (6 rows in the tensors, uid and score, 2 rows in late; ids: in batch and in meta_info), "
        "2 of them padding"
    )
    assert [field.key for field in facts(data).fields].count("ids") == 2

    data.meta_info.update(uid=1, score=2, late=3)
    assert facts(data).head.count(";") == 3
    assert facts(data).head.endswith("; uid: in non_tensor_batch and in meta_info; 2 more), 2 of them padding")


def test_the_head_of_a_batch_with_many_lengths_is_short() -> None:
    data = DataProto()
    data.non_tensor_batch = {f"c{rows}": np.ones(rows) for rows in range(1, 3000)}

    assert facts(data).head.startswith("inconsistent (1 row in c1, 2 rows in c2, ")
    assert len(facts(data).head) < 150


BROKEN: dict[str, tuple[Any, str, str]] = {
    "batch": ([torch.ones(2)], "inconsistent (batch: list of 1)", "list of 1"),
    "non_tensor_batch": (None, "inconsistent", "-"),
    "meta_info": ("a text", "inconsistent", "str"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_store_that_is_none_is_shown_as_what_it_is(name: str) -> None:
    value, head, instead = BROKEN[name]
    data = small()
    setattr(data, name, value)

    found = facts(data)

    assert found.head == head
    assert {store.name: store.instead for store in found.stores if not store.fields} == {name: instead}
    assert sum(len(store.fields) for store in found.stores) == 4


def test_a_column_that_is_none_is_shown_as_what_it_is() -> None:
    data = small()
    data.non_tensor_batch["plain"] = [1, 2, 3, 4]  # type: ignore[assignment]

    assert facts(data).head == "inconsistent (plain: list of 4)"
    assert (field(data, "plain").kind, field(data, "plain").cells) == ("list of 4", [])


def test_a_batch_that_is_not_made_yet_is_shown() -> None:
    assert facts(object.__new__(DataProto)).head == "inconsistent"


class Hostile:
    """Raises at whatever one looks at."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError

    def __sizeof__(self) -> int:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("value", "kind", "content", "size"),
    [
        (Hostile(), "Hostile", "", "at least 0 B"),
        (10**5000, "int", "", None),
        ([10**5000], "list of 1", "", None),
    ],
    ids=["an object", "a number too long to print", "a list of such a number"],
)
def test_a_value_that_cannot_be_looked_at_is_shown_by_its_type(
    value: Any, kind: str, content: str, size: str | None
) -> None:
    data = DataProto(meta_info={"m": value, "other": 1})

    found = field(data, "m")

    assert (found.kind, found.content, found.device) == (kind, content, "")
    assert size is None or str(found.size) == size
    assert "other: int 1)" in repr(data)


def test_a_name_that_cannot_be_printed_is_shown_by_its_type() -> None:
    assert [field.key for field in facts(DataProto(meta_info={Hostile(): 1, 5: 2})).fields] == ["Hostile", "5"]
