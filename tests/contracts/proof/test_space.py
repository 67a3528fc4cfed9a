"""The space of configurations: cases that questions tell apart, sets of points, and the smallest description of one."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchpact.contracts.proof.space import Space
from batchpact.schemas import Condition, DeclarationError, config, meta, present
from batchpact.schemas.condition_specs import UNKNOWN, SubjectSpec, questions_in

ESTIMATOR, KL = config("algorithm.adv_estimator"), config("use_kl")
N, MOST = config("rollout.n"), config("most")
GAE, GRPO = ESTIMATOR == "gae", ESTIMATOR == "grpo"


def space(*conditions: Condition, always: tuple[Condition, ...] = ()) -> Space:
    return Space([condition.spec for condition in conditions], [condition.spec for condition in always])


def smallest(made: Space, condition: Condition) -> str:
    return made.smallest(made.points_of(condition.spec), made.valid)


# --- cases ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "points"),
    [
        ([], 1),
        ([KL], 2),
        ([GAE], 2),
        ([GAE, GRPO], 3),
        ([GAE, ESTIMATOR], 3),
        ([N > 1], 2),
        ([N > 1, N > 8], 3),
        ([N > 1, N == 8], 3),
        ([N.is_none()], 2),
        ([KL, GAE, present("rm_scores")], 8),
        ([KL, ~KL, KL & KL], 2),
        ([ESTIMATOR.isin(["gae", "grpo"]), GAE], 3),
        ([N <= MOST], 2),
        ([N < MOST, N > MOST], 3),
    ],
)
def test_a_subject_has_as_many_cases_as_its_questions_tell_apart(conditions: list[Condition], points: int) -> None:
    assert space(*conditions).points == points


@pytest.mark.parametrize(
    ("conditions", "points"),
    [
        ([(KL | GAE).named("any")], 2),
        ([(KL | GAE).named("any"), (GAE | KL).named("the same in another order")], 2),
        ([(KL | GAE).named("any"), GAE], 3),
        ([(KL | GAE).named("any"), KL, N > 1], 6),
        ([(KL & meta("validate")).named("any")], 4),
    ],
)
def test_what_is_asked_under_a_name_is_told_apart_as_a_whole(conditions: list[Condition], points: int) -> None:
    """Keys of the configuration alone: a pipeline may have a meta field of its own under another name."""
    assert space(*conditions).points == points


def test_true_and_one_are_two_constants() -> None:
    made = space(N == 1, N == True)  # noqa: E712

    assert made.points == 3
    assert not made.points_of((N == 1).spec) & made.points_of((N == True).spec)  # noqa: E712


# --- sets -------------------------------------------------------------------------------------------------------------


def test_conditions_are_sets() -> None:
    made = space(GAE, GRPO, KL)
    gae, grpo, kl = (made.points_of(condition.spec) for condition in (GAE, GRPO, KL))

    assert gae & grpo == 0
    assert made.points_of((GAE & KL).spec) == gae & kl
    assert made.points_of((GAE | KL).spec) == gae | kl
    assert made.points_of((~GAE).spec) == made.everything & ~gae
    assert made.points_of((GAE & ~GAE).spec) == 0
    assert made.points_of(None) == made.everything


VALUES: dict[str, list[Any]] = {
    "a": ["x", "y", "z", None, True, 0],
    "b": [0, 1, 2, 3, 10, None],
    "c": [True, False, None, ""],
    "d": [1, 2],
}
TESTS = st.sampled_from(
    [
        config("a") == "x",
        config("a") == "y",
        config("a"),
        config("a").isin(["x", None]),
        config("b") > 1,
        config("b") <= 3,
        config("b") == 2,
        config("b") != 0,
        config("c"),
        config("c").is_none(),
        config("b") < config("c"),
        config("b") >= config("d"),
    ]
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        inner.map(lambda condition: ~condition),
        inner.map(lambda condition: condition.named("whole")),
    ),
    max_leaves=6,
)


@given(st.lists(CONDITIONS, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_points_of_a_configuration_say_what_its_values_say(conditions: list[Condition]) -> None:
    """A second opinion: every condition asked directly, for every combination of values."""
    made = space(*conditions)
    for values in product(*VALUES.values()):
        config_values = dict(zip(VALUES, values, strict=True))
        point = made.where(lambda subject, known=config_values: known[subject.name])  # type: ignore[misc]
        assert point.bit_count() == 1
        for condition in conditions:
            holds = condition.holds(lambda subject, known=config_values: known[subject.name])  # type: ignore[misc]
            assert bool(point & made.points_of(condition.spec)) is holds


def test_what_a_configuration_does_not_say_stays_open() -> None:
    made = space(GAE, KL, meta("validate"))

    def look_up(subject: SubjectSpec) -> object:
        return "gae" if subject.name == "algorithm.adv_estimator" else UNKNOWN

    assert made.where(look_up) == made.points_of(GAE.spec)


def test_a_field_that_may_be_there_is_as_free_as_a_key() -> None:
    made = space(present("x"), KL)
    kl, free = made.points_of(KL.spec), made.points_of(present("x").spec)

    assert made.points_of(present("x").spec, lambda _: (kl, 0)) == kl
    assert made.points_of(present("x").spec, lambda _: (0, kl)) == kl & free
    assert made.points_of((~present("x")).spec, lambda _: (kl, made.everything & ~kl)) == made.everything & ~(kl | free)


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (GAE, "algorithm.adv_estimator='gae'"),
        (GAE & KL, "algorithm.adv_estimator='gae', use_kl=True"),
        (GAE | KL, "algorithm.adv_estimator='gae'"),
        (~GAE & ~GRPO, "algorithm.adv_estimator neither 'gae' nor 'grpo'"),
        (N > 8, "rollout.n=9"),
        ((N > 1) & (N <= 8), "rollout.n=8"),
        (~KL, "use_kl=False"),
        ((KL & GAE).named("both"), "algorithm.adv_estimator='gae', use_kl=True"),
        (~(KL | GAE | GRPO).named("any"), "algorithm.adv_estimator neither 'gae' nor 'grpo', use_kl=False"),
    ],
)
def test_the_smallest_configuration_fixes_the_fewest_keys(condition: Condition, text: str) -> None:
    assert smallest(space(GAE, GRPO, N > 1, N <= 8, N > 8, KL, condition), condition) == text


def test_the_order_of_two_keys_is_said_as_an_order() -> None:
    made = space(N < MOST, N > MOST)

    assert smallest(made, N < MOST) == "rollout.n < most"
    assert smallest(made, ~(N < MOST) & ~(N > MOST)) == "rollout.n == most"


def test_nothing_is_fixed_where_every_configuration_is_meant() -> None:
    assert smallest(space(KL), KL | ~KL) == ""


def test_many_keys_are_taken_away_one_by_one() -> None:
    keys = [config(f"k{number}") for number in range(6)]
    five = keys[0] & keys[1] & keys[2] & keys[3] & keys[4]

    assert smallest(space(*keys), five) == "k0=True, k1=True, k2=True, k3=True, k4=True"


# --- constraints ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_is_no_configuration() -> None:
    made = space(GAE, KL, always=(~(GAE & KL),))

    assert made.valid.bit_count() == 3
    assert made.valid & made.points_of((GAE & KL).spec) == 0


def test_constraints_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(DeclarationError, match="no configuration satisfies all of them; constraints that can hold"):
        space(always=(KL, ~KL))


def test_a_space_without_end_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"2097152 configurations of 'k0', 'k1', .* at most 1048576; state what"):
        space(*(config(f"k{number}") for number in range(21)))


# --- regions ----------------------------------------------------------------------------------------------------------


def regions(made: Space, condition: Condition, most: int = 8) -> tuple[list[list[str]], bool]:
    """Regions in words: the combinations of each part that is fixed."""
    found, whole = made.regions(made.points_of(condition.spec), made.valid, most)
    keys = made.keys()
    return [
        [
            keys[key][case].text
            for number, at in region.items()
            for key, case in made.parts[number].combination_of(at).items()
        ]
        for region in found
    ], whole


def test_a_set_is_told_as_regions_with_few_parts() -> None:
    made = space(KL, GAE, N > 1)

    assert regions(made, GAE | (KL & (N > 1))) == (
        [["algorithm.adv_estimator='gae'"], ["use_kl=True", "rollout.n=2"]],
        True,
    )
    assert regions(made, GAE | (KL & (N > 1)), most=1) == ([["algorithm.adv_estimator='gae'"]], False)
    assert regions(made, GAE & ~GAE) == ([], True)
    assert regions(made, GAE | ~GAE) == ([[]], True)


@given(st.sets(st.integers(0, 11)))
def test_regions_are_together_the_set(chosen: set[int]) -> None:
    conditions = [KL, (GAE | (N > 1)).named("either"), GRPO]
    made = space(*conditions)
    chosen = {at for at in chosen if at < made.points}
    points = sum(1 << at for at in chosen)

    found, whole = made.regions(points, made.valid, most=12)

    strides = [1]
    for part in made.parts:
        strides.append(strides[-1] * part.classes)
    covered = {
        point
        for point in range(made.points)
        for region in found
        if all(point // strides[number] % made.parts[number].classes == at for number, at in region.items())
    }
    assert (covered, whole) == (chosen, True)


def test_a_key_is_told_with_the_values_that_stand_for_each_case() -> None:
    made = space(ESTIMATOR.isin(["rloo", "grpo", "rloo"]), GAE)

    assert {key: [(case.text, case.values) for case in cases] for key, cases in made.keys().items()} == {
        ("config", "algorithm.adv_estimator"): [
            ("algorithm.adv_estimator='rloo'", ("'rloo'", "'grpo'")),
            ("algorithm.adv_estimator='gae'", ("'gae'",)),
            ("algorithm.adv_estimator neither 'rloo' nor 'grpo' nor 'gae'", ()),
        ]
    }
    (test,) = questions_in(GAE.spec)
    assert made.passing(test) == [1]


def test_a_part_has_a_class_for_each_combination_of_its_cases() -> None:
    made = space((KL | (N > 1)).named("either"))

    (part,) = made.parts
    assert part.keys == (("config", "use_kl"), ("config", "rollout.n"))
    assert [made.keys()[part.keys[1]][case].text for case in (0, 1)] == ["rollout.n=1", "rollout.n=2"]
    assert (part.classes, part.class_of) == (2, [0, 0, 1, 0])
