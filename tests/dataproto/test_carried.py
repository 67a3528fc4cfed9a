"""Meta that parts were only handed is carried, and what they wrote is merged: in one process, and through others."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.dataproto import DataProto
from batchpact.dataproto.carried import NOTHING, Carried, Value, in_common
from batchpact.schemas import BatchSchema, Merge, Meta
from tests.dataproto.policies import meta, rollout, rollouts, snapshot
from tests.dataproto.support import law


class Counted(BatchSchema):
    n: Annotated[Meta[int], Merge("sum")]
    other: Annotated[Meta[float], Merge("mean")] = 0.0
    timing: Annotated[Meta[dict[str, float]], Merge("sum")] | None = None


def counted(**values: Any) -> DataProto:
    return DataProto.from_dict({"x": torch.arange(4)}, meta_info={"n": 100, **values}).bind(Counted)


def sent(data: DataProto) -> DataProto:
    """The batch as another process gets it."""
    return pickle.loads(pickle.dumps(data))  # type: ignore[no-any-return]


def stay(data: DataProto) -> DataProto:
    return data


ways = pytest.mark.parametrize("way", [stay, sent], ids=["here", "sent"])

# --- what is cut comes back as it was ---------------------------------------------------------------------------------


@law
@given(rollouts(), st.integers(1, 7), st.booleans())
def test_concat_undoes_chunk_with_every_policy(data: DataProto, parts: int, apart: bool) -> None:
    """Meta that is only carried is not multiplied, whichever process the parts come back from."""
    before = snapshot(data)
    chunks = data.chunk(parts, uneven=True)
    returned = [sent(part) for part in chunks] if apart else chunks

    assert snapshot(DataProto.concat(returned)) == before
    assert snapshot(DataProto.concat(returned)) == before  # nothing was remembered of the first time
    assert snapshot(data) == before


@ways
@pytest.mark.parametrize(
    "cut",
    [
        lambda d: d.split(3),
        lambda d: [d[:1], d[1:]],
        lambda d: [d[[0, 1]], d.slice(2, 4)],
        lambda d: [half for part in d.chunk(2) for half in part.chunk(2)],
        lambda d: [d.chunk(2)[0], d.chunk(2)[1]],
        lambda d: [d[:2], d.select()[2:]],
        lambda d: [DataProto.concat(d.chunk(2)[:1]), d[2:]],
        lambda d: [copy.copy(d[:2]), copy.deepcopy(d[2:])],
        lambda d: [d.select(deepcopy=True)[:3], d[3:]],
    ],
)
def test_however_a_batch_is_cut_its_meta_is_carried(
    cut: Callable[[DataProto], list[DataProto]], way: Callable[[DataProto], DataProto]
) -> None:
    data = rollout(4)

    assert DataProto.concat([way(part) for part in cut(data)]).meta_info == meta()


@ways
def test_concat_in_steps_is_concat_at_once(way: Callable[[DataProto], DataProto]) -> None:
    one, two, three, four = map(way, rollout(4).chunk(4))

    assert DataProto.concat([DataProto.concat([DataProto.concat([one, two]), three]), four]).meta_info == meta()
    assert DataProto.concat([DataProto.concat([one, two]), DataProto.concat([three, four])]).meta_info == meta()


@ways
def test_a_part_that_lacks_the_key_has_no_say(way: Callable[[DataProto], DataProto]) -> None:
    parts = [way(part) for part in counted().chunk(4)]
    parts[1] = parts[1].select(meta_info_keys=[])

    assert DataProto.concat([*parts, DataProto()]).meta_info == {"n": 100}


@ways
def test_what_is_popped_of_every_part_is_carried_too(way: Callable[[DataProto], DataProto]) -> None:
    parts = [way(part) for part in counted().chunk(2)]
    popped = [part.pop([], [], ["n"]) for part in parts]
    for part in popped:
        part.bind(Counted)

    assert DataProto.concat(popped).meta_info == {"n": 100}
    for part, rest in zip(parts, popped, strict=True):
        part.union(rest)
        part.bind(Counted)
    assert DataProto.concat(parts).meta_info == {"n": 100}


@ways
def test_a_part_that_writes_one_key_still_carries_the_others(way: Callable[[DataProto], DataProto]) -> None:
    """The count was handed out with the batch, the mean is new: nobody multiplies the one for the other."""
    parts = [way(part) for part in counted(other=1.0).chunk(2)]
    parts[0].meta_info["other"] = 2.0
    parts[1].meta_info["other"] = 4.0
    parts = [part.select() for part in parts]

    assert DataProto.concat(parts).meta_info == {"n": 100, "other": 3.0}


# --- what the parts wrote is merged -----------------------------------------------------------------------------------


@ways
def test_numbers_that_are_written_anew_are_summed_although_python_has_one_5_for_all(
    way: Callable[[DataProto], DataProto],
) -> None:
    parts = [way(DataProto.from_dict({"x": torch.ones(1)}, meta_info={"n": 5}).bind(Counted)) for _ in range(3)]

    assert DataProto.concat(parts).meta_info == {"n": 15}


@ways
def test_numbers_that_the_parts_of_one_batch_write_anew_are_summed(way: Callable[[DataProto], DataProto]) -> None:
    parts = [way(part) for part in counted().chunk(2)]
    for part in parts:
        part.meta_info["n"] = 5

    assert DataProto.concat(parts).meta_info == {"n": 10}
    assert DataProto.concat([part[:1] for part in parts]).meta_info == {"n": 10}


@ways
def test_a_key_that_is_new_in_the_parts_is_merged(way: Callable[[DataProto], DataProto]) -> None:
    parts = [way(part) for part in counted().chunk(2)]
    for part in parts:
        part.meta_info["timing"] = {"gen": 1.5}

    assert DataProto.concat(parts).meta_info == {"n": 100, "timing": {"gen": 3.0}}


def test_what_other_processes_write_into_a_dict_is_merged() -> None:
    """The dict that a part was sent is its own: written into in place, it is no longer what was handed out."""
    parts = [sent(part) for part in counted(timing={"all": 1.0}).chunk(2)]
    for part, time in zip(parts, (2.0, 4.0), strict=True):
        part.meta_info["timing"]["gen"] = time

    assert DataProto.concat(parts).meta_info["timing"] == {"all": 2.0, "gen": 6.0}
    assert DataProto.concat([sent(part) for part in parts]).meta_info["timing"] == {"all": 2.0, "gen": 6.0}
    for part in parts:
        part.meta_info["timing"]["gen"] = 2.0
    assert DataProto.concat([sent(part) for part in parts]).meta_info["timing"] == {"all": 2.0, "gen": 4.0}


def test_what_is_written_here_into_a_dict_that_all_parts_hold_is_in_all_of_them() -> None:
    parts = counted(timing={"all": 1.0}).chunk(2)
    parts[0].meta_info["timing"]["gen"] = 2.0

    assert DataProto.concat(parts).meta_info["timing"] is parts[1].meta_info["timing"]


def test_a_dict_that_was_sent_at_two_times_is_two_dicts() -> None:
    data = counted(timing={"all": 1.0})
    one, two = data.chunk(2)
    first = sent(one)
    data.meta_info["timing"]["all"] = 5.0

    assert DataProto.concat([first, sent(two)]).meta_info["timing"] == {"all": 6.0}


def test_parts_of_two_batches_are_merged() -> None:
    assert DataProto.concat([counted()[:2], counted()[2:]]).meta_info == {"n": 200}
    assert DataProto.concat([counted()[:2], counted()]).meta_info == {"n": 200}


def test_a_batch_beside_itself_is_two_ranks_that_say_the_same() -> None:
    data = counted()

    assert DataProto.concat([data, data]).meta_info == {"n": 200}
    data.chunk(2)
    assert DataProto.concat([data, data]).meta_info == {"n": 200}
    assert DataProto.concat([data, data[:2]]).meta_info == {"n": 100}  # but its own rows are not


def test_the_result_of_one_rank_is_collected_as_those_of_several_are() -> None:
    result = rollout(2)
    result.chunk(2)

    assert DataProto.concat([result]).meta_info["metrics"] == {"loss": [1.0]}
    assert DataProto.concat([result, rollout(2, seed=1)]).meta_info["metrics"] == {"loss": [1.0, 1.0]}


def test_a_sum_that_is_what_one_part_was_handed_is_a_new_number() -> None:
    one, two, three = counted().split(2) + counted().split(4)
    two.meta_info["n"] = 0
    whole = DataProto.concat([one, two])

    assert whole.meta_info == {"n": 100}
    assert DataProto.concat([whole, one]).meta_info == {"n": 200}
    assert DataProto.concat([whole[:2], whole[2:]]).meta_info == {"n": 100}
    assert DataProto.concat([whole, three]).meta_info == {"n": 200}


def test_a_value_that_changes_between_two_cuts_is_two_values() -> None:
    data = counted()
    one = data[:2]
    data.meta_info["n"] = 7

    assert DataProto.concat([one, data[2:]]).meta_info == {"n": 107}
    assert DataProto.concat([data[:1], data[1:]]).meta_info == {"n": 7}


# --- union ------------------------------------------------------------------------------------------------------------


@ways
def test_what_comes_back_from_a_union_is_not_counted_twice(way: Callable[[DataProto], DataProto]) -> None:
    data = rollout(4)

    assert data.union(way(data.select(["prompts"]))).meta_info == meta()
    assert data.union(DataProto(meta_info={"tokens": 20, "loss": 0.3})).meta_info == {
        **meta(),
        "tokens": 120,
        "loss": 0.2,
    }


def test_what_a_union_brings_is_carried_on() -> None:
    parts = counted().chunk(2)
    results = [DataProto.from_dict({"y": torch.arange(2)}).union(part).bind(Counted) for part in parts]

    assert DataProto.concat(results).meta_info == {"n": 100}


# --- the parts of the mechanism ---------------------------------------------------------------------------------------


def test_a_key_is_in_common_where_source_and_value_are_and_one_part_is_derived() -> None:
    own, part = Carried("s", {"k": Value("s", 1)}), Carried("", {"k": Value("s", 1)})
    other, changed = Carried("", {"k": Value("t", 1)}), Carried("", {"k": Value("s", 2)})

    def common(*carried: Carried, values: tuple[object, ...] = (1, 1)) -> bool:
        return "k" in in_common([{"k": value} for value in values], carried).values

    assert common(own, part)
    assert common(part, part)
    assert not common(own, own)
    assert not common(part, other)
    assert not common(part, NOTHING)
    assert not common(part, part, values=(1, 1.0))
    assert not common(part, part, values=(2, 2))
    assert not common(part, changed, values=(1, 2))
    assert in_common([{}, {}], [part, part]) is NOTHING


def test_the_names_of_batches_stay_with_them_until_they_are_sent() -> None:
    data = counted()
    assert data._carried is NOTHING

    part = data[:1]
    assert data._carried.own
    assert data[:2]._carried.values is part._carried.values
    assert part._carried.own == sent(data)._carried.own == ""
    assert DataProto.from_dict({"x": torch.ones(1)}, meta_info={"n": 5})[:0]._carried is NOTHING
