"""What the rules say is what the compiled check does: batches of one version against the declaration of the other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from jaxtyping import Float, Float32, Float64, Int, Int64, Shaped
from pydantic import Field
from torch import Tensor

from batchpact.contracts.lock.change import Audience, Role
from batchpact.contracts.lock.stages import changed_alone
from batchpact.schemas import (
    BatchSchema,
    Binary,
    DeclarationError,
    Finite,
    Key,
    Meta,
    NonTensor,
    PlaceSpec,
    StageSchema,
)
from batchpact.schemas.batch import BatchSchema as Schema
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values
from tests.contracts.lock.versions import module_of

FOLDER = Path(__file__).parent / "rules"
BOTH: tuple[Role, Role] = ("reads", "writes")

# --- batches ----------------------------------------------------------------------------------------------------------


def accepts(schema: type[BatchSchema], batch: Stores) -> bool:
    """Whether a batch is right under a schema, its values included."""
    return not diagnose(schema.__batchpact__.plan, batch).violations and not check_values(schema, batch)


class Maker:
    """Makes batches that are often right under a schema, and that differ in everything the schema leaves open."""

    def __init__(self, schema: type[BatchSchema], seed: int) -> None:
        self._spec = schema.__batchpact__.spec
        self._random = random.Random(seed)

    def batches(self, count: int) -> Iterator[Stores]:
        for _ in range(count):
            yield self._batch()

    def _batch(self) -> Stores:
        sizes: dict[str, int] = {"batch": self._random.choice([1, 2, 3])}
        stores: dict[str, dict[str, Any]] = {"tensor": {}, "non_tensor": {}, "meta": {}}
        for field in self._spec.fields:
            if not field.required and self._random.random() < 0.4:
                continue
            place = self._random.choice(field.places)
            if place.placement == "tensor":
                stores["tensor"][field.key] = self._tensor(place, sizes)
            elif place.placement == "non_tensor":
                column = np.empty(sizes["batch"], dtype=object)
                column[:] = [self._value(place.type or "") for _ in range(len(column))]
                stores["non_tensor"][field.key] = column
            else:
                stores["meta"][field.key] = self._value(place.type or "")
        return Stores(stores["tensor"], stores["non_tensor"], stores["meta"])

    def _tensor(self, place: PlaceSpec, sizes: dict[str, int]) -> Tensor:
        shape: list[int] = []
        for dim in parse_dims(place.dims or ""):
            if dim.kind == "many":
                shape += [self._random.choice([1, 2]) for _ in range(self._random.choice([0, 1, 2]))]
                continue
            expression = dim.as_expression()
            names = [] if expression is None else list(expression.names())
            for name in names:
                sizes.setdefault(name, self._random.choice([1, 2, 3, 4]))
            size = None if expression is None else expression.evaluate(sizes)
            shape.append(self._random.choice([1, 2, 4]) if size is None else max(size, 0))
        known = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "bool")
        names = [name for name in known if name in place.dtypes]
        dtype = getattr(torch, self._random.choice(names or ["float32", "int64", "bool"]))
        pool = [0.0, 1.0, 2.0, -1.0] + ([0.5, float("nan"), float("inf")] if dtype.is_floating_point else [])
        few = self._random.sample(pool, self._random.choice([1, 2]))
        flat = [self._random.choice(few) for _ in range(int(np.prod(shape)))]
        dense = torch.tensor(flat).to(dtype).reshape(shape)
        return torch.nested.nested_tensor(list(dense), layout=torch.jagged) if place.ragged else dense

    def _value(self, kind: str) -> object:
        pools: dict[str, list[object]] = {
            "str": ["a", "b"],
            "int": [0, 1, 2, -1],
            "float": [0.0, 1.0, 0.5, 2, -1.0, float("nan")],
            "bool": [True, False],
            "None": [None],
            "dict[str, int]": [{}, {"a": 1}],
            "dict[str, float]": [{"a": 1}, {"a": 0.5}],
            "Literal['a', 'sync', 'async']": ["a", "sync"],
            "Literal['sync', 'async']": ["sync", "async"],
        }
        return self._random.choice(pools[self._random.choice(kind.split(" | "))])


# --- random schemas ---------------------------------------------------------------------------------------------------

DTYPES: list[Any] = [Float32, Float64, Int64, Float, Int, Shaped]
DIMS = [
    "batch",
    "batch r",
    "batch t",
    "batch 2",
    "batch n=2",
    "batch _",
    "batch ...",
    "batch *inner",
    "batch r t",
    "batch r r",
    "batch r _",
    "batch r+1",
    "batch r+t",
    "batch ... t",
]
RULES: list[list[Any]] = [
    [],
    [Finite()],
    [Binary()],
    [Field(ge=0)],
    [Field(gt=0)],
    [Field(ge=0, le=1)],
    [Field(le=2)],
    [Finite(), Field(ge=0)],
]
OTHERS: list[Any] = [
    NonTensor[str],
    NonTensor[int],
    NonTensor[float],
    NonTensor[str | None],
    Annotated[NonTensor[str], Key()],
    Annotated[NonTensor[int], Key()],
    Meta[str],
    Meta[int],
    Meta[float],
    Meta[int | str],
    Meta[dict[str, int]],
    Meta[dict[str, float]],
    Meta[Literal["a", "sync", "async"]],
    Meta[Literal["sync", "async"]],
    Meta[float] | Float32[Tensor, "batch"],
]
TENSOR = st.builds(
    lambda dtype, dims, rules: Annotated[(dtype[Tensor, dims], *rules)] if rules else dtype[Tensor, dims],
    st.sampled_from(DTYPES),
    st.sampled_from(DIMS),
    st.sampled_from(RULES),
)
FIELD = st.tuples(st.one_of(TENSOR, TENSOR, st.sampled_from(OTHERS)), st.booleans())
FIELDS = st.dictionaries(st.sampled_from(["a", "b", "c"]), FIELD, max_size=3)


def schema_of(fields: dict[str, tuple[Any, bool]]) -> type[Schema]:
    """A schema of these fields, each with whether it is optional.

    Two names of arithmetic have to be bound by fields that are always there; else some batches are refused for what
    they do not hold, and every change of an optional field might break somebody.
    """
    note(f"{fields}")
    required = {key: field for key, field in fields.items() if not field[1]}
    try:
        for key, (kind, _) in fields.items():
            reads = _made({**required, key: (kind, False)})
            type("Save", (StageSchema,), {"Reads": reads, "__module__": __name__})  # refuses what nothing binds
        return _made(fields)
    except DeclarationError:
        assume(False)
        raise


def _made(fields: dict[str, tuple[Any, bool]]) -> type[Schema]:
    annotations = {key: kind | None if optional else kind for key, (kind, optional) in fields.items()}
    defaults = {key: None for key, annotation in annotations.items() if type(None) in get_args(annotation)}
    body = {"__annotations__": annotations, "__module__": __name__, "__qualname__": "Saved", **defaults}
    return type("Saved", (BatchSchema,), body)


@st.composite
def versions(draw: st.DrawFn) -> tuple[type[Schema], type[Schema]]:
    """Two schemas, of which the second is most often the first with a change or two."""
    old = draw(FIELDS)
    if draw(st.booleans()):
        return schema_of(old), schema_of(draw(FIELDS))
    new = {key: field for key, field in old.items() if draw(st.integers(0, 9))}
    new.update(draw(st.dictionaries(st.sampled_from(["a", "b", "c"]), FIELD, max_size=1)))
    return schema_of(old), schema_of(new)


def broken(old: type[Schema], new: type[Schema]) -> set[Audience]:
    """Whom the changes of a schema break that batches are saved under."""
    found = changed_alone(old.__batchpact__.spec, new.__batchpact__.spec, "schema 'Saved'", BOTH)
    return {audience for change in found for audience in change.breaks}


def misfit(written: type[Schema], read: type[Schema], seed: int, count: int = 60) -> Stores | None:
    """A batch that is right where it was written and not where it is read."""
    for batch in Maker(written, seed).batches(count):
        if accepts(written, batch) and not accepts(read, batch):
            return batch
    return None


SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


@SLOW
@given(versions(), st.integers(0, 1000))
def test_where_old_data_is_said_to_be_safe_new_readers_accept_it(
    both: tuple[type[Schema], type[Schema]], seed: int
) -> None:
    old, new = both
    if "old data" not in broken(old, new):
        assert misfit(old, new, seed) is None


@SLOW
@given(versions(), st.integers(0, 1000))
def test_where_new_data_is_said_to_be_safe_old_readers_accept_it(
    both: tuple[type[Schema], type[Schema]], seed: int
) -> None:
    old, new = both
    if "new data" not in broken(old, new):
        assert misfit(new, old, seed) is None


@SLOW
@given(FIELDS)
def test_a_schema_does_not_differ_from_itself(fields: dict[str, tuple[Any, bool]]) -> None:
    spec = schema_of(fields).__batchpact__.spec

    assert list(changed_alone(spec, spec, "schema 'Saved'", BOTH)) == []


@SLOW
@given(FIELDS, FIELDS, FIELDS)
def test_two_safe_steps_are_one_safe_step(
    first: dict[str, tuple[Any, bool]], second: dict[str, tuple[Any, bool]], third: dict[str, tuple[Any, bool]]
) -> None:
    """But for a field that goes and comes back as something else, which no step of the two can see."""
    assume((first.keys() & third.keys()) <= second.keys())
    one, two, three = map(schema_of, (first, second, third))

    assert broken(one, three) <= broken(one, two) | broken(two, three)


@SLOW
@given(versions())
def test_back_is_the_mirror_image(both: tuple[type[Schema], type[Schema]]) -> None:
    """What breaks old data on the way there breaks new data on the way back."""
    old, new = both
    there, back = broken(old, new), broken(new, old)

    assert ("old data" in there) == ("new data" in back)
    assert ("new data" in there) == ("old data" in back)


# --- every break is a real one ----------------------------------------------------------------------------------------

ON_BATCHES = [
    "field-added",
    "field-became-required",
    "key-renamed",
    "place-narrowed",
    "place-replaced",
    "dtype-narrowed",
    "dtype-replaced",
    "type-narrowed",
    "type-replaced",
    "dims-narrowed",
    "dims-replaced",
    "layout-replaced",
    "values-narrowed",
    "values-replaced",
    "row-rule-added",
    "row-rule-replaced",
    "key-narrowed",
    "key-replaced",
]
"""Rules about what a batch may hold, which break old data."""
TO_READERS = [
    "field-removed",
    "field-became-optional",
    "key-renamed",
    "place-widened",
    "place-replaced",
    "dtype-widened",
    "dtype-replaced",
    "type-widened",
    "type-replaced",
    "dims-widened",
    "dims-replaced",
    "layout-replaced",
    "values-widened",
    "values-replaced",
    "row-rule-removed",
    "row-rule-replaced",
    "key-widened",
    "key-replaced",
]
"""Rules about what a batch may hold, which break new data."""


@pytest.mark.parametrize("rule", ON_BATCHES)
def test_a_break_of_old_data_can_be_shown(rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some batch that the old Reads accept is refused by the new ones."""
    old, new = (read_rule(rule, version, monkeypatch, tmp_path) for version in ("old", "new"))

    assert misfit(old.Reads, new.Reads, seed=0, count=500) is not None


@pytest.mark.parametrize("rule", TO_READERS)
def test_a_break_of_new_data_can_be_shown(rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some batch that the new Writes accept is refused by the old ones."""
    old, new = (read_rule(rule, version, monkeypatch, tmp_path) for version in ("old", "new"))

    assert misfit(new.Writes, old.Writes, seed=0, count=500) is not None


def read_rule(rule: str, version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    source = (FOLDER / rule / f"{version}.py").read_text(encoding="utf-8")
    return module_of(source, monkeypatch, tmp_path / version).Score
