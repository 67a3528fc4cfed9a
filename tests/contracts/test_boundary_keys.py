"""Keys at a boundary: unique where values are read, except in pad rows, and the names of rows in what is said."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import checking, from_rows, stage
from batchpact.dataproto import column, pad_dataproto_to_divisor
from batchpact.schemas import BatchSchema, Finite, Group, Key, NonTensor, StageSchema, rule
from tests.contracts.stages import CONTAINERS, Container, in_every_container, refusal, store_of

ONE_ROW = "one row for one key; where rows may be copies of one another, it is a Group()"


class Score(StageSchema):
    """Double the rewards."""

    pad_safe = True

    class Reads(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        rewards: Annotated[Float32[Tensor, "batch"], Finite()]

        @rule
        def rewards_are_positive(self) -> Tensor:
            """rewards are positive"""
            return self.rewards > 0

    class Writes(BatchSchema):
        doubled: Annotated[Float32[Tensor, "batch"], Finite()]


class Rename(StageSchema):
    """Write keys anew."""

    pad_safe = True

    class Reads(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]

    class Writes(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]


def batch(uid: str, rewards: list[float], container: Container = CONTAINERS["ours"]) -> Any:
    return container({"rewards": torch.tensor(rewards)}, {"uid": [*uid]}, {})


@stage(Score)
def score(data: Any) -> Any:
    return Score.Writes(doubled=store_of(data, "tensor")["rewards"] * 2)


def read(data: Any) -> str:
    return refusal(lambda: score(data))


# --- reads ------------------------------------------------------------------------------------------------------------


@in_every_container
def test_keys_that_repeat_are_refused_where_values_are_read(container: Container) -> None:
    data = batch("abca", [1.0, 2.0, 3.0, 4.0], container)

    score(data)
    with checking("values"):
        assert read(data) == (
            f"1 problem where stage 'score' reads its batch\n\n  BP023 keys  uid  'a' in rows 0, 3; {ONE_ROW}"
        )
        score(batch("abcd", [1.0, 2.0, 3.0, 4.0], container))


@in_every_container
def test_broken_rules_name_their_rows_by_key(container: Container) -> None:
    with checking("values"):
        assert read(batch("abcd", [1.0, torch.nan, 3.0, torch.inf], container)) == (
            "1 problem where stage 'score' reads its batch\n\n"
            "  BP021 values  rewards  2 elements in rows 1 (uid 'b'), 3 (uid 'd'); 1 NaN, 1 infinite; declared finite"
        )
        assert read(batch("abcd", [1.0, 2.0, -3.0, 4.0], container)) == (
            "1 problem where stage 'score' reads its batch\n\n"
            "  BP022 rule  rewards_are_positive  it does not hold in row 2 (uid 'c'); declared: rewards are positive"
        )


def test_a_result_has_no_names_for_rows_whose_key_it_does_not_write() -> None:
    overflows = stage(Score, name="score")(lambda data: Score.Writes(doubled=data.batch["rewards"] * torch.inf))
    with checking("values"):
        assert refusal(lambda: overflows(batch("ab", [1.0, 2.0]))) == (
            "1 problem where stage 'score' returns its result\n\n"
            "  BP021 values  doubled  2 elements in rows 0, 1; 0 NaN, 2 infinite; declared finite"
        )


def test_keys_of_an_instance_are_looked_at() -> None:
    reads = Score.Reads(uid=column(["a", "a"]), rewards=torch.ones(2))

    @stage
    def typed(batch: Score.Reads) -> Score.Writes:
        return Score.Writes(doubled=batch.rewards * 2)

    with checking("values"):
        assert refusal(lambda: typed(reads)) == (
            f"1 problem where stage 'typed' reads its batch\n\n  BP023 keys  uid  'a' in rows 0, 1; {ONE_ROW}"
        )


def test_rows_may_share_a_group() -> None:
    class Grouped(Score):
        class Reads(BatchSchema):
            uid: Annotated[NonTensor[str], Group()]
            rewards: Annotated[Float32[Tensor, "batch"], Finite()]

    grouped = stage(Grouped, name="score")(lambda data: Grouped.Writes(doubled=data.batch["rewards"]))
    with checking("values"):
        grouped(batch("aabb", [1.0, 2.0, 3.0, 4.0]))
        assert refusal(lambda: grouped(batch("aabb", [1.0, 2.0, 3.0, torch.nan]))) == (
            "1 problem where stage 'score' reads its batch\n\n"
            "  BP021 values  rewards  1 element in row 3 (uid 'b'); 1 NaN, 0 infinite; declared finite"
        )


# --- pad rows ---------------------------------------------------------------------------------------------------------


def test_pad_rows_have_the_keys_of_the_rows_that_they_copy() -> None:
    padded, pad_size = pad_dataproto_to_divisor(batch("abc", [1.0, 2.0, 3.0]), 4)

    with checking("values"):
        written = score(padded)

    assert pad_size == 1
    assert padded.non_tensor_batch["uid"].tolist() == ["a", "b", "c", "a"]
    assert written.batch["doubled"].tolist() == [2.0, 4.0, 6.0, 2.0]


def test_rows_that_are_no_padding_have_keys_of_their_own_in_a_padded_batch() -> None:
    padded, _ = pad_dataproto_to_divisor(batch("aba", [1.0, 2.0, 3.0]), 4)

    with checking("values"):
        assert read(padded) == (
            f"1 problem where stage 'score' reads its batch\n\n  BP023 keys  uid  'a' in rows 0, 2; {ONE_ROW}"
        )


def test_a_stage_that_refuses_pad_rows_says_so_and_nothing_of_their_keys() -> None:
    class Unsafe(Score):
        pad_safe = False

    padded, _ = pad_dataproto_to_divisor(batch("abc", [1.0, 2.0, 3.0]), 4)

    with checking("values"):
        assert refusal(lambda: stage(Unsafe, name="score")(lambda data: None)(padded)) == (
            "1 problem where stage 'score' reads its batch\n\n"
            "  BP033 padded  batch  1 pad row of 4; the stage is not pad_safe"
        )


# --- writes -----------------------------------------------------------------------------------------------------------


def renamed(rows: str, uid: str, origin: list[int] | None, pad_to: int) -> Any:
    """Call a stage that writes these keys; rows come from these rows of the batch 'abc', which may be padded."""

    schema = type("Renamed", (Rename,), {"rows": rows, "__module__": __name__})
    result = Rename.Writes(uid=column([*uid]))
    called = stage(schema, name="rename")(lambda data: result if origin is None else from_rows(result, origin))
    padded, _ = pad_dataproto_to_divisor(batch("abc", [1.0, 2.0, 3.0]), pad_to)
    with checking("values"):
        return called(padded)


@pytest.mark.parametrize(
    ("rows", "uid", "origin", "pad_to"),
    [
        ("same", "xyz", None, 1),
        ("same", "xyzx", None, 4),
        ("permute", "xxyz", [3, 0, 1, 2], 4),
        ("select", "zxx", [2, 3, 0], 4),
        ("new", "wxyz", None, 4),
    ],
    ids=["same rows", "pad rows", "pad rows that moved", "pad rows that were chosen", "new rows"],
)
def test_keys_that_a_stage_writes_may_repeat_in_pad_rows(rows: str, uid: str, origin: Any, pad_to: int) -> None:
    assert renamed(rows, uid, origin, pad_to).non_tensor_batch["uid"].tolist() == [*uid]


@pytest.mark.parametrize(
    ("rows", "uid", "origin", "pad_to", "said"),
    [
        ("same", "xyx", None, 1, "0, 2"),
        ("same", "xyxz", None, 4, "0, 2"),
        ("permute", "zxyx", [3, 0, 1, 2], 4, "1, 3"),
        ("select", "xx", [0, 0], 1, "0, 1"),
        ("select", "zxx", [3, 0, 0], 4, "1, 2"),
        ("new", "xyzx", None, 4, "0, 3"),
    ],
    ids=[
        "same rows",
        "other rows than pads",
        "other rows than pads that moved",
        "a row twice",
        "a row twice",
        "new rows",
    ],
)
def test_keys_that_a_stage_writes_repeat_nowhere_else(rows: str, uid: str, origin: Any, pad_to: int, said: str) -> None:
    assert refusal(lambda: renamed(rows, uid, origin, pad_to)) == (
        f"1 problem where stage 'rename' returns its result\n\n  BP023 keys  uid  'x' in rows {said}; {ONE_ROW}"
    )
