"""A batch that is still being made. Each part stands for its own object ref; `test_futures_ray.py` has real ones."""

from __future__ import annotations

import dataclasses
import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, DataProtoFuture, column
from tests.dataproto.support import function_refuses, plain, small


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was fetched; an object ref is the object itself."""
    refs: list[Any] = []

    def get(given: list[Any]) -> list[Any]:
        refs.extend(given)
        return list(given)

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=get))
    return refs


def of(*parts: Any) -> DataProtoFuture:
    return DataProtoFuture.concat(list(parts))


# --- making one -------------------------------------------------------------------------------------------------------


def test_the_fields_are_verls() -> None:
    fields = [(field.name, field.default) for field in dataclasses.fields(DataProtoFuture)]

    assert fields == [("collect_fn", dataclasses.MISSING), ("futures", dataclasses.MISSING), ("dispatch_fn", None)]


def test_concat_keeps_the_refs_and_fetches_nothing(fetched: list[Any]) -> None:
    refs: list[Any] = ["first", "second"]

    future = DataProtoFuture.concat(refs)

    assert (future.collect_fn, future.futures, future.dispatch_fn) == (DataProto.concat, refs, None)
    assert [part.futures for part in future.chunk(2)] == [refs, refs]
    assert fetched == []


@pytest.mark.parametrize(("refs", "words"), [([], "list of 0"), (None, "None"), ("ref", "str")])
def test_a_future_has_parts(refs: Any, words: str) -> None:
    with function_refuses("DataProtoFuture", f"BP042 parts  futures  {words}; a list with an object ref for each part"):
        DataProtoFuture.concat(refs)


@pytest.mark.parametrize("chunks", [0, -1, 1.5, True, "2", None])
def test_the_number_of_parts_is_a_number(chunks: Any) -> None:
    with function_refuses("DataProtoFuture.chunk", f"BP043 split  chunks  {chunks!r}; a whole number, 1 or more"):
        of(small()).chunk(chunks)


# --- getting it -------------------------------------------------------------------------------------------------------


def test_the_parts_are_fetched_at_once_and_stand_one_below_the_other(fetched: list[Any]) -> None:
    data = small()
    first, second = data[:1], data[1:]

    assert plain(of(first, second).get()) == plain(data)
    assert [part is given for part, given in zip(fetched, (first, second), strict=True)] == [True, True]


@pytest.mark.usefixtures("fetched")
def test_chunks_of_a_future_are_chunks_of_the_batch() -> None:
    data = small()

    parts = [future.get() for future in of(data[:1], data[1:]).chunk(2)]

    assert [plain(part) for part in parts] == [plain(part) for part in data.chunk(2)]


@pytest.mark.usefixtures("fetched")
def test_a_chunk_of_a_chunk_is_a_part_of_it() -> None:
    """verl forgets the first cut: there, the quarters of the second half are halves of the whole."""
    data = small()

    quarters = [quarter.get() for half in of(data).chunk(2) for quarter in half.chunk(2)]

    assert [plain(quarter) for quarter in quarters] == [plain(data[row : row + 1]) for row in range(4)]


@pytest.mark.usefixtures("fetched")
def test_a_dispatch_function_of_ones_own_takes_from_the_whole() -> None:
    data = small()
    future = DataProtoFuture(DataProto.concat, [data[:2], data[2:]], lambda whole: whole[[3, 0]])  # type: ignore[list-item]

    assert plain(future.get()) == plain(data[[3, 0]])
    assert plain(future.chunk(2)[1].get()) == plain(data[[0]])


@pytest.mark.usefixtures("fetched")
def test_a_collect_function_of_ones_own_makes_the_whole() -> None:
    future = DataProtoFuture(lambda parts: parts[-1], [small()[:1], small()[2:]])  # type: ignore[list-item]

    assert plain(future.get()) == plain(small()[2:])
    assert plain(future.chunk(2)[0].get()) == plain(small()[2:3])


@pytest.mark.usefixtures("fetched")
def test_tensordicts_become_a_tensordict() -> None:
    data = small()
    future = of(data[:1].to_tensordict(), data[1:].to_tensordict())

    whole, half = future.get(), future.chunk(2)[1].get()

    assert isinstance(whole, TensorDict) and isinstance(half, TensorDict)
    assert plain(DataProto.from_tensordict(whole)) == plain(data)
    assert plain(DataProto.from_tensordict(half)) == plain(data[2:])


def test_a_future_and_its_chunks_are_pickled(fetched: list[Any]) -> None:
    """Without the help of cloudpickle: a worker group hands them to its workers."""
    data = small()
    half = of(data[:1], data[1:]).chunk(2)[1]

    assert plain(pickle.loads(pickle.dumps(half)).get()) == plain(data[2:])
    assert len(fetched) == 2


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fetched")
@pytest.mark.parametrize(("other", "words"), [(None, "None"), ({"x": torch.ones(1)}, "dict of 1")])
def test_every_part_is_a_batch(other: Any, words: str) -> None:
    with function_refuses(
        "DataProtoFuture.get",
        f"BP045 store  futures  part 1 is no batch: {words}; every part a DataProto or a TensorDict; "
        "DataProto.from_verl(x) makes one of verl's own",
    ):
        of(small(), other, other).get()


@pytest.mark.usefixtures("fetched")
def test_parts_are_of_one_kind() -> None:
    with function_refuses(
        "DataProtoFuture.get",
        "BP042 parts  futures  part 0 is a DataProto, part 2 a TensorDict; parts of one kind",
    ):
        of(small(), small(), small().to_tensordict()).get()


@pytest.mark.usefixtures("fetched")
@pytest.mark.parametrize("name", ["collect_fn", "dispatch_fn"])
def test_what_a_function_of_ones_own_makes_is_a_batch(name: str) -> None:
    functions: dict[str, Any] = {"collect_fn": DataProto.concat, name: lambda whole: [whole]}

    with function_refuses("DataProtoFuture.get", f"BP045 store  {name}  list of 1; a DataProto or a TensorDict"):
        DataProtoFuture(futures=[small()], **functions).get()  # type: ignore[list-item]


@pytest.mark.usefixtures("fetched")
def test_what_does_not_fit_together_is_refused_as_in_concat_and_chunk() -> None:
    data = small()

    with pytest.raises(ValueError, match=r"BP042 parts +reward +missing in part 1, present in part 0"):
        of(data, data.select(["ids"])).get()
    with pytest.raises(ValueError, match="4 rows into 3 parts; parts of equal length"):
        of(data).chunk(3)[0].get()


@pytest.mark.usefixtures("fetched")
def test_the_result_is_checked() -> None:
    def broken(parts: list[DataProto]) -> DataProto:
        parts[0].non_tensor_batch["late"] = column("ab")
        return parts[0]

    with pytest.raises(ValueError, match="4 rows in the tensors, uid and score, 2 rows in late"):
        DataProtoFuture(broken, [small()]).get()  # type: ignore[list-item]


@pytest.mark.usefixtures("fetched")
def test_no_row_is_a_batch() -> None:
    nothing = DataProto.from_dict({"x": torch.ones(0, 2)}, {"c": np.ones(0)})

    assert [plain(part.get()) for part in of(nothing, nothing).chunk(2)] == [plain(nothing)] * 2
