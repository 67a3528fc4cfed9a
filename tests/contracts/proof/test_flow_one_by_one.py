"""A second opinion on the proof: small pipelines, taken through each configuration by a plain loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from random import Random
from typing import Annotated, Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from batchpact.contracts import Pipeline, when
from batchpact.contracts.configuration import of_config
from batchpact.contracts.proof.flow import Flow
from batchpact.schemas import Condition, When, config, meta, present
from batchpact.schemas.condition_specs import SubjectSpec, holds
from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.violations import Violation
from tests.contracts.plans import Fields, PerRow, PerToken, declare, schema

KEYS = ("f0", "f1", "f2", "f3")
VALUES: dict[str, list[Any]] = {"a": [True, False], "b": ["x", None], "c": [0, 1, 5], "d": [1, None]}
ATOMS = [
    config("a"),
    config("b") == "x",
    config("b").is_none(),
    config("c") > 1,
    config("c") < config("d"),
    config("d") >= config("c"),
    meta("m"),
    *(present(key) for key in KEYS[:2]),
]


class Missing(NamedTuple):
    """A field that is not there, or not for certain, for a stage; and the stage that has dropped it, if one has."""

    key: str
    stage: str
    dropped_by: str


def condition(random: Random, depth: int = 2) -> Condition:
    kind = random.choice(["atom", "atom", "not", "and", "or"]) if depth else "atom"
    if kind == "atom":
        return random.choice(ATOMS)
    one = condition(random, depth - 1)
    if kind == "not":
        return ~one
    other = condition(random, depth - 1)
    both = one & other if kind == "and" else one | other
    return both.named(str(both)) if random.random() < 0.4 else both


def fields(random: Random, most: int) -> Fields:
    return {key: annotation(random) for key in random.sample(KEYS, random.randint(0, most))}


def annotation(random: Random) -> Any:
    plain = PerToken if random.random() < 0.2 else PerRow
    chance = random.random()
    return plain | None if chance < 0.15 else Annotated[plain, When(condition(random))] if chance < 0.45 else plain


def stage(random: Random, name: str) -> Any:
    reads, writes = fields(random, 3), fields(random, 2)
    kept = [key for key in KEYS if key not in writes]
    drops = (random.choice(kept),) if kept and random.random() < 0.25 else ()
    made = declare(name, reads, writes, drops=drops)
    return when(condition(random), made) if random.random() < 0.5 else made


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    random = draw(st.randoms(use_true_random=False))
    stages = [stage(random, f"S{at}") for at in range(random.randint(1, 4))]
    outputs = [key for key in KEYS if random.random() < 0.3]
    return Pipeline("plan", inputs=schema("Start", fields(random, 3)), stages=stages, outputs=outputs)


def said(finding: Violation) -> tuple[object, ...]:
    """A finding without its hint, which says in which configurations it is."""
    where = finding.where
    return finding.code, finding.field, where.stage, where.boundary, finding.actual, finding.expected


def within(flow: Flow, points: int) -> Iterator[Violation]:
    """The findings of some configurations."""
    return (finding for finding, broken in zip(flow.findings, flow.broken, strict=True) if broken & points)


@given(pipelines())
@settings(max_examples=25, deadline=None)
def test_a_configuration_alone_has_the_findings_that_all_have_in_it(pipeline: Pipeline) -> None:
    """It may have more that nobody reads: in another configuration somebody does."""
    every = Flow(pipeline.spec, [])
    for values in product(*VALUES.values()):
        look_up = partial(of_config, dict(zip(VALUES, values, strict=True)))
        one = Flow(pipeline.spec, [], look_up)
        points = every.valid & every.space.where(look_up)

        assert one.valid == points
        expected, actual = set(map(said, within(every, points))), set(map(said, one.findings))
        assert expected <= actual
        assert {code for code, *_ in actual - expected} <= {"BP061"}


@given(pipelines())
@settings(max_examples=25, deadline=None)
def test_what_is_missing_is_what_a_plain_loop_misses(pipeline: Pipeline) -> None:
    flow = Flow(pipeline.spec, [])
    chosen = {**VALUES, "m": [True, False], **{key: [True, False] for key in KEYS[:2]}}
    for values in product(*chosen.values()):
        known = dict(zip(chosen, values, strict=True))
        points = flow.space.where(lambda subject, known=known: known[subject.name])  # type: ignore[misc]
        found = {
            Missing(finding.field, str(finding.where.stage), finding.hint.partition("it was there, and dropped by ")[2])
            for finding in within(flow, points)
            if finding.code == "BP001"
        }

        assert points.bit_count() == 1
        assert {one._replace(dropped_by=one.dropped_by.partition(";")[0].strip("'")) for one in found} == set(
            missing(pipeline, known)
        )


def missing(pipeline: Pipeline, known: Mapping[str, Any]) -> Iterator[Missing]:
    """The stages one after the other, in one configuration, over the keys that a batch holds."""
    held: dict[str, bool] = {}  # whether it is there for certain
    gone: dict[str, str] = {}

    def look_up(subject: SubjectSpec) -> object:
        name = subject.name
        return held.get(name, False) or (name in held and known[name]) if subject.source == "present" else known[name]

    def there(found: SchemaSpec) -> list[FieldSpec]:
        return [field for field in found.fields if field.when is None or holds(field.when, look_up)]

    def write(written: list[FieldSpec]) -> None:
        for field in written:
            held[field.key] = field.required or held.get(field.key, False)
            gone.pop(field.key, None)

    write(there(pipeline.spec.inputs))
    for spec in pipeline.spec.stages:
        if spec.when is not None and not holds(spec.when, look_up):
            continue
        for field in there(spec.reads):
            if field.required and not held.get(field.key):
                yield Missing(field.key, spec.name, "" if field.key in held else gone.get(field.key, ""))
        written = there(spec.writes)
        for key in spec.drops:
            if held.pop(key, None) is not None:
                gone[key] = spec.name
        write(written)
    for key in pipeline.spec.outputs:
        if not held.get(key):
            yield Missing(key, "outputs", "" if key in held else gone.get(key, ""))
