"""Groups stay whole: a stage that compares the rows of a group gives on many workers what it gives on one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.contracts import WorkerGroup
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError
from tests.contracts.workers.critics import Critic


def scored(uids: str) -> DataProto:
    scores = torch.arange(1.0, len(uids) + 1) ** 2
    return DataProto.from_dict({"scores": scores}, {"uid": list(uids)})


@pytest.mark.parametrize(
    ("uids", "sizes"),
    [
        ("aabbcc", [2, 2, 2]),
        ("aaabbbb", [3, 4]),
        ("aaaab", [4, 1]),
        ("aaaa", [4]),
        ("abcdefg", [3, 2, 2]),
        ("aaaaaaabc", [7, 2]),
    ],
)
def test_a_cut_goes_between_groups(uids: str, sizes: list[int]) -> None:
    group = WorkerGroup(Critic, dp=3)

    made = group.advantage(scored(uids))

    seen = [calls[0] for calls in group.call_all("firsts") if calls]
    assert [len(rows) for rows in seen] == sizes
    assert torch.equal(torch.tensor([score for rows in seen for score in rows]), scored(uids).batch["scores"])
    assert made == Critic().advantage(scored(uids))


@given(groups=st.lists(st.integers(1, 5), max_size=6), dp=st.integers(1, 5))
def test_any_groups_on_any_number_of_workers(groups: list[int], dp: int) -> None:
    uids = "".join(name * size for name, size in zip("abcdef", groups, strict=False))

    assert WorkerGroup(Critic, dp=dp).advantage(scored(uids)) == Critic().advantage(scored(uids))


def test_a_group_that_lies_apart_is_refused_and_one_worker_takes_it() -> None:
    with pytest.raises(BatchError) as caught:
        WorkerGroup(Critic, dp=2).advantage(scored("abab"))

    assert str(caught.value) == (
        "1 problem in WorkerGroup.advantage; nothing was changed\n\n"
        "  BP043 split  uid  'a' in row 0 and again in row 2; the rows of a group next to each other, as they go to "
        "one worker; put them in order first; a stage that looks at each row alone needs no Group() in its Reads"
    )
    assert WorkerGroup(Critic, dp=1).advantage(scored("abab")) == Critic().advantage(scored("abab"))
