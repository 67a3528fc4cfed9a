"""What the ranks gather in the tests of `gathering.py`; run by `ranks.py`, once in each process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float32
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto, all_gather_data_proto, column
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.row_marks import RowMarks
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import BatchSchema, ContractError, Fill, Merge, Meta
from tests.dataproto.support import COLUMNS, META, TENSORS, jagged, jagged_on_2, plain, small

CUTS = ([2, 0, 3], [1, 1, 1], [0, 4, 0], [0, 0, 0])
"""How many rows each of three ranks has."""


class Scored(BatchSchema):
    x: Float32[Tensor, "batch"]
    bonus: Annotated[Float32[Tensor, "batch"], Fill(-1.0)] | None = None
    tokens: Annotated[Meta[int], Merge("sum")] | None = None


def gathered(data: Any, group: Any = None) -> dict[str, str]:
    """The batch after gathering. If that is refused, the batch is as it was."""
    before = plain(data) if isinstance(data, DataProto) else {}
    try:
        assert all_gather_data_proto(data, group) is None  # type: ignore[func-returns-value]
    except ContractError:
        assert not isinstance(data, DataProto) or plain(data) == before
        raise
    return plain(data)


def whole(cut: list[int], seed: int) -> DataProto:
    """A batch with every kind of field, and as many rows as all ranks together."""
    rng = np.random.default_rng(seed)
    tensors, columns, meta = (
        {name: make(rng, sum(cut)) for name, make in makers.items()} for makers in (TENSORS, COLUMNS, META)
    )
    return DataProto.from_dict(tensors, columns, meta)


def cut_out(data: DataProto, cut: list[int], rank: int) -> DataProto:
    return data[sum(cut[:rank]) : sum(cut[: rank + 1])]


def every_kind(cut: list[int], seed: int) -> Callable[[int, int], Any]:
    return lambda rank, world: gathered(cut_out(whole(cut, seed), cut, rank))


def of(*batches: Any) -> Callable[[int, int], Any]:
    """Each rank gathers its own of these; a function makes one."""
    return lambda rank, world: gathered(batches[rank]() if callable(batches[rank]) else batches[rank])


def unsent(*batches: Any) -> Callable[[int, int], Any]:
    """The same, where no tensor may be sent to another rank."""

    def scenario(rank: int, world: int) -> Any:
        with mock.patch.object(dist, "all_gather", side_effect=AssertionError("a tensor was sent")):
            return of(*batches)(rank, world)

    return scenario


# --- scenarios ------------------------------------------------------------------------------------------------------


def in_place(rank: int, world: int) -> Any:
    """The batch is the same object with stores of its own, and what it was made of stays as it was."""
    x, uid, meta = torch.tensor([float(rank)]), column([rank]), {"k": 1}
    data = DataProto(TensorDict({"x": x}, batch_size=[1], device="cpu"), {"uid": uid}, meta)
    store = data.batch
    alias = data
    all_gather_data_proto(data, dist.group.WORLD)
    assert alias.batch is not None and store is not None
    return alias.batch["x"].tolist(), alias.batch.device, list(store["x"]), list(uid), data.meta_info is meta


def every_dtype(rank: int, world: int) -> Any:
    names = ("float8_e4m3fn", "float8_e5m2", "uint16", "complex64", "int16", "float16")
    data = DataProto.from_dict({name: torch.full((1, 3), rank).to(getattr(torch, name)) for name in names})
    all_gather_data_proto(data, None)
    assert data.batch is not None
    return {str(value.dtype): value.to(torch.complex64).real.tolist() for value in data.batch.values()}


def other_order(rank: int, world: int) -> Any:
    """The ranks have the same fields in another order."""
    fields = {"a": torch.full((1,), rank), "b": torch.full((2,), rank).reshape(1, 2), "c": torch.ones(1).bool()}
    names = list(fields)[rank:] + list(fields)[:rank]
    return gathered(DataProto.from_dict({name: fields[name] for name in names}))


def with_graph(rank: int, world: int) -> Any:
    """Nobody waits for a gradient of another rank: what is gathered has no graph."""
    values = torch.ones(2, requires_grad=True) * rank
    data = DataProto.from_dict({"x": values})
    all_gather_data_proto(data, None)
    assert data.batch is not None
    return data.batch["x"].requires_grad, data.batch["x"].tolist()


def unseen(rank: int, world: int) -> Any:
    """Pad marks, writers and origins."""
    data = fields(torch.ones(2))
    data._writers = {"x": f"writer-{rank}"}
    data._marks = RowMarks(origin=np.array([5, 6]), pads=np.array([False, True]) if rank == 1 else None)
    all_gather_data_proto(data, None)
    return data.pad_mask.tolist(), data.last_writer("x"), data._marks.origin


def bound(rank: int, world: int) -> Any:
    """Policies of a schema that two ranks have bound; only rank 1 has the optional field."""
    fields = {"x": torch.full((1,), float(rank))} | ({"bonus": torch.full((1,), 9.0)} if rank == 1 else {})
    data = DataProto.from_dict(fields, meta_info={"tokens": rank + 1})
    if rank != 2:
        data.bind(Scored)
    told = gathered(data)
    return told, data._bound is not None and data._bound.schema is Scored, data.presence("bonus").tolist()


def breaks_its_schema(rank: int, world: int) -> Any:
    return gathered(fields(torch.full((1,), float(rank))).bind(Scored, dims={"batch": 1}))


def in_a_stage(rank: int, world: int) -> Any:
    """What was not handed out stays known."""
    data = small()[:1]
    handed = data._hand_out(HandOut(("ids",), ("uid",), (), {}, (), Withheld("score", {"ids", "uid"}, data.stores)))
    all_gather_data_proto(handed, None)
    seen = []
    for store in (handed.batch, handed.non_tensor_batch, handed.meta_info):
        try:
            seen.append("reward" in store)  # type: ignore[operator]
        except KeyError as error:
            seen.append(type(error).__name__)
    return plain(handed), seen


def no_field(rank: int, world: int) -> Any:
    data = DataProto(TensorDict({}, batch_size=[rank]))
    all_gather_data_proto(data, None)
    return len(data)


def two_batch_axes(rank: int, world: int) -> Any:
    data = DataProto(TensorDict({"x": torch.full((rank, 2), rank)}, batch_size=[rank, 2]))
    all_gather_data_proto(data, None)
    assert data.batch is not None
    return plain(data), list(data.batch.batch_size)


class Moody:
    """Cannot be pickled the first time, and later can."""

    times = 0

    def __reduce__(self) -> tuple[type, tuple[()]]:
        Moody.times += 1
        if Moody.times == 1:
            raise RuntimeError("not now")
        return Moody, ()


def local_schema(rank: int, world: int) -> Any:
    class Local(BatchSchema):
        x: Float32[Tensor, "batch"]

    return gathered(fields(torch.ones(1)).bind(Local if rank == 1 else Scored))


def no_values(rank: int, world: int) -> Any:
    all_gather_data_proto(fields(torch.ones(1, device="meta" if rank == 1 else "cpu")), None)


def smaller_group(rank: int, world: int) -> Any:
    """Ranks 0 and 2 are ranks 0 and 1 of a group, and rank 1 is none of it."""
    group = dist.new_group([0, 2])
    return gathered(fields(torch.ones(1).to(torch.float16 if rank else torch.float32)), group)


def group_of_two(rank: int, world: int) -> Any:
    group = dist.new_group([0, 2])
    return gathered(fields(torch.full((rank + 1,), rank)), group) if rank != 1 else None


def group_of_one(rank: int, world: int) -> Any:
    groups = [dist.new_group([each]) for each in range(world)]
    return gathered(small(), groups[rank])


def inner_and_odd(rank: int, world: int) -> Any:
    """What no collective takes: a TensorDict as a value, strided nested and sparse tensors."""
    inner = TensorDict({"y": torch.full((1, 2), rank)}, batch_size=[1])
    nested = torch.nested.nested_tensor([torch.full((rank + 1,), rank)])
    sparse = torch.full((1, 2), rank).to_sparse()
    data = DataProto.from_dict({"inner": inner, "nested": nested, "sparse": sparse})
    all_gather_data_proto(data, None)
    assert data.batch is not None
    rows = [row.tolist() for row in data.batch["nested"].unbind(0)]
    return data.batch["inner", "y"].tolist(), rows, data.batch["sparse"].to_dense().tolist()


def inconsistent() -> DataProto:
    data = fields(torch.ones(2))
    data.non_tensor_batch["late"] = column("abc")
    return data


def written(data: DataProto, **writers: str) -> DataProto:
    data._writers = writers
    return data


def fields(x: Any, **columns: Any) -> DataProto:
    return DataProto.from_dict({"x": x}, columns, {"k": 1})


def with_lambdas() -> DataProto:
    return DataProto.from_dict({"x": torch.ones(1)}, {"c": [lambda: 1]}, {"k": 1, "m": lambda: 2})


IMAGE = DataProto.from_dict({"x": torch.ones(1), "pixels": torch.ones(1, 3)}, {"uid": ["a"], "image": [b"..."]})
TEXT = DataProto.from_dict({"x": torch.ones(1)}, {"uid": ["b"]})

REFUSED: dict[str, Callable[[int, int], Any]] = {
    "fields": unsent(written(IMAGE, pixels="render"), TEXT, TEXT),
    "kinds": unsent(
        fields(torch.ones(2, 3), c=[1, 2]),
        fields(torch.ones(1, 3).double(), c=np.ones(1)),
        fields(torch.ones(0, 3), c=[]),
    ),
    "row shapes": unsent(fields(torch.ones(4, 17)), fields(torch.ones(4, 21)), fields(torch.ones(0, 17))),
    "layouts": unsent(
        fields(jagged([1], [2, 3])), fields(jagged_on_2([[1], [2]])), fields(torch.ones(1, 3, dtype=torch.int64))
    ),
    "places": unsent(fields(torch.ones(1)), DataProto(None, {"x": column([1.0])}, {"k": 1}), fields(torch.ones(1))),
    "meta": of(*[DataProto.from_dict({"x": torch.ones(1)}, meta_info={"k": rank // 2}) for rank in range(3)]),
    "inconsistent": unsent(fields(torch.ones(2)), inconsistent, fields(torch.ones(2))),
    "no batch": unsent(fields(torch.ones(2)), fields(torch.ones(2)), {"x": torch.ones(2)}),
    "unpicklable": unsent(fields(torch.ones(1), c=["ok"]), with_lambdas, with_lambdas),
    "no values": no_values,
    "local schema": local_schema,
    "moody": unsent(fields(torch.ones(1)), lambda: DataProto(meta_info={"k": Moody()}), fields(torch.ones(1))),
    "schema": breaks_its_schema,
    "strangers": smaller_group,
}

SCENARIOS: dict[str, Callable[[int, int], Any]] = {
    **{f"{cut} {seed}": every_kind(cut, seed) for cut in CUTS for seed in range(3)},
    "in place": in_place,
    "every dtype": every_dtype,
    "other order": other_order,
    "with graph": with_graph,
    "unseen": unseen,
    "bound": bound,
    "in a stage": in_a_stage,
    "group of two": group_of_two,
    "group of one": group_of_one,
    "inner and odd": inner_and_odd,
    "one has nothing": of(small()[:1], DataProto(), small()[1:]),
    "nobody has anything": of(DataProto(), DataProto(), DataProto()),
    "columns alone": of(*[DataProto.from_dict(non_tensors={"c": cells}) for cells in ([1], [[2], 3], [])]),
    "no field": no_field,
    "two batch axes": two_batch_axes,
    "meta": of(
        DataProto(meta_info={"k": [1, {"a": np.nan}], "metrics": {"loss": 1.0}}),
        DataProto(meta_info={"k": [1, {"a": np.nan}], "metrics": {"loss": 2.0, "kl": 3.0}}),
        DataProto(meta_info={"late": 1}),
    ),
    **{f"refused: {name}": scenario for name, scenario in REFUSED.items()},
    # A collective that some rank had not joined would meet this one.
    "at last": of(small(), small(), small()),
}
