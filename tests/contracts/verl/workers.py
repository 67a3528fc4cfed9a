"""verl's workers of the tests, in a module that Ray's workers can import."""

from __future__ import annotations

import asyncio
from typing import Any

import torch
from tensordict import TensorDict
from transfer_queue.client import AsyncTransferQueueClient
from verl import DataProto as VerlDataProto
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import MAGIC_ATTR, Dispatch, make_nd_compute_dataproto_dispatch_fn, register
from verl.utils import tensordict_utils
from verl.utils.transferqueue_utils import _compute_need_collect, tqbridge

from batchpact.contracts import contract_dispatch, stage
from batchpact.dataproto.carriers import carrier_of
from tests.contracts.verl.schemas import (
    Advantage,
    ComputeValues,
    Generate,
    InferValues,
    Losses,
    Neutral,
    Update,
)

MESH = "actor"
Seen = dict[str, Any]


def held(data: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The stores of a batch, as dicts."""
    carrier = carrier_of(data)
    assert carrier is not None
    stores = carrier.stores(data)
    return dict(stores.tensors), dict(stores.columns), dict(stores.meta)


def like(data: Any, tensors: dict[str, Any], meta: dict[str, Any] | None = None) -> Any:
    """A result in the kind of what came in."""
    if isinstance(data, TensorDict):
        return tensordict_utils.get_tensordict(tensors, meta or {})
    return VerlDataProto.from_dict(tensors=tensors, meta_info=meta or {})


def computed(data: Any, scale: float = 1.0) -> Any:
    tensors, _, meta = held(data)
    return tensors["rewards"] * meta.get("gamma", 1.0) * meta.get("scale", scale)


class Noting(Worker):
    """Two data-parallel groups of two ranks, of which the first is collected; it notes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self._register_dispatch_collect_info(MESH, dp_rank=self.rank // 2, is_collect=self.rank % 2 == 0)
        self.seen: list[Seen] = []

    def note(self, data: Any, **more: Any) -> None:
        tensors, columns, meta = held(data)
        rewards = tensors.get("rewards")
        rows = None if rewards is None else [float(row[0]) for row in rewards.unbind()]
        names = [sorted(store) for store in (tensors, columns, meta)]
        self.seen.append({"kind": type(data).__name__, "names": names, "rows": rows, **more})

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def told(self) -> list[Seen]:
        seen, self.seen = self.seen, []
        return seen


class Critic(Noting):
    """Methods under contract, and what may stand above and below."""

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name=MESH))
    def without_contract(self, data: Any) -> Any:
        self.note(data)
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def compute_values(self, data: Any) -> Any:
        self.note(data, scale=held(data)[2]["scale"])
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def takes_its_argument(self, data: Any, scale: float, times: int = 1) -> Any:
        self.note(data, scale=scale, times=times)
        return like(data, {"values": computed(data, scale) * times})

    @register(dispatch_mode=contract_dispatch(ComputeValues))
    def on_every_worker(self, data: Any) -> Any:
        self.note(data)
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH), blocking=False)
    def later(self, data: Any) -> Any:
        self.note(data)
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH), blocking=False)
    def wrong_later(self, data: Any) -> Any:
        return like(data, {"values": computed(data).double()})

    @register(dispatch_mode=contract_dispatch(Losses, mesh_name=MESH))
    def losses(self, data: Any) -> Any:
        self.note(data, values=held(data)[0]["values"][:, 0].tolist())
        return like(data, {"values": held(data)[0]["values"] + 1}, {"metrics": {"loss": 0.5}})

    @register(dispatch_mode=contract_dispatch(Losses, mesh_name=MESH), materialize_futures=False)
    def takes_a_future(self, data: Any) -> Any:
        self.seen.append({"kind": type(data).__name__})
        data = data.get()
        return like(data, {"values": held(data)[0]["values"] + 1}, {"metrics": {"loss": 0.5}})

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name=MESH))
    def plain_losses(self, data: Any) -> Any:
        return like(data, {"values": held(data)[0].get("values", held(data)[0].get("doubled")) + 1})

    @register(dispatch_mode=contract_dispatch(Neutral, mesh_name=MESH))
    def neutral(self, data: Any) -> Any:
        self.note(data)
        return like(data, {"doubled": held(data)[0]["rewards"] * 2})

    @register(dispatch_mode=contract_dispatch(Neutral, mesh_name=MESH), blocking=False)
    def neutral_later(self, data: Any) -> Any:
        return like(data, {"doubled": held(data)[0]["rewards"] * 2})

    @register(dispatch_mode=contract_dispatch(Generate, mesh_name=MESH))
    def generate(self, data: Any) -> Any:
        return like(data, {"responses": held(data)[0]["rewards"].repeat_interleave(2, dim=0)})

    @register(dispatch_mode=contract_dispatch(Advantage, mesh_name=MESH))
    def advantage(self, data: Any) -> Any:
        return like(data, {"advantages": held(data)[0]["rewards"]})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def returns_its_input(self, data: Any) -> Any:
        (data if isinstance(data, TensorDict) else data.batch)["values"] = computed(data)
        return data

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def no_output(self, data: Any) -> None:
        self.note(data)

    # --- stacked ---

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    @stage(ComputeValues)
    def below_register(self, data: Any, scale: float) -> Any:
        self.note(data, scale=scale)
        return like(data, {"values": computed(data, scale)})

    @stage(ComputeValues)
    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def above_register(self, data: Any) -> Any:
        self.note(data, scale=held(data)[2]["scale"])
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    @tqbridge()
    @stage
    def typed(self, batch: ComputeValues.Reads) -> ComputeValues.Writes:
        return ComputeValues.Writes(values=batch.rewards * batch.gamma * batch.scale)

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    @stage(ComputeValues)
    @tqbridge()
    def above_bridge(self, data: Any) -> Any:
        self.note(data)
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    @stage(ComputeValues)
    def peeks(self, data: Any) -> Any:
        held(data)
        (data if isinstance(data, TensorDict) else data.batch).get("pixels", None)

    @register(dispatch_mode=contract_dispatch(Losses, mesh_name=MESH))
    @stage(ComputeValues)
    def of_two_contracts(self, data: Any) -> Any:
        """Never called: the two must be one."""

    # --- what goes wrong ---

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def writes_more(self, data: Any) -> Any:
        return like(data, {"values": computed(data), "norms": torch.ones(len(data))})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def too_wide(self, data: Any) -> Any:
        return like(data, {"values": torch.ones(len(data), 9)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def changes_its_input(self, data: Any) -> Any:
        rewards = held(data)[0]["rewards"]
        return like(data, {"values": rewards, "rewards": rewards + 1})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    def raises(self, data: Any) -> Any:
        raise RuntimeError("not today")


class AsyncCritic(Noting):
    """Coroutine functions, as verl's rollout has them."""

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    async def compute_values(self, data: Any) -> Any:
        await asyncio.sleep(0)
        return like(data, {"values": computed(data)})

    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    @stage(ComputeValues)
    async def below_register(self, data: Any, scale: float) -> Any:
        await asyncio.sleep(0)
        return like(data, {"values": computed(data, scale)})

    @stage(ComputeValues)
    @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name=MESH))
    async def above_register(self, data: Any) -> Any:
        await asyncio.sleep(0)
        return like(data, {"values": computed(data)})


