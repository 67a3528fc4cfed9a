"""What there is to show of a batch: of each field, of each store and of the whole, in a bounded number of words."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.dataproto.facts import Facts, FieldFacts, batch_facts, row_facts
from batchpact.dataproto.sizes import Size, column_bytes
from batchpact.schemas import BatchSchema, Meta, Name, NonTensor
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
    data.meta_info["array"] = np.ones(4)
    assert field(data, "ids").cells == field(data, "array").cells == []
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
