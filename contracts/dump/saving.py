"""A broken boundary, saved: the batch, what was returned, and the record. Nothing that fails here hides the error."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

import numpy as np
from tensordict import TensorDictBase
from torch import Tensor

from batchpact.contracts.dump.place import DumpPlace
from batchpact.contracts.dump.record import BESIDE, RECORD, Container, DumpRecord, LeftOut, Part
from batchpact.contracts.reporting import Saving
from batchpact.dataproto.carriers import OURS
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.files.header import Placement
from batchpact.dataproto.files.writing import unwritable
from batchpact.dataproto.preview import one_line
from batchpact.dataproto.sizes import Size as Bytes
from batchpact.dataproto.sizes import deep_size, readable, value_bytes
from batchpact.schemas.axes import Size
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.text import count, sentence

if TYPE_CHECKING:
    from batchpact.contracts.boundary import Boundary
    from batchpact.contracts.passage import Passage

_REFERENCES = 10_000_000

_saved: Counter[str] = Counter()
_counting = Lock()


@dataclass(frozen=True, slots=True)
class Broken:
    """A call whose contract is broken.

    Attributes:
        boundary: its contract.
        passage: what is known of the call.
        side: on which side it broke.
        returned: what the stage returned, where it has.
        sizes: the dims that were known before, where it is the result that was checked.
    """

    boundary: Boundary
    passage: Passage
    side: Literal["reads", "writes"]
    returned: Stores | None = None
    sizes: Mapping[str, Size] | None = None

    def saving(self) -> Saving | None:
        """What saves it; None where nobody wants that."""
        place = self.passage.settings.dump
        return None if place is None else partial(_save, self, place)


def _save(broken: Broken, place: DumpPlace, error: ContractError) -> ContractError:
    """Save a call, if there is room; the note of the error says where, or why not."""
    if not error.note:
        try:
            error.note = _saved_in(broken, place, error)
        except Exception as failure:  # a full disk, a device that is gone: the error itself matters more
            error.note = f"not saved in {place.folder}: {_in_one_line(failure)}"
    return error


def _in_one_line(failure: Exception) -> str:
    if isinstance(failure, ContractError):
        return sentence(failure.violations[0])
    return one_line(f"{type(failure).__name__}: {failure}".partition("\n")[0], 200)


def _saved_in(broken: Broken, place: DumpPlace, error: ContractError) -> str:
    folder = os.path.realpath(place.folder)
    with _counting:
        if _saved[folder] >= place.files:
            there = count(place.files, "file")
            return f"not saved in {place.folder}: this process has put {there} there (BATCHPACT_DUMP_LIMIT)"
        _saved[folder] += 1
    try:
        os.makedirs(folder, exist_ok=True)
        path = Path(folder, _file_name(broken, error))
        _Dump(broken, place.mib * 2**20).write(path, error)
    except BaseException:
        with _counting:
            _saved[folder] -= 1
        raise
    where = "" if _worker_rank() is None else f" on node {platform.node()}"
    return f"saved in {path}{where}; batchpact replay shows it again"


def _file_name(broken: Broken, error: ContractError) -> str:
    """`critic-BP005-step7-rank0-1f3a....safetensors`; no two processes ever choose the same."""
    step, rank = broken.passage.step, _rank()
    parts = [
        re.sub(r"[^\w.]+", "_", broken.boundary.name)[:80],
        error.violations[0].code,
        *([] if step is None else [f"step{step}"]),
        *([] if rank is None else [f"rank{rank}"]),
        uuid4().hex[:12],
    ]
    return f"{'-'.join(parts)}.safetensors"


class _Dump:
    """One file in the making: every field goes into the batch, beside it, or is left out."""

    def __init__(self, broken: Broken, most: int) -> None:
        self._broken = broken
        self._left = most
        self._left_out: list[LeftOut] = []
        self._batch = Stores({}, {}, {})
        self._beside: dict[Part, dict[PlacementName, dict[str, object]]] = {}

    def write(self, path: Path, error: ContractError) -> None:
        """Write the file.

        Raises:
            BatchError: if the disk is full.
            OSError: as the operating system says.
        """
        passage = self._broken.passage
        rows = rows_of(passage.source)
        wrong = {violation.field for violation in error.violations}
        # What is wrong comes first, and then as many fields as there is room for.
        fields = [(*field, _size(field[-1])) for field in self._fields()]
        for part, placement, key, value, size in sorted(
            fields, key=lambda field: (field[2] not in wrong, field[-1].bytes)
        ):
            self._take(part, placement, key, value, size, rows)
        source = passage.source
        self._batch = Stores(
            *(
                {key: own[key] for key in held if key in own}
                for held, own in zip(source[:3], self._batch[:3], strict=True)
            )
        )
        meta = {**self._batch.meta, RECORD: self._record(error).canonical()}
        if self._beside:
            meta[BESIDE] = self._beside
        made: DataProto = OURS.make(DataProto(), self._batch._replace(meta=meta), rows)
        if isinstance(passage.batch, DataProto):
            made._writers = {key: name for key, name in passage.batch._writers.items() if key in made.stores().names()}
        pads = None if passage.carrier is None else passage.carrier.pads(passage.batch)
        if pads is not None and len(pads) == len(made):
            made._marks = made._marks._replace(pads=pads)
        made.save_to_disk(path)

    def _fields(self) -> Iterator[tuple[Part, PlacementName, str, object]]:
        passage = self._broken.passage
        parts: dict[Part, Stores] = {
            "read": passage.source._replace(args={}),
            "filled": Stores({}, {}, passage.filled.meta),
            "brought": Stores({}, {}, {}, passage.filled.args),
            "returned": self._broken.returned or Stores.empty(),
        }
        for part, stores in parts.items():
            for placement, held in stores.by_placement():
                for key, value in held.items():
                    yield part, placement, key, value

    def _take(
        self, part: Part, placement: PlacementName, key: str, value: object, size: Bytes, rows: int | None
    ) -> None:
        fits = part == "read" and _fits(placement, value, rows) and self._batch.find(key) is None
        if size.bytes > self._left or not size.whole:
            why = f"{size}, and {readable(self._left)} are left of the size of a file (BATCHPACT_DUMP_MIB)"
        else:
            wrong = unwritable(cast("Placement", placement) if fits else "meta", key, value, rows or 0)
            why = "; ".join(violation.actual for violation in wrong)
        if why:
            named = key if isinstance(key, str) else one_line(repr(key))
            self._left_out.append(LeftOut(part=part, placement=placement, key=named, why=why))
            return
        self._left -= size.bytes
        store = self._batch.store(placement) if fits else self._beside.setdefault(part, {}).setdefault(placement, {})
        store[key] = value  # type: ignore[index]  # all of them are dicts

    def _record(self, error: ContractError) -> DumpRecord:
        broken = self._broken
        boundary, passage = broken.boundary, broken.passage
        known = broken.sizes
        return DumpRecord(
            stage=boundary.spec,
            boundary=broken.side,
            subject=error.subject,
            violations=error.violations,
            dims=error.dims,
            level=passage.level,
            sizes=None if known is None else {name: size for name, size in known.items() if isinstance(size, int)},
            history={} if passage.carrier is None else dict(passage.carrier.history(passage.batch)),
            container=_container(passage.batch),
            returned={
                one_line(str(key)): describe(value)
                for _, held in (broken.returned or Stores.empty()).by_placement()
                for key, value in held.items()
            },
            left_out=tuple(self._left_out),
            step=passage.step,
            rank=_rank(),
            node=platform.node(),
            process=os.getpid(),
            time=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )


def _fits(placement: PlacementName, value: object, rows: int | None) -> bool:
    """Whether a batch of so many rows can hold a value in this store."""
    if placement == "tensor":
        return isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == rows
    if placement == "non_tensor":
        return isinstance(value, np.ndarray) and value.ndim > 0 and len(value) == rows
    return placement == "meta"


def _size(value: object) -> Bytes:
    """The bytes of a value; whoever holds a whole trainer in its meta is not to wait for the last of its references."""
    return Bytes(value_bytes(value)) if isinstance(value, Tensor) else deep_size(value, _REFERENCES)


def _container(batch: Any) -> Container:
    if isinstance(batch, DataProto):
        return "DataProto"
    if isinstance(batch, TensorDictBase):
        return "TensorDict"
    return "verl" if hasattr(batch, "non_tensor_batch") else "Reads"


def _rank() -> int | None:
    """The rank of the worker that this is, or that of the process as launchers say it."""
    worker, text = _worker_rank(), os.environ.get("RANK", "")
    return int(text) if worker is None and text.isdigit() else worker


def _worker_rank() -> int | None:
    from batchpact.contracts.workers.worker import this_worker

    try:
        return this_worker().rank
    except RuntimeError:
        return None
