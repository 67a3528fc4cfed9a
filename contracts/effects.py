"""What a stage did: which fields it wrote, and what it did that its contract does not allow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import torch

from batchpact.schemas.declared import sources_words
from batchpact.schemas.describe import describe_in_store
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

Version: TypeAlias = "tuple[str, torch.Tensor, int]"


class Written(NamedTuple):
    """The fields that a stage wrote, the ones that it should not have, and what is wrong with these."""

    fields: Stores
    unasked: Stores
    violations: list[Violation]

    def together(self) -> Stores:
        """Both kinds of fields: a misspelt name is the closest one to the name that is missing."""
        if not self.violations:
            return self.fields
        return Stores(*({**own, **other} for own, other in zip(self.fields[:3], self.unasked[:3], strict=True)))


def versions(tensors: Mapping[str, object], keys: Collection[str]) -> list[Version]:
    """The version counters of tensors before a stage runs. Inference tensors have none and are left out."""
    found: list[Version] = []
    for key in keys:
        tensor = tensors.get(key)
        if isinstance(tensor, torch.Tensor):
            try:
                found.append((key, tensor, tensor._version))
            except RuntimeError:
                continue
    return found


class Effects:
    """Judges what one stage did.

    Args:
        reads: what the stage reads.
        writes: what it writes.
        off: fields that it does not write in this configuration, each with the condition that does not hold.
    """

    def __init__(self, reads: SchemaSpec, writes: SchemaSpec, off: Mapping[str, str]) -> None:
        self._off = off
        self._read = frozenset(field.key for field in reads.fields)
        self._declared = frozenset(field.key for field in writes.fields)
        self._open = writes.extra == "allow"
        self._sources = sources_words(writes.columns)

    def changed_in_place(self, before: Sequence[Version], source: Stores) -> list[Violation]:
        """Inputs whose version counter moved while the stage ran.

        Views of one tensor share a counter. Where a field that the stage rewrites shares it with an input, nothing can
        be told about the input, and nothing is.
        """
        moved = [(key, tensor) for key, tensor, version in before if tensor._version != version]
        if not moved:
            return []
        rewritten = {_memory(source.tensors.get(key)) for key in self._read & self._declared} - {None}
        return [
            Violation(
                code="BP031",
                field=key,
                placement="tensor",
                actual="changed in place",
                expected="the stage reads it and does not write it",
                hint="work on a clone, or declare it in Writes; a tensor that shares its memory may be the one",
            )
            for key, tensor in moved
            if _memory(tensor) not in rewritten
        ]

    def other_rows(self, fields: Stores, rows: int | None) -> list[Violation]:
        """Fields of an open Writes that nothing declares and that have other rows than the result."""
        if not self._open or rows is None:
            return []
        return [
            Violation(
                code="BP012",
                field=key,
                placement=placement,
                actual=describe_in_store(value, placement),
                expected=f"nowhere; the result has {count(rows, 'row')}",
            )
            for placement, store in fields.by_placement()
            for key, value in store.items()
            if placement in ("tensor", "non_tensor") and key not in self._declared and _length(value) != rows
        ]

    def written(
        self, result: Stores, source: Stores, given: Mapping[str, object], *, rows_differ: bool, whole: bool
    ) -> Written:
        """Sort the fields of a result into what was written, what was only passed on, and what must not be there.

        Args:
            result: what the stage returned.
            source: the caller's batch.
            given: arguments and defaults that stood in the handed-out meta.
            rows_differ: whether the result has other rows, so that fields that were read come back as other objects.
            whole: whether the stage was handed fields that it does not declare.
        """
        fields, unasked = Stores({}, {}, {}), Stores({}, {}, {})
        violations: list[Violation] = []
        for placement, store in result.by_placement():
            if not store:
                continue
            before, out = source.store(placement), fields.store(placement)
            for key, value in store.items():
                if key in self._declared:
                    # Handed the whole batch, a stage also returns what it never touched.
                    untouched = whole and key not in self._read and _passed_on(key, value, before, given)
                    if not untouched:
                        out[key] = value  # type: ignore[index]
                elif _passed_on(key, value, before, given) or (rows_differ and (key in self._read or whole)):
                    continue
                elif key in self._read:
                    violations.append(_changed(key, placement))
                elif self._open:
                    out[key] = value  # type: ignore[index]
                else:
                    unasked.store(placement)[key] = value  # type: ignore[index]
                    violations.append(_unasked(key, placement, value, self._off.get(key), self._sources))
        return Written(fields, unasked, violations)


def _passed_on(key: str, value: object, before: Mapping[str, object], given: Mapping[str, object]) -> bool:
    return (key in before and _same(value, before[key])) or (key in given and given[key] is value)


def _changed(key: str, placement: PlacementName) -> Violation:
    return Violation(
        code="BP031",
        field=key,
        placement=placement,
        actual="returned with another value",
        expected="the stage reads it and does not write it",
        hint="declare it in Writes too, or leave it out of the result",
    )


def _unasked(key: str, placement: PlacementName, value: object, condition: str | None, sources: str) -> Violation:
    off = condition is not None
    expected = "its Writes do not declare it" + (f", and {sources} does not name it" if sources else "")
    return Violation(
        code="BP004",
        field=key,
        placement=placement,
        actual=f"returned {describe_in_store(value, placement)}",
        expected=f"it is written where {condition}, and that does not hold" if off else expected,
        hint="" if off else "declare it, leave it out of the result, or set extra='allow' on Writes",
    )


def graphs(fields: Stores) -> list[Violation]:
    """Results that carry an autograd graph: tensors, and meta values that are one or a dict with one in it."""
    found: list[tuple[str, PlacementName, str]] = [
        (key, "tensor", "it carries an autograd graph") for key, tensor in fields.tensors.items() if _has_graph(tensor)
    ]
    for key, value in fields.meta.items():
        if _has_graph(value):
            found.append((key, "meta", "it carries an autograd graph"))
        elif isinstance(value, dict):
            for name in (name for name, part in value.items() if _has_graph(part)):
                found.append((key, "meta", f"[{name!r}] carries an autograd graph"))
    return [
        Violation(
            code="BP032",
            field=key,
            placement=placement,
            actual=actual,
            expected="a result is a value",
            hint="run under torch.no_grad(), detach it, or declare graph = 'allow'",
        )
        for key, placement, actual in found
    ]


def _length(value: object) -> int | None:
    """The rows of a tensor or a column; None for anything that has none."""
    if isinstance(value, (torch.Tensor, np.ndarray)) and value.ndim:
        return int(value.shape[0])
    return None


def _has_graph(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _memory(tensor: object) -> int | None:
    """The memory that a tensor shares its version counter over; None where there is none to speak of."""
    if not isinstance(tensor, torch.Tensor) or tensor.is_nested or tensor.device.type == "meta":
        return None
    return tensor.untyped_storage().data_ptr() or None


def _same(value: object, before: object) -> bool:
    """Whether a value is the one that was handed out; a column may be a read-only view of it, or its cells again."""
    if value is before:
        return True
    if not (isinstance(value, np.ndarray) and isinstance(before, np.ndarray)):
        return False
    if value.shape != before.shape or value.dtype != before.dtype:
        return False
    if value.ctypes.data == before.ctypes.data and value.strides == before.strides:
        return True
    return value.dtype == object and all(a is b for a, b in zip(value.flat, before.flat, strict=True))
