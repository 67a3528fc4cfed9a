"""Showing a batch looks at no value and at no withheld name, and raises at nothing, however broken the batch is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict
from torch.utils._python_dispatch import TorchDispatchMode

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import Violation
from tests.dataproto.support import jagged, small
from tests.dataproto.test_facts import facts, field

# --- never a look -----------------------------------------------------------------------------------------------------


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


# --- never an error ---------------------------------------------------------------------------------------------------


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
