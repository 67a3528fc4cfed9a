"""What the page evaluates holds in exactly the configurations in which the proof says that a stage runs."""

from __future__ import annotations

from itertools import product
from typing import Any

from batchpact.contracts import Pipeline, when
from batchpact.contracts.proof.flow import Flow
from batchpact.contracts.reference.switches import Switches
from batchpact.schemas import config, present
from tests.contracts.plans import PerRow, declare, schema


def running(flow: Flow, switches: Switches) -> list[int]:
    """The points in which each stage runs, found as the page finds them: from the compiled conditions alone."""
    sizes = [len(cases) for cases in flow.space.keys().values()]
    numbers = {key: number for number, key in enumerate(flow.space.keys())}
    stages = flow.stages
    tests = [None if stage.when is None else switches.compiled(stage.when, at) for at, stage in enumerate(stages)]

    def holds(test: list[Any] | None, point: list[int]) -> bool:
        if test is None:
            return True
        kind, *of = test
        if kind == "test":
            return point[of[0]] in of[1]
        if kind == "on":
            return holds(tests[of[0]], point)
        if kind == "not":
            return not holds(of[0], point)
        answers = [holds(part, point) for part in of[0]]
        return all(answers) if kind == "all" else any(answers)

    found = [0] * len(stages)
    for combination in product(*map(range, sizes)):
        point, stride = 0, 1
        for part in flow.space.parts:
            cases = {key: (combination[numbers[key]],) for key in part.keys}
            [at] = part.classes_where(cases)
            point, stride = point + at * stride, stride * part.classes
        for at, test in enumerate(tests):
            found[at] |= holds(test, list(combination)) << point
    return found


def test_a_field_is_there_where_somebody_has_written_it() -> None:
    a, b = config("a"), config("b") > 1
    stages = [
        when(present("x"), declare("BeforeAnybody", {}, {})),
        when(a & b, declare("Writes", {}, {"x": PerRow})),
        when(present("x"), declare("AfterOne", {}, {})),
        when(b, declare("MayWrite", {}, {"x": PerRow | None})),
        when(~present("x"), declare("WithoutIt", {}, {"y": PerRow})),
        when(config("c"), declare("Drops", {}, {}, drops=("x",))),
        when(present("x") | present("y"), declare("AfterAll", {}, {})),
        declare("Fresh", {}, {}, rows="new"),
        when(present("x"), declare("AfterFresh", {}, {})),
    ]
    spec = Pipeline("plan", inputs=schema("Inputs", {"given": PerRow}), stages=stages).spec
    flow = Flow(spec, [])

    assert running(flow, Switches(flow)) == flow.live


def test_what_the_inputs_may_hold_is_as_it_is_chosen() -> None:
    optional = schema("Inputs", {"x": PerRow | None, "y": PerRow})
    stages = [
        when(present("x"), declare("One", {}, {})),
        when(present("y") & ~present("z"), declare("Two", {}, {})),
    ]
    spec = Pipeline("plan", inputs=optional, stages=stages).spec
    flow = Flow(spec, [])

    assert running(flow, Switches(flow)) == flow.live
    assert flow.live[1] == flow.valid
