"""Fields as they were seen become fields as they may be declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import jaxtyping
import torch
from torch import Tensor

from batchpact.contracts.inferring.cell_types import column_type, common_type, modules_in
from batchpact.contracts.inferring.dims import Axes, adopt
from batchpact.contracts.inferring.drafted import SCHEMAS, Drafted, quoted
from batchpact.contracts.inferring.seen import Seen, Unread
from batchpact.contracts.inferring.sizes import Names, sizes_of
from batchpact.contracts.inferring.vocabulary import Word
from batchpact.schemas.annotations import type_name
from batchpact.schemas.axes import is_dense, is_jagged, ragged_axis, same_size
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.stores import rows_of
from batchpact.schemas.text import by_kind, listed

_VOCABULARY = "batchpact.schemas.rl.fields"
_FAMILIES = ("Float", "Int", "UInt", "Integer", "Complex", "Inexact", "Real", "Num")
_ALIASES: Mapping[PlacementName, str] = {"non_tensor": "NonTensor", "meta": "Meta", "arg": "Arg"}


def draft(fields: Sequence[Seen]) -> list[Drafted]:
    """What may be declared of each of these fields, which share the names of their dims; none has an attribute yet."""
    adopted = adopt(fields)
    rows = Names()
    for seen in fields:
        counts = {batch: rows_of(seen.stores(batch)) for batch in seen.values}
        rows.bind("batch", {batch: number for batch, number in counts.items() if number is not None})
    integers = [seen for seen in fields if any(type(value) is int for value in _without_rows(seen).values())]
    axes = Axes(adopted.names, [seen.key for seen in integers])
    made = []
    for at, seen in enumerate(fields):
        drafted, word = Drafted(seen.key), adopted.words.get(at)
        if word is not None:
            _use(word, seen, drafted)
        else:
            drafted.comments += [adopted.reasons[at]] if at in adopted.reasons else []
            _write_out(seen, drafted, axes)
        made.append(drafted)
    for seen, drafted in zip(fields, made, strict=True):
        if seen in integers and not _is_size(seen, rows if seen.key == "batch" else adopted.names):
            _no_size(drafted)
        _finish(seen, drafted)
    return made


def _without_rows(seen: Seen) -> dict[int, object]:
    return {**seen.placed("meta"), **seen.placed("arg")}


def _is_size(seen: Seen, names: Names) -> bool:
    """Whether an integer is the size of the dim of its name, where there is such a dim."""
    sizes = names.of(seen.key)
    return all(same_size(sizes[batch], value) for batch, value in _without_rows(seen).items() if batch in sizes)  # type: ignore[arg-type]


def _no_size(drafted: Drafted) -> None:
    """Declare an integer so that it does not bind the dim of its name."""
    drafted.kinds = [kind.replace("[int]", "[int | float]") for kind in drafted.kinds]
    drafted.comments.append(f"not int alone, which would say the size of the dim {drafted.key}")


def _use(word: Word, seen: Seen, drafted: Drafted) -> None:
    """Declare a field by a word of the vocabulary."""
    module = word.name.rpartition(".")[0]
    drafted.kind(word.name, (_VOCABULARY, module or word.name))
    drafted.named = word.named
    drafted.dims = _names_in(*(place.dims or "" for place in word.field.places))
    drafted.optional = any(value is None for value in _without_rows(seen).values())


def _write_out(seen: Seen, drafted: Drafted, axes: Axes) -> None:
    """Declare a field by what was seen of it, in each place where it stands."""
    if any(isinstance(value, Unread) for value in seen.values.values()):
        drafted.comments.append("pickled in a file: its values were not read")
    if len(set(seen.places.values())) > 1:
        drafted.comments.append(_listed(seen, {batch: STORE_NAMES[place] for batch, place in seen.places.items()}))
    tensors = seen.placed("tensor")
    if tensors:
        undeclarable = _undeclarable(tensors)
        if undeclarable:
            drafted.comments.append(undeclarable)
            return
        _tensor(seen, drafted, axes)
    columns = seen.placed("non_tensor")
    if columns:
        _typed(drafted, "non_tensor", column_type(columns.values()))
    for placement in ("meta", "arg"):
        values = seen.placed(placement)
        if values:
            given = [value for value in values.values() if value is not None]
            drafted.optional |= len(given) < len(values)
            unread = any(isinstance(value, Unread) for value in given)
            _typed(drafted, placement, Any if unread else common_type(given))
    if seen.source:
        drafted.mark(f"From({quoted(seen.source)})")


def _typed(drafted: Drafted, placement: PlacementName, live: Any) -> None:
    alias, text = _ALIASES[placement], type_name(live)
    imports = [("typing", "Any")] if "Any" in text else []
    drafted.kind(f"{alias}[{text}]", (SCHEMAS, alias), *imports, *((module, "") for module in modules_in(live)))


# --- tensors ---------------------------------------------------------------------------------------------------------


def _undeclarable(tensors: Mapping[int, object]) -> str:
    """Why no field can be these values; empty where one can."""
    odd = next((v for v in tensors.values() if not isinstance(v, Tensor) or not (is_dense(v) or is_jagged(v))), None)
    if odd is not None:
        return f"left out: {describe(odd)} is nothing that a field can declare"
    layouts = {(ragged_axis(v), v.dim()) if is_jagged(v) else None for v in tensors.values() if isinstance(v, Tensor)}
    if len(layouts) > 1:
        return f"left out: {listed([describe(v) for v in tensors.values()], 3)}, and a field has one layout"
    return ""


def _tensor(seen: Seen, drafted: Drafted, axes: Axes) -> None:
    tensors: dict[int, Tensor] = seen.placed("tensor")  # type: ignore[assignment]  # _undeclarable has looked
    family, dtypes = _family(tensors.values()), {tensor.dtype for tensor in tensors.values()}
    if len(dtypes) > 1:
        kinds = {batch: short_name(dtype_name(tensor.dtype)) for batch, tensor in tensors.items()}
        drafted.comments.append(_listed(seen, kinds))
    ranks = {tensor.dim() for tensor in tensors.values()}
    dims = ["batch"]
    if len(ranks) > 1:
        dims.append("...")
        drafted.comments.append(_listed(seen, {batch: f"rank {tensor.dim()}" for batch, tensor in tensors.items()}))
    else:
        plain = parse_dims(" ".join(["batch", *(f"axis{at}" for at in range(1, ranks.pop()))]))
        for at, (_, sizes) in enumerate(sizes_of(seen, plain), start=1):
            name, uncertain = axes.name(at, sizes)
            dims.append(name)
            drafted.comments += [uncertain] if uncertain else []
    drafted.kind(f'{family}[Tensor, "{" ".join(dims)}"]', ("jaxtyping", family), ("torch", "Tensor"))
    drafted.dims = _names_in(" ".join(dims))
    first = next(iter(tensors.values()))
    if is_jagged(first):
        drafted.mark(f"Jagged({quoted(dims[ragged_axis(first)])})")


def _names_in(*shapes: str) -> set[str]:
    found = (dim.as_expression() for shape in shapes for dim in parse_dims(shape)[1:])
    return {name for expression in found if expression is not None for name in expression.names()}


def _family(tensors: Iterable[Tensor]) -> str:
    """Jaxtyping's word for the dtypes of these tensors."""
    names = {dtype_name(tensor.dtype) for tensor in tensors}
    return next((family for family, members in _families() if names <= members), "Shaped")