class QueueCritic(Noting):
    """Called with the metas of TransferQueue, as verl's newer trainer does."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[list[str]] = []
        fetch = AsyncTransferQueueClient.async_get_data

        async def counted(client: Any, meta: Any, *args: Any, **kwargs: Any) -> Any:
            self.fetched.append(list(meta.field_names))
            return await fetch(client, meta, *args, **kwargs)

        AsyncTransferQueueClient.async_get_data = counted  # type: ignore[method-assign]

    def of_first_rank(self, result: Any) -> Any:
        """As in verl's own workers: verl 0.9.1 cannot make the empty meta that it wants to answer for the others."""
        return result if self.query_collect_info(MESH) else None

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def told_fetched(self) -> list[list[str]]:
        fetched, self.fetched = self.fetched, []
        return fetched

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def need_collect(self, method: str) -> bool:
        registered = getattr(getattr(type(self), method), MAGIC_ATTR)
        needed: bool = _compute_need_collect(registered["dispatch_mode"], [self])
        return needed

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name=MESH))
    def without_contract(self, data: TensorDict) -> TensorDict | None:
        self.note(data)
        return self.of_first_rank(like(data, {"values": data["rewards"] * 2}))

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    def infer(self, data: TensorDict) -> TensorDict | None:
        self.note(data, uid=list(held(data)[1]["uid"]))
        return self.of_first_rank(like(data, {"values": data["rewards"] * 2}))

    @register(dispatch_mode=contract_dispatch(InferValues), blocking=False)
    def infer_later(self, data: TensorDict) -> TensorDict:
        made: TensorDict = like(data, {"values": data["rewards"] * 2})
        return made

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    @stage(InferValues)
    def below_register(self, data: TensorDict, entropy: bool) -> TensorDict | None:
        self.note(data, entropy=entropy)
        return self.of_first_rank(like(data, {"values": data["rewards"] * 2}))

    @stage(InferValues)
    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    def above_register(self, data: TensorDict) -> TensorDict | None:
        self.note(data, entropy=tensordict_utils.get_non_tensor_data(data, "entropy", None))
        return self.of_first_rank(like(data, {"values": data["rewards"] * 2}))

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    @stage(InferValues)
    @tqbridge()
    def above_bridge(self, data: TensorDict) -> TensorDict | None:
        self.note(data, entropy=tensordict_utils.get_non_tensor_data(data, "entropy", None))
        return self.of_first_rank(like(data, {"values": data["rewards"] * 2}))

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    @tqbridge()
    @stage
    def typed(self, batch: InferValues.Reads) -> InferValues.Writes | None:
        made: InferValues.Writes | None = self.of_first_rank(InferValues.Writes(values=batch.rewards * 2))
        return made

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    @stage(InferValues)
    def peeks(self, data: TensorDict) -> Any:
        return data["pixels"]

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    def writes_more(self, data: TensorDict) -> TensorDict | None:
        return self.of_first_rank(like(data, {"values": data["rewards"] * 2, "norms": torch.ones(len(data))}))

    @register(dispatch_mode=contract_dispatch(InferValues, mesh_name=MESH))
    def writes_another(self, data: TensorDict) -> TensorDict | None:
        return self.of_first_rank(like(data, {"value": data["rewards"] * 2}))

    @register(dispatch_mode=contract_dispatch(Update, mesh_name=MESH))
    def update(self, data: TensorDict) -> TensorDict | None:
        return self.of_first_rank(tensordict_utils.get_tensordict({}, {"metrics": {"rows": len(data)}}))
