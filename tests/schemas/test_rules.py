"""Rules over several fields: methods that say, row by row, what must hold."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Binary, Group, Key, NonTensor, rule
from batchpact.schemas.rules import broken_rows, makers_of
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import sentence
from batchpact.schemas.values import check_values

Mask = Annotated[Int64[Tensor, "batch response"], Binary()]


class Masked(BatchSchema):
    response_mask: Mask
    rewards: Float32[Tensor, "batch response"]
    uid: NonTensor[str] | None = None

    @rule
    def rewards_are_masked(self) -> Tensor:
        """rewards are zero outside response_mask"""
        return ((self.rewards == 0) | (self.response_mask == 1)).all(dim=1)


class Named(Masked):
    @rule
    def uid_is_not_empty(self) -> np.ndarray:
        """no uid is empty"""
        return np.array([bool(uid) for uid in self.uid]) if self.uid is not None else np.ones(len(self.rewards), bool)


def said(schema: type[BatchSchema], columns: dict[str, Any] | None = None, **tensors: Tensor) -> list[str]:
    found = check_values(schema, Stores(tensors, columns or {}, {}))
    return [f"{violation.code} {violation.field} {sentence(violation)}" for violation in found]


MASK = torch.tensor([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]])


def test_a_rule_that_holds_in_every_row_finds_nothing() -> None:
    assert said(Masked, response_mask=MASK, rewards=MASK * 0.5) == []


def test_a_broken_rule_names_its_rows_and_what_must_hold() -> None:
    rewards = MASK * 0.5
    rewards[1, 2] = 1.0

    assert said(Masked, response_mask=MASK, rewards=rewards) == [
        "BP022 rewards_are_masked it does not hold in row 1; declared: rewards are zero outside response_mask"
    ]


def test_many_broken_rows_are_counted() -> None:
    assert said(Masked, response_mask=MASK, rewards=torch.ones(6, 3)) == [
        "BP022 rewards_are_masked it does not hold in rows 0, 1, 3 and 2 more; "
        "declared: rewards are zero outside response_mask"
    ]


def test_a_broken_rule_names_its_rows_by_their_key() -> None:
    class Keyed(Masked):
        uid: Annotated[NonTensor[str], Key()]

    rewards, uid = MASK * 0.5, np.array([*"abcdef"], dtype=object)
    rewards[1, 2] = rewards[4, 1] = 1.0

    assert said(Keyed, {"uid": uid}, response_mask=MASK, rewards=rewards) == [
        "BP022 rewards_are_masked it does not hold in rows 1 (uid 'b'), 4 (uid 'e'); "
        "declared: rewards are zero outside response_mask"
    ]
    assert said(Keyed, {"uid": uid}, response_mask=MASK, rewards=torch.ones(6, 3)) == [
        "BP022 rewards_are_masked it does not hold in rows 0 (uid 'a'), 1 (uid 'b'), 3 (uid 'd') and 2 more; "
        "declared: rewards are zero outside response_mask"
    ]


def test_a_broken_rule_names_its_rows_by_their_group_where_they_have_no_key() -> None:
    class Grouped(Masked):
        uid: Annotated[NonTensor[str], Group()] | None = None

    rewards = MASK * 0.5
    rewards[1, 2] = 1.0

    assert said(Grouped, {"uid": np.array([*"aaabbb"], dtype=object)}, response_mask=MASK, rewards=rewards) == [
        "BP022 rewards_are_masked it does not hold in row 1 (uid 'a'); declared: rewards are zero outside response_mask"
    ]
    assert said(Grouped, response_mask=MASK, rewards=rewards) == [
        "BP022 rewards_are_masked it does not hold in row 1; declared: rewards are zero outside response_mask"
    ]


def test_rules_wait_until_no_key_repeats() -> None:
    class Keyed(Masked):
        uid: Annotated[NonTensor[str], Key()]

    uid = np.array([*"abcdea"], dtype=object)

    assert said(Keyed, {"uid": uid}, response_mask=MASK, rewards=torch.ones(6, 3)) == [
        "BP023 uid 'a' in rows 0, 5; one row for one key; where rows may be copies of one another, it is a Group()"
    ]


def test_rules_are_inherited_and_may_answer_with_an_array() -> None:
    columns = {"uid": np.array(["a", "b", "", "c", "d", "e"], dtype=object)}

    assert said(Named, columns, response_mask=MASK, rewards=MASK * 0.5) == [
        "BP022 uid_is_not_empty it does not hold in row 2; declared: no uid is empty"
    ]
    assert [spec.name for spec in Named.__batchpact__.spec.rules] == ["rewards_are_masked", "uid_is_not_empty"]


def test_a_rule_can_be_overridden_by_another_and_by_none() -> None:
    class Weaker(Masked):
        @rule
        def rewards_are_masked(self) -> Tensor:
            """anything goes"""
            return torch.ones(len(self.rewards), dtype=torch.bool)

    class Without(Masked):
        def rewards_are_masked(self) -> Tensor:
            raise NotImplementedError

    assert said(Masked, response_mask=MASK, rewards=torch.ones(6, 3)) != []
    assert said(Weaker, response_mask=MASK, rewards=torch.ones(6, 3)) == []
    assert said(Without, response_mask=MASK, rewards=torch.ones(6, 3)) == []


def test_a_rule_sees_the_default_of_an_optional_field_that_is_not_there() -> None:
    assert said(Named, response_mask=MASK, rewards=MASK * 0.5) == []


def test_rules_wait_until_each_field_by_itself_is_healthy() -> None:
    assert said(Masked, response_mask=MASK * 2, rewards=torch.ones(6, 3)) == [
        "BP021 response_mask 9 elements in rows 0, 1, 2 and 3 more; the extreme is 2; declared binary"
    ]


def test_a_rule_that_raises_or_answers_with_something_else_is_a_violation_of_its_own() -> None:
    class Wrong(BatchSchema):
        x: Float32[Tensor, "batch"]

        @rule
        def raises(self) -> Tensor:
            """something"""
            raise ValueError("no such thing")

        @rule
        def one_for_all(self) -> Tensor:
            """x is positive"""
            return (self.x > 0).all()

        @rule
        def numbers(self) -> Tensor:
            """x is positive"""
            return self.x

        @rule
        def forgets_to_return(self) -> None:
            """x is positive"""
            _ = self.x > 0

        @rule
        def words(self) -> np.ndarray:
            """x is positive"""
            return np.array(["yes", "no"])

    assert said(Wrong, x=torch.ones(2)) == [
        "BP022 raises the rule raised ValueError: no such thing; declared: something",
        "BP022 one_for_all the rule returned bool[], where bool[2] belongs; declared: x is positive",
        "BP022 numbers the rule returned f32[2], where bool[2] belongs; declared: x is positive",
        "BP022 forgets_to_return the rule returned None, where bool[2] belongs; declared: x is positive",
        "BP022 words the rule returned str96[2], where bool[2] belongs; declared: x is positive",
    ]


def test_a_rule_may_answer_with_an_array_that_cannot_be_written() -> None:
    class Reads(BatchSchema):
        uid: NonTensor[str]

        @rule
        def named(self) -> np.ndarray:
            """no uid is empty"""
            answer = np.array([uid != "" for uid in self.uid])
            answer.flags.writeable = False
            return answer

    assert said(Reads, {"uid": np.array(["a", ""], dtype=object)}) == [
        "BP022 named it does not hold in row 1; declared: no uid is empty"
    ]


def test_a_rule_stands_in_the_record_by_its_qualified_name() -> None:
    (spec,) = Masked.__batchpact__.spec.rules

    assert spec.qualname == "tests.schemas.test_rules.Masked.rewards_are_masked"
    assert spec.description == "rewards are zero outside response_mask"


def test_a_rule_says_how_a_sample_keeps_to_it() -> None:
    def masked(self: Masked) -> Tensor:
        return self.rewards * self.response_mask

    class Made(Masked):
        @rule(make={"rewards": masked})
        def rewards_are_masked(self) -> Tensor:
            return ((self.rewards == 0) | (self.response_mask == 1)).all(dim=1)

    compiled = Made.__batchpact__

    assert makers_of(compiled.rules["rewards_are_masked"]) == {"rewards": masked}
    assert makers_of(Masked.__batchpact__.rules["rewards_are_masked"]) == {}
    assert [spec.name for spec in compiled.spec.rules] == ["rewards_are_masked"]


def test_the_rows_in_which_a_rule_is_broken_or_what_is_wrong_with_its_answer() -> None:
    holds = Masked.rewards_are_masked
    instance = Masked(response_mask=torch.tensor([[1], [0], [0]]), rewards=torch.tensor([[1.0], [1.0], [0.0]]))

    assert broken_rows(holds, instance, 3) == [1]
    assert broken_rows(holds, instance, 2) == "the rule returned bool[3], where bool[2] belongs"
    assert str(broken_rows(lambda _: 1 / 0, instance, 3)) == "the rule raised ZeroDivisionError: division by zero"