@cache
def _families() -> list[tuple[str, frozenset[str]]]:
    """Jaxtyping's words with the dtypes that they admit, the narrowest first."""
    words = {word: getattr(getattr(jaxtyping, word), "dtypes", None) for word in dir(jaxtyping)}
    torch_names = {dtype_name(value) for value in vars(torch).values() if isinstance(value, torch.dtype)}
    single = {
        word: frozenset(names) & torch_names
        for word, names in words.items()
        if isinstance(names, tuple) and word not in _FAMILIES
    }
    found = [(word, names) for word, names in single.items() if len(names) == 1]
    return [*found, *((word, frozenset(words[word] or ())) for word in _FAMILIES)]


# --- the rest --------------------------------------------------------------------------------------------------------


def _listed(seen: Seen, kinds: Mapping[int, str]) -> str:
    return by_kind(
        [(batch, kinds[batch]) for batch in seen.values if batch in kinds],
        lambda numbers: f"{'batch' if len(numbers) == 1 else 'batches'} {listed(numbers, 3)}",
    )


def _finish(seen: Seen, drafted: Drafted) -> None:
    """Whether the field may be absent, and when."""
    drafted.default = seen.default
    if seen.when:
        drafted.mark(f"When({seen.when})")
        drafted.imports.add((SCHEMAS, "config"))
    elif seen.optional and drafted.kinds:
        drafted.optional = True
        drafted.comments.append(seen.optional)
