"""Operations on fields and on whole batches, to be done alike on our `DataProto` and on verl's."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.dataproto.support import COLUMNS, TENSORS
from tests.dataproto.verl_step import METAS, Given, Step, first_of, make_fields, plainly_equal


def select(rng: random.Random, given: Given) -> Step:
    keys: list[list[str] | None] = [names if rng.random() < 0.8 else None for names in given.some(rng)]
    absent = keys[rng.randrange(3)] if rng.random() < 0.15 else None
    if absent is not None:
        absent.append("absent")
    bare = given.bare and keys[0] is not None
    differs = first_of(
        (bare and absent is None, "no-tensors"),
        (not bare and absent is not None and absent is not keys[0], "select-absent"),
    )
    deep = rng.random() < 0.5
    return Step(
        f"select({keys}, deepcopy={deep})", lambda data, _: [data.select(*keys, deepcopy=deep)], differs=differs
    )


def pop(rng: random.Random, given: Given) -> Step:
    keys = [names[: rng.randint(0, 2)] for names in given.some(rng)]
    if rng.random() < 0.1:
        keys[rng.randrange(3)].append("absent")
    pads = [given.pads, given.pads if keys[0] or keys[1] else None]
    return Step(f"pop{tuple(keys)}", lambda data, _: [data, data.pop(*keys)], pads=pads, in_place=True)


def rename(rng: random.Random, given: Given) -> Step:
    old = rng.choice([*given.held, "absent"])
    new = rng.choice(["new", old])
    differs = "rename-taken" if old in given.held and new != old and new in given.held else None
    return Step(f"rename({old!r}, {new!r})", lambda data, _: [data.rename(old, new)], in_place=True, differs=differs)


def union_of_new(rng: random.Random, given: Given) -> Step:
    names = [name for name in (*TENSORS, *COLUMNS, *METAS) if rng.random() < 0.2]
    taken = {*given.held, *given.columns, *given.meta}
    mark = next(mark for mark in itertools.count() if not any(name.startswith(f"new{mark}_") for name in taken))
    fields = {
        store: {f"new{mark}_{name}": value for name, value in held.items()}
        for store, held in make_fields(rng.randrange(999), len(given.rows), names).items()
    }
    differs = "no-tensors" if given.bare or not fields["tensors"] else None
    return Step(
        f"union with {fields}",
        lambda data, _: [data.union(type(data).from_dict(**fields))],
        pads=[given.pads_of_rows],
        in_place=True,
        differs=differs,
    )


def union_of_own(rng: random.Random, given: Given) -> Step:
    """With some of the same fields again, themselves or copies."""
    keys, copied = given.some(rng), rng.random() < 0.5
    take: Callable[[Any], Any] = (lambda part: pickle.loads(pickle.dumps(part))) if copied else (lambda part: part)
    tensors = [given.held[key] for key in keys[0]]
    columns = [given.columns[key] for key in keys[1]]
    meta = [given.meta[key] for key in keys[2]]
    differs = first_of(
        (given.bare, "no-tensors"),
        (any(tensor.is_nested for tensor in tensors), "jagged-union"),
        (any(tensor.isnan().any() for tensor in tensors if not tensor.is_nested), "union-nan"),
        (any(not plainly_equal(value, take(value)) for value in meta), "union-nan"),
        (copied and any(cells.dtype.kind == "U" for cells in columns), "union-text"),
        (any(not _counts_as_equal(cell, take(cell)) for cells in columns for cell in cells), "union-nan"),
    )
    return Step(
        f"union with {'copies' if copied else 'parts'} of itself, {keys}",
        lambda data, _: [data.union(take(data.select(*keys)))],
        pads=[given.pads_of_rows],
        in_place=True,
        differs=differs,
    )


def _counts_as_equal(cell: object, other: object) -> bool:
    """Whether verl sees two cells as equal: it looks into arrays, and NaN equals NaN outside of containers."""
    return isinstance(cell, (float, np.ndarray, np.generic)) or plainly_equal(cell, other)


def cut_columns(rng: random.Random, given: Given) -> Step:
    """Cut the second axis of some fields, repeat the others."""
    parts = rng.randint(1, 3)
    fields: dict[str, Any] = {**given.held, **given.columns}
    keys = [
        key
        for key, value in fields.items()
        if not getattr(value, "is_nested", False) and value.ndim > 1 and value.shape[1] % parts == 0
    ]
    rows = [row for row in given.rows for _ in range(parts)]
    return Step(
        f"unfold_column_chunks({parts}, {keys})",
        lambda data, _: [data.unfold_column_chunks(parts, split_keys=keys)],
        None if keys else [rows],
        [given.pads and [given.pads[row] for row in rows]],
        differs="jagged-repeat" if given.jagged else None,
    )


def fold(rng: random.Random, given: Given) -> Step:
    """Fold and unfold again."""
    if given.columns and not given.held and not given.bare:
        return to_cpu(rng, given)  # an empty TensorDict beside columns: what verl does depends on the number of rows
    count = len(given.rows)
    groups = rng.choice([groups for groups in range(1, count + 1) if count % groups == 0] or [1])
    size = count // groups
    marks = [set((given.pads or [])[group * size : (group + 1) * size]) for group in range(groups)]
    differs = first_of(
        (given.jagged, None),
        (any(len(found) > 1 for found in marks), None if given.bare else "fold-padding"),
        (given.bare, "no-tensors"),
    )
    return Step(
        f"fold_batch_dim({groups})",
        lambda data, module: [folded := module.fold_batch_dim(data, groups), module.unfold_batch_dim(folded)],
        final=True,
        differs=differs,
    )


def through_tensordict(rng: random.Random, given: Given) -> Step:
    differs = first_of(
        (not given.held, "no-tensors"),
        (not given.contiguous, "jagged-tensordict"),
        (given.decaying, "collate-columns"),
    )
    return Step(
        "to_tensordict and back",
        lambda data, _: [type(data).from_tensordict(data.to_tensordict())],
        [given.rows],
        [None],
        differs=differs,
    )


def through_one_dict(rng: random.Random, given: Given) -> Step:
    def run(data: Any, _: Any) -> list[Any]:
        tensors = {} if data.batch is None else dict(data.batch.items())
        return [type(data).from_single_dict({**tensors, **data.non_tensor_batch}, data.meta_info)]

    rows = given.rows if given.held or given.columns else []
    return Step("from_single_dict", run, [rows], [None])


def through_pickle(rng: random.Random, given: Given) -> Step:
    protocol = rng.choice([2, 5])
    return Step(f"pickle by {protocol}", lambda data, _: [pickle.loads(pickle.dumps(data, protocol))], [given.rows])


def copied(rng: random.Random, given: Given) -> Step:
    how = rng.choice([copy.copy, copy.deepcopy])
    return Step(how.__name__, lambda data, _: [how(data)], [given.rows])


def to_cpu(rng: random.Random, given: Given) -> Step:
    return Step("to('cpu')", lambda data, _: [data.to("cpu")], [given.rows], in_place=True)


FIELD_STEPS: dict[str, Callable[[random.Random, Given], Step]] = {
    operation.__name__: operation
    for operation in (
        *(select, pop, rename, union_of_new, union_of_own, cut_columns, fold),
        *(through_tensordict, through_one_dict, through_pickle, copied, to_cpu),
    )
}
