"""Gathering over real processes: rank order, every kind of field, and one error on every rank where a hang would be."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto
from tests.dataproto.gathering_scenarios import CUTS, whole
from tests.dataproto.ranks import run_ranks
from tests.dataproto.support import plain, small

pytestmark = pytest.mark.slow

Outcomes = list[dict[str, Any]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What each of three ranks came to in each scenario."""
    return run_ranks("tests.dataproto.gathering_scenarios", 3, tmp_path_factory.mktemp("ranks"))


def on_every_rank(outcomes: Outcomes, scenario: str) -> Any:
    """What a scenario came to; the same on every rank."""
    first = outcomes[0][scenario]
    assert [each[scenario] for each in outcomes] == [first] * 3
    return first


# --- what is gathered -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_every_rank_has_all_rows_in_rank_order(outcomes: Outcomes, cut: list[int], seed: int) -> None:
    """Every kind of tensor, column and meta; ranks with one row, several rows and none."""
    assert on_every_rank(outcomes, f"{cut} {seed}") == plain(whole(cut, seed))


def test_the_batch_is_changed_in_place_and_what_it_was_made_of_is_not(outcomes: Outcomes) -> None:
    assert [each["in place"] for each in outcomes] == [
        ([0.0, 1.0, 2.0], torch.device("cpu"), [rank], [rank], False) for rank in range(3)
    ]


def test_dtypes_that_no_collective_knows_are_gathered(outcomes: Outcomes) -> None:
    names = ("float8_e4m3fn", "float8_e5m2", "uint16", "complex64", "int16", "float16")

    assert on_every_rank(outcomes, "every dtype") == {
        f"torch.{name}": [[rank] * 3 for rank in (0, 1, 2)] for name in names
    }


def test_the_order_of_the_fields_does_not_matter(outcomes: Outcomes) -> None:
    x = torch.arange(3)

    assert on_every_rank(outcomes, "other order") == plain(
        DataProto.from_dict({"a": x, "b": x.reshape(3, 1).expand(3, 2), "c": torch.ones(3).bool()})
    )


def test_what_is_gathered_has_no_graph(outcomes: Outcomes) -> None:
    assert on_every_rank(outcomes, "with graph") == (False, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0])


def test_two_batch_axes_stay(outcomes: Outcomes) -> None:
    made = DataProto(TensorDict({"x": torch.tensor([[1, 1], [2, 2], [2, 2]])}, batch_size=[3, 2]))

    assert on_every_rank(outcomes, "two batch axes") == (plain(made), [3, 2])


def test_what_no_collective_takes_is_gathered_by_way_of_pickle(outcomes: Outcomes) -> None:
    matrix = [[0, 0], [1, 1], [2, 2]]

    assert on_every_rank(outcomes, "inner and odd") == (matrix, [[0], [1, 1], [2, 2, 2]], matrix)


def test_a_rank_without_any_field_gets_those_of_the_others(outcomes: Outcomes) -> None:
    assert on_every_rank(outcomes, "one has nothing") == plain(small())


def test_batches_without_tensors_or_fields_are_gathered(outcomes: Outcomes) -> None:
    assert on_every_rank(outcomes, "nobody has anything") == {}
    assert on_every_rank(outcomes, "columns alone") == plain(DataProto.from_dict(non_tensors={"c": [1, [2], 3]}))
    assert on_every_rank(outcomes, "no field") == 3


def test_meta_is_merged_as_in_concat(outcomes: Outcomes) -> None:
    assert on_every_rank(outcomes, "meta") == {
        "meta k": "[1, {'a': nan}]",
        "meta metrics": "{'loss': [1.0, 2.0], 'kl': [3.0]}",
        "meta late": "1",
    }


# --- what is carried unseen -------------------------------------------------------------------------------------------


def test_pad_marks_and_writers_are_gathered_and_origins_are_not(outcomes: Outcomes) -> None:
    pads = [False, False, False, True, False, False]

    assert on_every_rank(outcomes, "unseen") == (pads, "writer-0", None)


def test_policies_of_a_bound_schema_hold(outcomes: Outcomes) -> None:
    """An optional field that one rank alone has is filled on the others."""
    x, bonus = torch.arange(3.0), torch.tensor([-1.0, 9.0, -1.0])

    assert on_every_rank(outcomes, "bound") == (
        plain(DataProto.from_dict({"x": x, "bonus": bonus}, meta_info={"tokens": 6})),
        True,
        [False, True, False],
    )


