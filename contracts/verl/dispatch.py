"""`contract_dispatch`: verl's own worker groups ship what a stage declares, and return what it declares."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from batchpact.contracts.verl.batches import project
from batchpact.contracts.verl.columns import is_meta, select
from batchpact.contracts.verl.futures import checked, is_future, shares
from batchpact.contracts.verl.methods import MethodContract, contract_for, wrong
from batchpact.contracts.verl.returned import Check
from batchpact.dataproto.carriers import carrier_of
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stage import StageSchema
from batchpact.schemas.violations import Violation


def contract_dispatch(stage: type[StageSchema], /, *, mesh_name: str | None = None) -> dict[str, Callable[..., Any]]:
    """A dispatch mode for verl's `@register`: the declared reads are shipped, and what is written is checked.

        @register(dispatch_mode=contract_dispatch(ComputeValues, mesh_name="critic"))
        def compute_values(self, data: DataProto) -> DataProto: ...

    The group is called with verl's `DataProto`, a `TensorDict`, our `DataProto`, a `DataProtoFuture` of verl's, or a
    meta of TransferQueue. The batch is checked, projected to the Reads and cut by verl into a part for each
    data-parallel group of the mesh; what verl collects is checked against the Writes and comes back in the kind of the
    batch. Each method gets a mode of its own.

    Args:
        stage: the contract of the method. Its rows are `"same"` or `"new"`: verl's containers do not say where rows
            come from.
        mesh_name: the mesh that the workers registered by `_register_dispatch_collect_info`; where None, every worker
            is a data-parallel group.

    Raises:
        DeclarationError: if the stage cannot run so.
    """
    if not (isinstance(stage, type) and issubclass(stage, StageSchema)):
        wrong(stage, f"{describe(stage)} where a StageSchema belongs")
    rows = stage.__batchpact__.rows
    if rows.kind not in ("same", "new"):
        wrong(
            stage,
            f"rows = {str(rows)!r}, and verl's containers do not say which row came from where; "
            "rows = 'new' returns whole rows",
        )
    made = _Dispatch(stage, mesh_name)
    return {"dispatch_fn": made.dispatch, "collect_fn": made.collect_fn}


class _Call(int):
    """verl's count of pad rows, which is 0 as pads are removed here; it lives as long as the call, and so does `check`.

    verl calls `dispatch_fn`, the workers and `collect_fn` one after the other in one thread and keeps this number on
    its stack meanwhile. When the call fails, what is known of it goes with the stack.
    """

    check: Callable[[Any], Any]


class _Open(threading.local):
    """The calls of this thread between dispatch and collect, by the mode and the group; none is held by this."""

    def __init__(self) -> None:
        self.calls: WeakValueDictionary[tuple[int, int], Any] = WeakValueDictionary()


_OPEN = _Open()


class _Dispatch:
    """One dispatch mode."""

    def __init__(self, stage: type[StageSchema], mesh_name: str | None) -> None:
        self._stage = stage
        self._mesh_name = mesh_name
        self._found: MethodContract | None = None

    def __reduce__(self) -> tuple[type[_Dispatch], tuple[type[StageSchema], str | None]]:
        return type(self), (self._stage, self._mesh_name)

    @property
    def collect_fn(self) -> Callable[..., Any]:
        """As verl knows its own: by this name and the mesh a rank sees whether it is collected, or need not answer."""
        if self._mesh_name is None:
            return self.collect
        return partial(self.collect_lazy_compute_data_proto, self._mesh_name)

    def dispatch(self, worker_group: Any, /, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What each worker is called with.

        Raises:
            ContractError: if the batch does not keep to the contract, or there is none.
            BatchError: if its rows cannot be shared by the data-parallel groups.
        """
        from verl.protocol import BatchData, _padding_size_key
        from verl.single_controller.base.decorator import dispatch_nd_compute

        contract = self._contract()
        place = self._place(args, kwargs)
        batch = args[place] if isinstance(place, int) else kwargs[place]
        ranks = self._ranks(worker_group)
        groups = max(ranks) + 1
        check: Callable[[Any], Any]
        owned = (worker_group, *args)
        if is_meta(batch):
            selected = select(contract, batch, owned, kwargs)
            parts, check = BatchData(selected.data).chunk(groups), selected.check
        elif is_future(batch):
            parts, check = shares(contract, batch, owned, kwargs, groups), Check(contract)
        else:
            sent = project(contract, batch, owned, kwargs, groups)
            parts = BatchData(sent.data).chunk(groups)
            check = Check.of_call(contract, sent.answers, sent.passage, sent.pads)
        values: dict[int | str, Any] = dict(enumerate(args))
        values.update(kwargs)
        cut = {place: list(parts)}
        for at, value in values.items():
            if at != place and BatchData(value).is_chunkable():
                cut[at] = list(BatchData(value).chunk(groups))
        shared, _ = dispatch_nd_compute(ranks, groups, worker_group, *cut.values())
        sent_to = dict(zip(cut, shared, strict=True))
        whole = {at: sent_to.get(at, [value] * len(ranks)) for at, value in values.items()}
        call = _Call(0)
        call.check = check
        _OPEN.calls[id(self), id(worker_group)] = check
        named = {name: value for name, value in whole.items() if isinstance(name, str)}
        return tuple(whole[at] for at in range(len(args))), {**named, _padding_size_key: call}

    def collect(self, worker_group: Any, output: list[Any]) -> Any:
        """What all workers returned, as one checked result."""
        from verl.single_controller.base.decorator import collect_nd_compute_dataproto

        everyone = [True] * worker_group.world_size
        return self._checked(worker_group, output, partial(collect_nd_compute_dataproto, everyone))

    def collect_lazy_compute_data_proto(self, mesh_name: str, worker_group: Any, output: list[Any]) -> Any:
        """What the collecting ranks of the mesh returned, as one checked result."""
        from verl.single_controller.base.decorator import collect_lazy_compute_data_proto

        return self._checked(worker_group, output, partial(collect_lazy_compute_data_proto, mesh_name))

    def _checked(self, worker_group: Any, output: list[Any], collect: Callable[[Any, list[Any]], Any]) -> Any:
        known = _OPEN.calls.pop((id(self), id(worker_group)), None)
        check = Check(self._contract()) if known is None else known
        whole = None if all(part is None for part in output) else collect(worker_group, output)
        if not is_future(whole):
            return check(whole)
        return checked(whole, check.for_later() if isinstance(check, Check) else check)

    def _contract(self) -> MethodContract:
        if self._found is None:
            self._found = contract_for(self._stage, self._is_mine)
        return self._found

    def _is_mine(self, mode: object) -> bool:
        return isinstance(mode, dict) and getattr(mode.get("dispatch_fn"), "__self__", None) is self

    def _ranks(self, worker_group: Any) -> list[int]:
        """The data-parallel group of each worker, which verl asks once."""
        if self._mesh_name is None:
            return list(range(worker_group.world_size))
        known = worker_group._dispatch_info
        if self._mesh_name not in known:
            known[self._mesh_name] = worker_group._query_dispatch_info(self._mesh_name)
        ranks: list[int] = known[self._mesh_name]
        return ranks

    def _place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | str:
        """Where the batch is: the first argument that is one."""
        for at, value in enumerate(args):
            if _is_batch(value):
                return at
        for key, value in kwargs.items():
            if _is_batch(value):
                return key
        name = self._stage.__batchpact__.name
        actual = f"called with {', '.join(describe(value) for value in (*args, *kwargs.values())) or 'nothing'}"
        expected = "verl's DataProto or DataProtoFuture, a TensorDict, our DataProto, or a meta of TransferQueue"
        violation = Violation(code="BP036", field="batch", actual=actual, expected=expected)
        raise ContractError(f"where stage '{name}' is called", [violation])


def _is_batch(value: object) -> bool:
    return is_meta(value) or is_future(value) or carrier_of(value) is not None
