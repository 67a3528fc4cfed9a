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
        ([N <= NOW], ["n < now", "n > now"]),
        ([N <= NOW, N < NOW], ["n < now", "n == now", "n > now"]),
        ([N <= NOW, N > NOW], ["n < now", "n > now", "n has no order beside now"]),
    ],
)
def test_a_case_for_each_answer(conditions: list[Condition], texts: list[str]) -> None:
    tests = [test for condition in conditions for test in questions_in(condition.spec)]

    assert len({key_of(test) for test in tests}) == 1
    assert [case.text for case in cases_of(key_of(tests[0]), tests)] == texts


def test_the_order_of_two_subjects_is_a_key_of_its_own() -> None:
    (one,) = questions_in((N <= NOW).spec)
    (other,) = questions_in((config("now") >= N).spec)

    assert key_of(one) != key_of(other)