def test_inside_a_stage_what_was_withheld_stays_known(outcomes: Outcomes) -> None:
    handed = small()[:1].select(["ids"], ["uid"], [])

    assert on_every_rank(outcomes, "in a stage") == (
        plain(DataProto.concat([handed] * 3)),
        ["UndeclaredReadError"] * 3,
    )


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_gathers_the_rows_of_its_own_ranks(outcomes: Outcomes) -> None:
    two = plain(DataProto.from_dict({"x": torch.tensor([0, 2, 2, 2])}, meta_info={"k": 1}))

    assert [each["group of two"] for each in outcomes] == [two, None, two]
    assert on_every_rank(outcomes, "group of one") == plain(small())


# --- what is refused, on every rank -----------------------------------------------------------------------------------

SAME_FIELDS = (
    "every rank has the same fields; the producer must write it for every rank, or the field be left out of all"
)
SENDABLE = "a value that can be pickled"
SAME_ROWS = "one dtype, layout and row shape"

REFUSALS = {
    "unpicklable": [
        f"BP050 unsent  {field}  on rank {rank}: function with_lambdas.<locals>.<lambda>{place}; {SENDABLE}"
        for rank in (1, 2)
        for field, place in (("c", " in row 0"), ("m", ""))
    ],
    "moody": ["BP050 unsent  data  on rank 1: RuntimeError: not now; a batch that can be pickled"],
    "local schema": [
        f"BP050 unsent  the bound schema  on rank 1: local_schema.<locals>.Local; {SENDABLE}; "
        "pickle names a class by its module; bind one that stands at the top of a module"
    ],
    "no values": ["BP045 store  x  on rank 1: f32[1] on the meta device; a tensor that has values"],
    "fields": [
        f"BP042 parts  pixels  missing in ranks 1, 2, present in rank 0 (written by 'render'); {SAME_FIELDS}",
        f"BP042 parts  image   missing in ranks 1, 2, present in rank 0; {SAME_FIELDS}",
    ],
    "kinds": [
        f"BP042 parts  x  f32 rows of [3] in ranks 0, 2, f64 rows of [3] in rank 1; {SAME_ROWS}",
        "BP042 parts  c  object rows of [] in ranks 0, 2, float64 rows of [] in rank 1; one kind of rows",
    ],
    "row shapes": [f"BP042 parts  x  f32 rows of [17] in ranks 0, 2, f32 rows of [21] in rank 1; {SAME_ROWS}"],
    "layouts": [
        "BP042 parts  x  i64 jagged on axis 1, [] in rank 0, i64 jagged on axis 2, [2] in rank 1, "
        f"i64 rows of [3] in rank 2; {SAME_ROWS}"
    ],
    "places": [
        "BP045 store  x  in batch of ranks 0, 2 and in non_tensor_batch of rank 1; one place for one name",
    ],
    "meta": ["BP041 conflict  k  rank 0 and rank 2 differ: 0 against 1; one value for the batch"],
    "inconsistent": [
        "BP016 rows  batch  on rank 1: 2 rows in the tensors, 3 rows in late; one number of rows in both stores"
    ],
    "no batch": [
        "BP045 store  data  on rank 2: dict of 1; a DataProto; DataProto.from_verl(x) and DataProto.from_tensordict(x) "
        "make one"
    ],
}


@pytest.mark.parametrize(("scenario", "lines"), REFUSALS.items(), ids=REFUSALS.keys())
def test_every_rank_raises_the_same_error(outcomes: Outcomes, scenario: str, lines: list[str]) -> None:
    """Case S7. The batch is as it was on each of them, and but for meta, which may be large, nothing was sent."""
    problems = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    headline = f"BatchError: {problems} in all_gather_data_proto; nothing was changed"

    assert on_every_rank(outcomes, f"refused: {scenario}") == "\n".join(
        [headline, "", *(f"  {line}" for line in lines)]
    )


def test_a_whole_that_breaks_its_schema_is_refused_on_every_rank(outcomes: Outcomes) -> None:
    assert on_every_rank(outcomes, "refused: schema") == (
        "ContractError: 1 problem where a batch is bound to Scored\n\n"
        '  BP012 shape  x  f32[3], declared "batch"; batch=1 in the bound dims\n\n'
        "  dims  batch=3 (x)"
    )


def test_ranks_are_those_of_the_group_and_a_stranger_is_refused(outcomes: Outcomes) -> None:
    headline = "BatchError: 1 problem in all_gather_data_proto; nothing was changed\n\n  "
    inside = f"{headline}BP042 parts  x  f32 rows of [] in rank 0, f16 rows of [] in rank 1; {SAME_ROWS}"
    outside = f"{headline}BP036 call  process_group  this process is not in it; the ranks of a group call this"

    assert [each["refused: strangers"] for each in outcomes] == [inside, outside, inside]


def test_no_collective_was_left_half_way(outcomes: Outcomes) -> None:
    assert on_every_rank(outcomes, "at last") == plain(DataProto.concat([small()] * 3))
