"""What the questions about one subject tell apart."""

from __future__ import annotations

import pytest

from batchpact.contracts.proof.cases import cases_of, key_of
from batchpact.schemas import Condition, config, present, step
from batchpact.schemas.condition_specs import questions_in

N, NOW = config("n"), step("now")


@pytest.mark.parametrize(
    ("conditions", "texts"),
    [
        ([config("kl")], ["kl=True", "kl=False"]),
        ([N == "a", N == "b"], ["n='a'", "n='b'", "n neither 'a' nor 'b'"]),
        ([N > 1, N > 8], ["n=1", "n=8", "n=9"]),
        ([present("x")], ["x in the batch", "x not in the batch"]),
        ([N <= NOW], ["n <= now", "n > now"]),
        ([N <= NOW, N < NOW], ["n < now", "n == now", "n > now"]),
        ([N <= NOW, N > NOW], ["n <= now", "n > now", "n has no order beside now"]),
        ([N <= NOW, NOW >= N], ["n <= now", "n > now"]),
        ([NOW > N, N > NOW], ["now < n", "now == n", "now > n"]),
        ([N < NOW, N > NOW], ["n < now", "n == now", "n > now"]),
        ([N.is_none()], ["n set", "n not set"]),
        ([N == True], ["n=True", "n not True"]),  # noqa: E712
        ([N == 8], ["n=8", "n=7"]),
    ],
)
def test_a_case_for_each_answer(conditions: list[Condition], texts: list[str]) -> None:
    tests = [test for condition in conditions for test in questions_in(condition.spec)]

    assert len({key_of(test) for test in tests}) == 1
    assert [case.text for case in cases_of(key_of(tests[0]), tests)] == texts


@pytest.mark.parametrize(
    ("conditions", "labels"),
    [
        ([N > 0], ["<= 0", "> 0"]),
        ([N > 1, N > 8], ["<= 1", "> 1, <= 8", "> 8"]),
        ([N == 8], ["8", "not 8"]),
        ([N >= 1, N == 8], [">= 1, not 8", "8", "< 1"]),
        ([N.isin([1, 3])], ["1, 3", "not 1, not 3"]),
        ([N.isin([1, "a"])], ["1, 'a'", "anything else"]),
        ([N.isin(["a", None]), N == "b"], ["'a', None", "'b'", "anything else"]),
        ([N.is_none(), N], ["True", "False", "not set"]),
        ([N.is_none()], ["set", "not set"]),
    ],
)
def test_a_case_is_called_by_all_of_its_values(conditions: list[Condition], labels: list[str]) -> None:
    tests = [test for condition in conditions for test in questions_in(condition.spec)]

    assert [case.label for case in cases_of(key_of(tests[0]), tests)] == labels


def test_the_order_of_two_subjects_is_one_key_of_its_own() -> None:
    (one,) = questions_in((N <= NOW).spec)
    (other,) = questions_in((NOW >= N).spec)
    (of_another,) = questions_in((config("now") >= N).spec)

    assert key_of(one) == key_of(other)
    assert key_of(one) != key_of(of_another)
