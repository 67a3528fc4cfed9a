"""Conditions are built by operators and decided later: what they say, print and refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from jaxtyping import Float32
from pydantic import TypeAdapter
from torch import Tensor

from batchpact.schemas import (
    BatchSchema,
    Condition,
    ConditionSpec,
    DeclarationError,
    When,
    arg,
    config,
    meta,
    present,
    step,
)
from batchpact.schemas.condition_specs import UNKNOWN, SubjectSpec

ESTIMATOR = config("algorithm.adv_estimator")
KL = config("algorithm.use_kl_in_reward")


def known(**values: object) -> Callable[[SubjectSpec], object]:
    """Values of subjects by the last part of their names; the others are unknown."""
    return lambda subject: values.get(subject.name.rpartition(".")[2], UNKNOWN)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (KL, "algorithm.use_kl_in_reward"),
        (~KL, "not algorithm.use_kl_in_reward"),
        (~~KL, "algorithm.use_kl_in_reward"),
        (ESTIMATOR == "gae", "algorithm.adv_estimator == 'gae'"),
        (ESTIMATOR != None, "algorithm.adv_estimator != None"),  # noqa: E711
        (ESTIMATOR.isin(["gae", "grpo"]), "algorithm.adv_estimator in ['gae', 'grpo']"),
        (config("critic.warmup") > 0, "critic.warmup > 0"),
        (meta("validate"), "meta validate"),
        (arg("calculate_entropy"), "arg calculate_entropy"),
        (present("rm_scores"), "rm_scores in the batch"),
        (step("global_steps") >= 10, "global_steps >= 10"),
        (config("trainer.warmup") <= step("global_steps"), "trainer.warmup <= global_steps"),
        (config("a.b").is_none(), "a.b is None"),
        (KL & meta("validate") & present("x"), "algorithm.use_kl_in_reward and meta validate and x in the batch"),
        ((KL | meta("v")) & ~present("x"), "(algorithm.use_kl_in_reward or meta v) and not x in the batch"),
        (~(KL | meta("v")), "not (algorithm.use_kl_in_reward or meta v)"),
        ((ESTIMATOR == "gae").named("use_critic"), "use_critic (algorithm.adv_estimator == 'gae')"),
        (~(ESTIMATOR == "gae").named("use_critic") & KL, "not use_critic and algorithm.use_kl_in_reward"),
    ],
)
def test_a_condition_reads_as_a_person_would_say_it_and_survives_as_data(condition: Condition, text: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(ConditionSpec)

    assert str(condition) == text
    assert adapter.validate_json(condition.spec.model_dump_json()) == condition.spec
    assert pickle.loads(pickle.dumps(condition)).spec == condition.spec


@pytest.mark.parametrize(
    ("condition", "values", "answer"),
    [
        (KL, {"use_kl_in_reward": True}, True),
        (KL, {"use_kl_in_reward": None}, False),
        (KL, {}, None),
        (~KL, {}, None),
        (KL & meta("v"), {"v": False}, False),
        (KL | meta("v"), {"v": True}, True),
        (KL & meta("v"), {"v": True}, None),
        (ESTIMATOR == "gae", {"adv_estimator": "gae"}, True),
        (ESTIMATOR != "gae", {"adv_estimator": None}, True),
        (ESTIMATOR.isin(["gae"]), {"adv_estimator": "grpo"}, False),
        (config("n") == 1, {"n": True}, False),
        (config("n") == 1, {"n": 1.0}, True),
        (config("n") == True, {"n": 1}, False),  # noqa: E712
        (config("n") > 2, {"n": "3"}, False),
        (config("n") > 2, {"n": None}, False),
        (config("n") <= 2, {"n": 2}, True),
        (config("n") < "b", {"n": "a"}, True),
        (config("n") == ["a", 1], {"n": ("a", 1)}, True),
        (config("n").is_none(), {"n": None}, True),
    ],
)
def test_a_condition_holds_does_not_or_depends_on_what_nobody_knows(
    condition: Condition, values: dict[str, Any], answer: bool | None
) -> None:
    assert condition.holds(known(**values)) is answer


def refusal(build: Callable[[], object]) -> str:
    with pytest.raises(DeclarationError) as caught:
        build()
    return str(caught.value).splitlines()[2].strip()


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (
            lambda: KL and meta("v"),
            "algorithm.use_kl_in_reward  a condition is decided when a stage runs, not here; "
            "combine conditions with & | ~ instead of and, or, not; put == and < in parentheses",
        ),
        (
            lambda: bool(ESTIMATOR == "gae"),
            "algorithm.adv_estimator == 'gae'  a condition is decided when a stage runs, not here; "
            "combine conditions with & | ~ instead of and, or, not; put == and < in parentheses",
        ),
        (
            lambda: ESTIMATOR == "gae" & KL,  # type: ignore[operator]
            "algorithm.use_kl_in_reward  str & a condition; put each comparison in parentheses",
        ),
        (lambda: KL & True, "condition  bool True is no condition; both sides of & and | are conditions"),  # type: ignore[operator]
        (
            lambda: config("x") == meta("v"),
            "x  it is compared with another condition; "
            "it compares with a constant, and by < <= > >= with another subject",
        ),
        (
            lambda: object() == KL,
            "algorithm.use_kl_in_reward  it is compared with object; a number, a text, None, or a list of these",
        ),
        (lambda: config("x") < float("nan"), "x  it is compared with nan; a finite number"),
        (lambda: config("x").isin("gae"), "x  isin('gae') would mean its letters; isin(['gae'])"),
        (lambda: config(""), "config  config(''); the name of what is looked at, as in config(\"validate\")"),
        (lambda: meta(3), 'meta  meta(3); the name of what is looked at, as in meta("validate")'),  # type: ignore[arg-type]
    ],
)
def test_what_would_not_mean_what_it_says_is_refused(build: Callable[[], object], text: str) -> None:
    assert refusal(build) == f"BP051 declared  {text}"


@pytest.mark.parametrize(
    ("warmup", "now", "answer"),
    [
        (3, 2, False),
        (3, 3, True),
        (0, 1, True),
        (None, 1, False),
        (True, 2, False),
        (UNKNOWN, 2, None),
        (3, UNKNOWN, None),
    ],
)
def test_two_subjects_are_compared_by_their_order(warmup: object, now: object, answer: bool | None) -> None:
    condition = config("trainer.warmup") <= step("global_steps")

    assert condition.holds(known(warmup=warmup, global_steps=now)) is answer


def test_conditions_are_equal_by_what_they_ask() -> None:
    assert (ESTIMATOR == "gae") == (config("algorithm.adv_estimator") == "gae")
    assert hash(ESTIMATOR == "gae") == hash(config("algorithm.adv_estimator") == "gae")
    assert ((ESTIMATOR == "gae") == (ESTIMATOR == "grpo")) is False
    assert When(KL) == When(config("algorithm.use_kl_in_reward"))
    assert When(KL) != When(meta("validate"))


def test_a_field_carries_its_condition_into_the_record() -> None:
    class Reads(BatchSchema):
        values: Annotated[Float32[Tensor, "batch"], When((ESTIMATOR == "gae").named("use_critic"))]

    field = Reads.__batchpact__.spec.fields[0]
    assert field.when == (ESTIMATOR == "gae").named("use_critic").spec
    assert field.required
    again = type(field).model_validate_json(field.canonical())
    assert again == field


def test_when_takes_a_condition() -> None:
    with pytest.raises(DeclarationError, match=r"values  When\(\.\.\.\) takes a condition, as in When\(config\("):

        class Reads(BatchSchema):
            values: Annotated[Float32[Tensor, "batch"], When("use_critic")]  # type: ignore[arg-type]
