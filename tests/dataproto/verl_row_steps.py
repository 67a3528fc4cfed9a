"""Operations on rows, with arguments that fit a batch, to be done alike on our `DataProto` and on verl's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from batchpact.dataproto import DataProtoConfig
from tests.dataproto.verl_step import Given, Step, first_of


def index(rng: random.Random, given: Given) -> Step:
    count = len(given.rows)
    kind = rng.choice(["list", "tuple", "array", "int32 array", "tensor", "mask list", "mask array", "mask tensor"])
    mask = [rng.random() < 0.5 for _ in given.rows]
    numbers = [rng.randrange(-count, count) for _ in range(rng.randint(0, 5)) if count]
    outside = not kind.startswith("mask") and rng.random() < 0.1
    item: Any = mask if kind.startswith("mask") else numbers + [count] * outside
    rows = [row for row in given.rows if mask[row]] if item is mask else [given.rows[row] for row in numbers]
    if kind.endswith("array"):
        item = np.array(item, dtype=bool if kind == "mask array" else np.int32 if kind == "int32 array" else np.int64)
    elif kind.endswith("tensor"):
        item = torch.tensor(item, dtype=torch.bool if kind == "mask tensor" else torch.int64)
    elif kind == "tuple":
        item = tuple(item)
    differs = first_of(
        (outside and (kind == "tuple" or given.held or given.columns), None),
        (outside, "index-nothing"),
        (kind == "tuple", "index-tuple"),
        (given.jagged, "jagged-index"),
    )
    return Step(f"[{item!r}]", lambda data, _: [data[item], data.select_idxs(item)], [rows, rows], differs=differs)


def one_row(rng: random.Random, given: Given) -> Step:
    row = rng.randrange(-len(given.rows) - 1, len(given.rows) + 1)
    differs = "index-nothing" if given.bare and not given.columns else None
    return Step(f"[{row}]", lambda data, _: [data[row]], final=True, differs=differs)


def slices(rng: random.Random, given: Given) -> Step:
    cut = slice(rng.choice([None, -2, 0, 1, 3]), rng.choice([None, -1, 2, 9]), rng.choice([None, 1, 2, -1]))
    rows = given.rows[cut]
    differs = "slice-backwards" if cut.step == -1 and given.held else None
    return Step(
        f"[{cut}]", lambda data, _: [data[cut], data.slice(cut.start, cut.stop, cut.step)], [rows] * 2, differs=differs
    )


def chunk(rng: random.Random, given: Given) -> Step:
    count = len(given.rows)
    parts = rng.choice([parts for parts in range(1, count + 1) if count % parts == 0] or [1, 3])
    parts += rng.random() < 0.2  # which mostly does not divide the rows
    rows = [part.tolist() for part in np.array_split(np.arange(count), parts)]
    # A TensorDict is cut as torch.chunk does it, which makes as many parts as it can of the size of the first.
    theirs = [len(part) for part in torch.arange(count).chunk(parts)]
    auto = DataProtoConfig.auto_padding_key in given.meta and not given.bare
    differs = "chunk-auto-padding" if auto and theirs != [len(part) for part in rows] else None
    return Step(f"chunk({parts})", lambda data, _: data.chunk(parts), rows, differs=differs)


def split(rng: random.Random, given: Given) -> Step:
    size = rng.randint(1, 4)
    rows = [given.rows[start : start + size] for start in range(0, len(given.rows), size)] or [[]]
    differs = None if given.rows else "split-no-rows"
    return Step(f"split({size})", lambda data, _: data.split(size), rows, differs=differs)


def repeat(rng: random.Random, given: Given) -> Step:
    times, interleave = rng.randint(1, 3), rng.random() < 0.5
    rows = [row for row in given.rows for _ in range(times)] if interleave else given.rows * times
    differs = "jagged-repeat" if given.jagged else None
    return Step(
        f"repeat({times}, {interleave})", lambda data, _: [data.repeat(times, interleave)], [rows], differs=differs
    )


def repeat_each(rng: random.Random, given: Given) -> Step:
    numbers = [rng.randrange(3) for _ in given.rows]
    kinds: list[Callable[[list[int]], Any]] = [list, tuple, np.array, torch.tensor]
    times = rng.choice(kinds)(numbers)
    rows = [row for row in given.rows for _ in range(numbers[row])]
    differs = first_of((given.jagged, "jagged-repeat"), (not given.rows and not given.bare, "repeat-no-rows"))
    return Step(
        f"sample_level_repeat({times!r})", lambda data, _: [data.sample_level_repeat(times)], [rows], differs=differs
    )


def reorder(rng: random.Random, given: Given) -> Step:
    order = rng.sample(given.rows, len(given.rows))
    item = torch.tensor(order, dtype=torch.int64)
    differs = "no-tensors" if given.bare else None
    return Step(
        f"reorder({order})", lambda data, _: [data.reorder(item) or data], [order], in_place=True, differs=differs
    )


def concat(rng: random.Random, given: Given) -> Step:
    cuts = [slice(None), slice(0, 1), slice(1, None), slice(0, 0)]
    chosen = [rng.choice(cuts) for _ in range(rng.randint(1, 3))]
    rows = [row for cut in chosen for row in given.rows[cut]]
    return Step(
        f"concat of {chosen}",
        lambda data, _: [type(data).concat([data[cut] for cut in chosen])],
        [rows],
        differs=given.merging(len(chosen)),
    )


def pad(rng: random.Random, given: Given) -> Step:
    divisor = rng.randint(1, 7)
    count = -len(given.rows) % divisor
    rows = [row % len(given.rows) for row in range(len(given.rows) + count)] if given.rows else []
    return Step(
        f"pad_dataproto_to_divisor({divisor})",
        lambda data, module: [module.pad_dataproto_to_divisor(data, divisor)[0]],
        [rows],
        [given.padded(count)],
        differs=given.merging(2) if count else None,
    )


def unpad(rng: random.Random, given: Given) -> Step:
    count = rng.randint(0, 2)
    marked = given.rows if given.pads is None else [row for row in given.rows if given.pads[row]]
    removed = marked[len(marked) - count :] if 0 < count <= len(marked) else []
    rows = [row for row in given.rows if row not in removed]
    left = None if given.pads is None or sum(given.pads) == len(removed) else [given.pads[row] for row in rows]
    return Step(
        f"unpad_dataproto({count})",
        lambda data, module: [module.unpad_dataproto(data, count)],
        [rows],
        [left],
        differs=first_of(
            (given.pads is None and count > len(marked), "unpad-too-many"),
            (count > len(marked), "unpad-marks"),
            (given.texts(rows) != given.texts(given.rows[: len(given.rows) - count]), "unpad-marks"),
        ),
    )


def padding(rng: random.Random, given: Given) -> Step:
    size, candidate = rng.randint(0, 2) if given.rows else 0, rng.choice(["first", "last", ""])
    row = 0 if candidate == "first" else len(given.rows) - 1
    differs = first_of((given.jagged, "jagged-index"), (given.unequal_meta, "concat-nan"))
    return Step(
        f"padding({size}, {candidate!r})",
        lambda data, _: [data.padding(size, candidate) or data],
        [given.rows + [row] * size],
        [given.padded(size)],
        in_place=True,
        differs=differs if size else None,
    )


def iterate(rng: random.Random, given: Given) -> Step:
    size = rng.choice([size for size in range(1, len(given.rows) + 1) if len(given.rows) % size == 0] or [2])
    seed, shuffle = rng.choice([None, 5]), rng.random() < 0.5

    def run(data: Any, _: Any) -> list[Any]:
        torch.manual_seed(1)
        return list(data.make_iterator(size, 2, seed=seed, dataloader_kwargs={"shuffle": shuffle}))

    differs = first_of(
        (given.bare, "no-tensors"),
        (not given.rows and shuffle, "iterate-no-rows"),
        (not given.rows, None),
        (given.jagged, "jagged-collate"),
        (given.decaying, "collate-columns"),
    )
    return Step(f"make_iterator({size}, seed={seed}, shuffle={shuffle})", run, final=True, differs=differs)


def collate(rng: random.Random, given: Given) -> Step:
    rows = [rng.choice(given.rows) for _ in range(rng.randint(0, 4))] if given.rows else []
    differs = first_of(
        (not rows, None),
        (given.bare, "no-tensors"),
        (given.jagged, "jagged-collate"),
        (given.decaying, "collate-columns"),
    )
    return Step(
        f"collate_fn of {rows}",
        lambda data, module: [module.collate_fn([data[row] for row in rows])],
        final=True,
        differs=differs,
    )


ROW_STEPS: dict[str, Callable[[random.Random, Given], Step]] = {
    operation.__name__: operation
    for operation in (
        *(index, one_row, slices, chunk, split, repeat, repeat_each, reorder, concat),
        *(pad, unpad, padding, iterate, collate),
    )
}
