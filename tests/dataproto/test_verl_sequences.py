"""The same sequence of operations on our `DataProto` and on verl's, compared after each step by a view of neither.

A step gives the same on both sides, or is refused by both, unless `docs/differences.md` says that it comes out
otherwise: then it has to. The rows of ours are held against plain lists, too, so that they are checked where verl has
none.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tensordict import TensorDict

from batchpact import dataproto
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from tests.dataproto.support import COLUMNS, TENSORS
from tests.dataproto.verl_differences import DIFFERENCES
from tests.dataproto.verl_field_steps import FIELD_STEPS
from tests.dataproto.verl_row_steps import ROW_STEPS
from tests.dataproto.verl_step import METAS, Given, Pads, Step, View, make_fields, see

verl = pytest.importorskip("verl.protocol")

pytestmark = pytest.mark.peers

OPERATIONS = {**ROW_STEPS, **FIELD_STEPS}


class Sides(NamedTuple):
    """One batch in both kinds, and the marks of its pad rows, which verl does not have."""

    ours: DataProto
    theirs: Any
    pads: Pads = None


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)  # verl warns of each batch without rows that is padded


def as_verl(data: DataProto) -> Any:
    """verl's batch of the same fields, made by its own constructor."""
    batch = None
    if data.batch is not None:
        batch = TensorDict(dict(data.batch.items()), batch_size=data.batch.batch_size, device=data.batch.device)
    return verl.DataProto(batch, dict(data.non_tensor_batch), dict(data.meta_info))


def attempt(step: Step, data: Any, module: Any) -> tuple[Sequence[Any], list[View] | None, Exception | None]:
    """What comes of a step, and its view; or the error."""
    try:
        results = step.run(data, module)
    except Exception as error:  # verl raises whatever torch, numpy and tensordict do
        return [], None, error
    return results, [see(result) for result in results], None


def take(step: Step, sides: Sides, facts: Given) -> tuple[str, list[Sides]]:
    """Do a step on both sides and compare; what came of it in a word, and what to go on with."""
    ours, theirs, _ = sides
    before = facts.view
    results, seen, problem = attempt(step, ours, dataproto)
    their_results, their_view, their_problem = attempt(step, theirs, verl)

    assert problem is None or isinstance(problem, ContractError), problem
    if step.differs is None:
        assert seen == their_view, f"ours: {problem}, verl: {their_problem!r}"
    else:
        assert step.differs in DIFFERENCES
        assert seen != their_view, f"no difference {step.differs}; ours: {problem}, verl: {their_problem!r}"
    if seen is None or not step.in_place:
        assert see(ours) == before
    if seen is None or step.final:  # verl's side may have been changed
        told = "alike" if seen is not None else "refused"
        return step.differs or told, [sides._replace(theirs=as_verl(ours))]
    for view, rows in zip(seen, step.rows or [], strict=step.rows is not None):
        assert view["length"] == (str(len(rows)), [])
        for key in before.keys() & view.keys():
            assert not before[key][1] or view[key][1] == [before[key][1][row] for row in rows], key
    made = []
    for at, result in enumerate(results):
        pads = facts.pads_after(step, at, len(result))
        assert result.pad_mask.tolist() == (pads or [False] * len(result))
        # verl locks a batch that was pickled and then moved: the row "locked".
        kept = step.differs is None and not (result.batch is not None and their_results[at].batch.is_locked)
        made.append(Sides(result, their_results[at] if kept else as_verl(result), pads))
    return step.differs or "alike", made


batches = st.tuples(
    st.integers(0, 999),
    st.integers(0, 5),
    st.sets(st.sampled_from(sorted(TENSORS)), max_size=3)
    | st.sets(st.sampled_from([name for name in sorted(TENSORS) if "jagged" not in name]), min_size=1),
    st.sets(st.sampled_from(sorted(COLUMNS)), max_size=4),
    st.sets(st.sampled_from(sorted(METAS)), max_size=2),
)
sequences = st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 2**16)), min_size=1, max_size=8)


def run_sequence(batch: Any, steps: list[tuple[str, int]], told: Counter[tuple[str, str]]) -> None:
    seed, rows, *names = batch
    fields = make_fields(seed, rows, set().union(*names))
    sides = Sides(DataProto.from_dict(**fields), verl.DataProto.from_dict(**fields))
    assert see(sides.ours) == see(sides.theirs)
    for name, argument in steps:
        if len(sides.ours) > 12:
            sides = Sides(sides.ours[:5], sides.theirs[:5], sides.pads and sides.pads[:5])
        rng = random.Random(argument)
        facts = Given(*sides)
        step = OPERATIONS[name](rng, facts)
        note(step.text)
        word, made = take(step, sides, facts)
        told[name, word] += 1
        sides = rng.choice(made) if made else sides


def test_a_sequence_of_operations_gives_what_verl_gives() -> None:
    """2,000 sequences; most steps do something on both sides, and each operation does it."""
    told: Counter[tuple[str, str]] = Counter()

    @settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(batches, sequences)
    def check(batch: Any, steps: list[tuple[str, int]]) -> None:
        run_sequence(batch, steps, told)

    check()

    alike = {name: count for (name, word), count in told.items() if word == "alike"}
    assert sum(alike.values()) > 0.6 * sum(told.values()) > 2000
    assert alike.keys() == OPERATIONS.keys()
    assert len({word for _, word in told} & DIFFERENCES.keys()) > 12
