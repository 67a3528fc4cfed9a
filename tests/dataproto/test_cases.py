"""Situations that broke real training runs, one test for each that a container can show; by the numbers of the list.

What a container cannot show stands where it can be: stages (M1, M2, R4, W6), pipelines (M5, M7), the wire and files
(W...), several processes (S7).
"""

from __future__ import annotations

import pickle
from typing import Annotated

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from pydantic import Field
from torch import Tensor

from batchpact.dataproto import DataProto, collate_fn, column, pad_dataproto_to_divisor, unpad_dataproto
from batchpact.schemas import (
    BatchError,
    BatchSchema,
    ContractError,
    Fill,
    Finite,
    Jagged,
    Key,
    Merge,
    Meta,
    MissingFieldError,
    NonTensor,
    Pad,
    rule,
)
from tests.dataproto.support import jagged, jagged_on_2, plain, refuses, says, small

# --- missing and drifting fields --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_m3_rows_with_other_keys_are_named_whichever_comes_first(order: tuple[int, int]) -> None:
    whole = DataProto.from_dict({"x": torch.ones(1)}, {"acc": [1.0], "pred": ["A"]})[0]
    short = DataProto.from_dict({"x": torch.ones(1)}, {"acc": [1.0]})[0]
    rows = [whole, short]

    with pytest.raises(BatchError, match=f"pred  not in non_tensor_batch of row {order.index(1)}; every row has"):
        collate_fn([rows[at] for at in order])


def test_m4_the_part_that_lacks_a_field_is_named_with_the_stage_that_wrote_it() -> None:
    one, two = small(), small().select(["ids"])
    one._writers = {"reward": "score"}

    with refuses(
        "concat",
        "BP042 parts  reward  missing in part 1, present in part 0 (written by 'score'); every part has the same fields"
        "; the producer must write it for every part, or the field be left out of all",
    ):
        DataProto.concat([one, two])


def test_m4_an_optional_field_with_a_fill_is_filled_and_masked() -> None:
    class Reads(BatchSchema):
        x: Int64[Tensor, "batch"]
        y: Annotated[Float32[Tensor, "batch"], Fill(0.5)] | None = None

    one = DataProto.from_dict({"x": torch.tensor([1]), "y": torch.tensor([2.0])}).bind(Reads)
    two = DataProto.from_dict({"x": torch.tensor([3])}).bind(Reads)

    made = DataProto.concat([two, one])

    assert made.batch is not None
    assert made.batch["y"].tolist() == [0.5, 2.0]
    assert made.presence("y").tolist() == [False, True]


def test_m6_a_field_that_is_jagged_in_one_branch_and_dense_in_the_other_meets_one_contract() -> None:
    class Reads(BatchSchema):
        teacher: Annotated[Float32[Tensor, "batch length"], Jagged("length")]

    DataProto.from_dict({"teacher": jagged([1.0], [2.0, 3.0], dtype=torch.float32)}).bind(Reads)
    with says(
        ContractError,
        "where a batch is bound to Reads",
        'BP015 layout  teacher  f32[2, 2], declared jagged on "length"',
    ):
        DataProto.from_dict({"teacher": torch.ones(2, 2)}).bind(Reads)


def test_m8_a_zero_length_tensor_and_a_none_among_the_rows_are_found_when_a_schema_is_bound() -> None:
    class Reads(BatchSchema):
        responses: Int64[Tensor, "batch response"]
        rollout_log_probs: NonTensor[list[float]] | Float32[Tensor, "batch response"] | None = None

    ids = {"responses": torch.ones(2, 3, dtype=torch.int64)}

    with pytest.raises(ContractError, match="response  3 in responses, 0 in rollout_log_probs; all must agree"):
        DataProto.from_dict({**ids, "rollout_log_probs": torch.ones(2, 0)}).bind(Reads)
    with pytest.raises(ContractError, match="rollout_log_probs  row 1: NoneType"):
        DataProto.from_dict(ids, {"rollout_log_probs": [[0.5], None]}).bind(Reads)


def test_m9_a_log_prob_has_no_silent_zero() -> None:
    """Filled with 0.0 it would read as probability one: an importance ratio of 5e4."""

    class Reads(BatchSchema):
        response_mask: Int64[Tensor, "batch response"]
        rollout_log_probs: Float32[Tensor, "batch response"] | None = None

        @rule
        def not_all_zero(self) -> Tensor:
            """a row's valid tokens do not all have log-prob 0"""
            assert self.rollout_log_probs is not None
            return ((self.rollout_log_probs != 0) & self.response_mask.bool()).any(dim=1)

    mask = {"response_mask": torch.ones(1, 2, dtype=torch.int64)}
    one = DataProto.from_dict({**mask, "rollout_log_probs": -torch.ones(1, 2)}).bind(Reads)
    two = DataProto.from_dict(mask)

    with pytest.raises(BatchError, match="rollout_log_probs  missing in part 1, present in part 0"):
        DataProto.concat([one, two])
    with pytest.raises(ContractError, match="not_all_zero  it does not hold in row 0"):
        DataProto.from_dict({**mask, "rollout_log_probs": torch.zeros(1, 2)}).bind(Reads)


def test_m11_a_misspelt_name_is_an_error_in_every_store_and_nothing_is_taken() -> None:
    data = small()
    before = plain(data)

    for wrong in ({"batch_keys": ["idz"]}, {"non_tensor_batch_keys": ["uidd"]}, {"meta_info_keys": ["temprature"]}):
        with pytest.raises(MissingFieldError, match="closest name"):
            data.select(**wrong)
    with pytest.raises(MissingFieldError, match="typo"):
        data.pop(["ids", "typo"])

    assert plain(data) == before


# --- placement and object columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[[1, 2], [3, 4]], [[1], [2, 3]], [[1]], [[]], [np.ones(2), np.ones(2)], []])
def test_p1_an_object_column_has_one_axis_whatever_its_rows_are(rows: list[object]) -> None:
    data = DataProto.from_dict(non_tensors={"cells": rows})

    assert data.non_tensor_batch["cells"].shape == (len(rows),)
    assert data.non_tensor_batch["cells"].dtype == object


@pytest.mark.parametrize("rows", [[[], []], [[0.5], [0.5]], [[{"role": "user"}], []], [None, {}]])
def test_p2_cells_survive_a_trip_through_a_tensordict(rows: list[object]) -> None:
    data = DataProto.from_dict({"x": torch.ones(2)}, {"cells": rows})

    back = DataProto.from_tensordict(data.to_tensordict())

    assert back == data
    assert [type(cell) for cell in back.non_tensor_batch["cells"]] == [type(cell) for cell in rows]


def test_p3_cells_keep_their_type_and_an_array_where_a_list_is_declared_is_refused_at_entry() -> None:
    class Reads(BatchSchema):
        tools: NonTensor[list[dict[str, int]]]

    data = DataProto.from_dict(non_tensors={"tools": [[{"a": 1}], []]}).bind(Reads)
    for part in (data[[1, 0]], DataProto.concat(data.chunk(2)), data.repeat(2)):
        assert {type(cell) for cell in part.non_tensor_batch["tools"]} == {list}

    with pytest.raises(ContractError, match="tools  row 0: ndarray, "):
        DataProto.from_dict(non_tensors={"tools": column([np.array([{"a": 1}])])}).bind(Reads)


def test_p4_meta_is_never_cut_whatever_its_length() -> None:
    data = DataProto.from_dict(
        {"x": torch.arange(4)}, {"cells": ["a", "b", "c", "d"]}, {"stop": ["</s>"] * 4, "tag": "abcd"}
    )

    for part in (data[:2], *data.chunk(4), data[[0]]):
        assert part.meta_info == {"stop": ["</s>"] * 4, "tag": "abcd"}
    assert data.chunk(4)[0].non_tensor_batch["cells"].tolist() == ["a"], "one row is cut like any other"


def test_p5_a_value_of_unknown_place_is_named_and_a_schema_places_it() -> None:
    class Reads(BatchSchema):
        score: NonTensor[float]
        stop: Meta[list[str]]

    given = {"score": [0.5, 1.5], "stop": ["a", "b"]}
    kept = dict(given)

    with pytest.raises(
        BatchError, match="score  list of 2; a tensor, a numpy column, or a field that the schema places"
    ):
        DataProto.from_single_dict(given)
    data = DataProto.from_single_dict(given, schema=Reads)

    assert data.non_tensor_batch["score"].tolist() == [0.5, 1.5]
    assert data.meta_info == {"stop": ["a", "b"]}
    assert given == kept


def test_p6_to_moves_the_tensors_of_the_batch_and_no_cell() -> None:
    cell = torch.ones(2)
    data = DataProto.from_dict({"x": torch.ones(1)}, {"image": [cell]}, {"table": cell}).to("meta")

    assert data.batch is not None
    assert data.batch["x"].device.type == "meta"
    assert data.non_tensor_batch["image"][0] is data.meta_info["table"] is cell


def test_p7_a_declared_tensor_never_becomes_an_object_column() -> None:
    class Reads(BatchSchema):
        pixels: Float32[Tensor, "batch size"]

    with pytest.raises(BatchError, match=r"pixels  list of 3; a tensor, .*torch\.tensor\(x\) makes a tensor"):
        DataProto.from_single_dict({"pixels": [torch.ones(1), None, torch.ones(1)]}, schema=Reads)


# --- meta -------------------------------------------------------------------------------------------------------------


class Measured(BatchSchema):
    x: Int64[Tensor, "batch"]
    timing: Annotated[Meta[dict[str, float]], Merge("mean")] = Field(default_factory=dict)
    loss: Annotated[Meta[float], Merge.close(1e-5)] = 0.0
    tokens: Annotated[Meta[int], Merge("sum")] = 0
    step: Meta[int] = 0


def rank(**meta: object) -> DataProto:
    """What a rank returns: one row, and what it measured."""
    return DataProto.from_dict({"x": torch.ones(1, dtype=torch.int64)}, meta_info=meta).bind(Measured)


def test_t1_the_metrics_of_all_ranks_are_kept() -> None:
    ranks = [DataProto(meta_info={"metrics": {"loss": value}}) for value in (1.0, 2.0, 3.0)]

    assert DataProto.concat(ranks).meta_info == {"metrics": {"loss": [1.0, 2.0, 3.0]}}
    assert DataProto.concat([DataProto.concat(ranks[:2]), ranks[2]]).meta_info == {"metrics": {"loss": [1.0, 2.0, 3.0]}}


def test_t2_measured_values_may_differ_between_ranks_as_declared() -> None:
    made = DataProto.concat([rank(timing={"gen": 1.0}, loss=0.5), rank(timing={"gen": 2.0}, loss=0.5000001)])

    assert made.meta_info["timing"] == {"gen": 1.5}
    assert made.meta_info["loss"] == 0.5


def test_t3_each_key_is_merged_by_its_own_rule_and_the_inputs_are_untouched() -> None:
    ranks = [rank(step=3, tokens=7, timing={"gen": 1.0}), rank(step=3, tokens=7, timing={"gen": 3.0})]

    made = DataProto.concat(ranks)

    assert made.meta_info == {"step": 3, "tokens": 14, "timing": {"gen": 2.0}}
    assert [part.meta_info["timing"] for part in ranks] == [{"gen": 1.0}, {"gen": 3.0}]


def test_t4_a_metric_that_a_rank_lacks_counts_once_less() -> None:
    ranks = [DataProto(meta_info={"metrics": metrics}) for metrics in ({"m": 1.0, "n": 2.0}, {"n": 4.0})]

    assert DataProto.concat(ranks).meta_info == {"metrics": {"m": [1.0], "n": [2.0, 4.0]}}
    assert DataProto.concat([rank(timing={"m": 1.0}), rank(timing={})]).meta_info["timing"] == {"m": 1.0}


def test_t5_recomputed_values_say_by_how_much_they_differ_and_one_side_may_count() -> None:
    one, two = (DataProto.from_dict({"old_log_probs": torch.tensor([[0.5], [value]])}) for value in (0.25, 0.375))

    with refuses(
        "union",
        "BP041 conflict  old_log_probs  the sides differ: 1 element differs by up to 0.125, first in row 1; "
        "equal values, or on_conflict='left' or 'right'",
    ):
        one.union(two)
    assert one.select().union(two, on_conflict="right") == two
    assert one.select().union(two, on_conflict="left") == one


# --- rows and shapes --------------------------------------------------------------------------------------------------


def test_r1_a_forgotten_repeat_is_named_with_its_factor() -> None:
    prompts, responses = (DataProto.from_dict({name: torch.ones(rows)}) for name, rows in (("p", 128), ("r", 640)))

    with refuses(
        "union",
        "BP016 rows  batch  128 rows on the left, 640 on the right; a union joins fields of the same rows; 640 is 5 "
        "times 128: a repeat(5) of the left side is missing?",
    ):
        prompts.union(responses)


def test_r2_rows_in_another_order_are_found_by_their_key_and_put_back_on_request() -> None:
    class Reads(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]

    left = DataProto.from_dict({"x": torch.tensor([1, 2, 3])}, {"uid": ["a", "b", "c"]}).bind(Reads)
    right = DataProto.from_dict({"y": torch.tensor([30, 10, 20])}, {"uid": ["c", "a", "b"]})

    with refuses(
        "union",
        "BP023 keys  uid  row 0 is 'a' on the left and 'c' on the right; the same rows in the same order; "
        "union(other, realign=True) puts the right side into the order of the left",
    ):
        left.union(right)
    left.union(right, realign=True)

    assert left.batch is not None
    assert left.batch["y"].tolist() == [10, 20, 30]


def test_r3_all_stores_are_cut_at_the_same_rows() -> None:
    data = DataProto.from_dict({"x": torch.arange(10)}, {"c": list(range(10)), "n": np.arange(10)})

    parts = data.chunk(3, uneven=True)

    assert [len(part) for part in parts] == [4, 3, 3]
    for part in parts:
        assert part.batch is not None
        assert part.batch["x"].tolist() == part.non_tensor_batch["c"].tolist() == part.non_tensor_batch["n"].tolist()


def test_r5_a_join_keeps_the_shape_of_the_rows() -> None:
    three, four = (DataProto.from_dict({"x": torch.ones(2, size)}) for size in (3, 4))

    assert DataProto.concat([three, three]).batch["x"].shape == (4, 3)  # type: ignore[index]
    with refuses(
        "concat",
        "BP042 parts  x  f32 rows of [3] in part 0, f32 rows of [4] in part 1; one dtype, layout and row shape",
    ):
        DataProto.concat([three, four])


class Padded(BatchSchema):
    prompts: Annotated[Int64[Tensor, "batch prompt"], Pad(0, "left")]
    responses: Annotated[Int64[Tensor, "batch response"], Pad(0)]
    response_mask: Annotated[Int64[Tensor, "batch response"], Pad(0)]
    input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Pad(0, {"prompt": "left", "response": "right"})]
    uid: Annotated[NonTensor[str], Pad("")]


def tokens(uid: str, prompt: list[int], response: list[int]) -> DataProto:
    """One row of a rollout."""
    fields = {
        "prompts": prompt,
        "responses": response,
        "response_mask": [1] * len(response),
        "input_ids": prompt + response,
    }
    return DataProto.from_dict({key: torch.tensor([row]) for key, row in fields.items()}, {"uid": [uid]}).bind(Padded)


def test_r6_and_s5_rows_of_other_lengths_are_made_equally_long_in_every_field_by_dim_name() -> None:
    parts = [tokens("a", [1, 2], [3, 4, 5]), tokens("b", [6], [7, 8, 9, 9])]

    made = DataProto.concat(parts, pad=True)

    assert made.batch is not None
    assert {key: value.tolist() for key, value in made.batch.items()} == {
        "prompts": [[1, 2], [0, 6]],
        "responses": [[3, 4, 5, 0], [7, 8, 9, 9]],
        "response_mask": [[1, 1, 1, 0], [1, 1, 1, 1]],
        "input_ids": [[1, 2, 3, 4, 5, 0], [0, 6, 7, 8, 9, 9]],
    }


def test_r8_one_nan_and_one_infinite_log_prob_are_found() -> None:
    class Writes(BatchSchema):
        log_probs: Annotated[Float32[Tensor, "batch response"], Finite()]

    values = torch.zeros(3, 2)
    values[1, 1], values[2, 0] = float("nan"), -float("inf")

    with says(
        ContractError,
        "where a batch is bound to Writes",
        "BP021 values  log_probs  2 elements in rows 1, 2; 1 NaN, 1 infinite; declared finite",
    ):
        DataProto.from_dict({"log_probs": values}).bind(Writes)


# --- padding and splitting --------------------------------------------------------------------------------------------


def test_s1_rows_that_do_not_share_equally_are_named_with_the_ways_out() -> None:
    data = DataProto.from_dict({"x": torch.arange(100)})

    with refuses(
        "chunk",
        "BP043 split  chunks  100 rows into 8 parts; parts of equal length; 4 of 100 rows would be left over: "
        "chunk(8, uneven=True), 4 pad rows, or another number of parts",
    ):
        data.chunk(8)
    assert [len(part) for part in data.chunk(8, uneven=True)] == [13, 13, 13, 13, 12, 12, 12, 12]


@pytest.mark.parametrize("rows", range(1, 10))
@pytest.mark.parametrize("divisor", [1, 2, 3, 8, 13])
def test_s2_any_length_is_padded_to_any_divisor_and_back(rows: int, divisor: int) -> None:
    data = DataProto.from_dict({"x": torch.arange(rows)}, {"c": list(range(rows))})

    padded, count = pad_dataproto_to_divisor(data, divisor)

    assert len(padded) % divisor == 0
    assert count < divisor
    order = np.random.default_rng(rows).permutation(len(padded))
    back = unpad_dataproto(padded[order], count)
    assert sorted(back.non_tensor_batch["c"].tolist()) == list(range(rows))


def test_s3_pad_rows_are_neutral_where_the_schema_says_how() -> None:
    """As copies they would enter group means and the loss."""
    data = DataProto.concat([tokens("a", [1, 2], [3, 4]), tokens("b", [5, 6], [7, 8]), tokens("b", [5, 6], [9, 9])])

    padded, _ = pad_dataproto_to_divisor(data, 4)

    assert padded.batch is not None
    assert padded.batch["response_mask"].tolist() == [[1, 1], [1, 1], [1, 1], [0, 0]]
    assert padded.non_tensor_batch["uid"].tolist() == ["a", "b", "b", ""]
    assert padded.pad_mask.tolist() == [False, False, False, True]


def test_s4_padding_leaves_the_callers_batch_as_it_is() -> None:
    data = DataProto.concat([tokens("a", [1], [2]), tokens("b", [3], [4])])
    before = plain(data)

    pad_dataproto_to_divisor(data, 5)

    assert plain(data) == before
    assert data.union(DataProto.from_dict({"values": torch.ones(2)})) is data


def test_s5_unequal_lengths_are_an_error_with_both_parts_and_the_way_out() -> None:
    with pytest.raises(BatchError) as caught:
        DataProto.concat([tokens("a", [1], [2, 3]), tokens("b", [1], [2, 3, 4])])

    found = {violation.field: violation for violation in caught.value.violations}
    assert set(found) == {"responses", "response_mask", "input_ids"}
    assert found["responses"].actual == "i64 rows of [2] in part 0, i64 rows of [3] in part 1"
    assert found["responses"].hint == "concat(parts, pad=True) makes rows equally long"


@pytest.mark.parametrize("data", [DataProto(), small()[:0], small().select([]), small().select(None, [], [])])
def test_s6_no_rows_and_no_fields_are_legal_everywhere(data: DataProto) -> None:
    assert DataProto.concat([data, data]) == DataProto.concat([DataProto.concat([data, data])])
    assert data.chunk(1) == data.split(5 if len(data) else 1) == [data]
    assert data.repeat(1) == data == data[:] == data.select()
    assert DataProto.from_tensordict(data.to_tensordict()) == data


# --- nested tensors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tensor", [jagged([1], [2, 3], [], [4]), jagged_on_2([[1], [2]], [[3, 4], [5, 6]], [[7], [8]], [[], []])]
)
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_j1_a_jagged_tensor_is_cut_and_joined_on_its_rows(tensor: Tensor, parts: int) -> None:
    data = DataProto.from_dict({"position_ids": tensor})

    assert plain(DataProto.concat(data.chunk(parts))) == plain(data)
    assert plain(DataProto.concat([data[[2]], data[3:], data[[0, 1]]])[[2, 3, 0, 1]]) == plain(data)


@pytest.mark.parametrize("tensor", [jagged([1], [2, 3]), jagged_on_2([[1], [2]], [[3, 4], [5, 6]])])
def test_j2_the_ragged_axis_survives_pickling(tensor: Tensor) -> None:
    data = DataProto.from_dict({"position_ids": tensor})

    assert plain(pickle.loads(pickle.dumps(data))) == plain(data)


def test_j3_rows_of_one_length_stay_jagged() -> None:
    data = DataProto.from_dict({"x": jagged([1, 2], [3, 4], [5])})

    for part in (data[:2], data[2:], data[[0]], data[[1, 0]]):
        assert part.batch is not None
        assert part.batch["x"].layout is torch.jagged


# --- sharing ----------------------------------------------------------------------------------------------------------


def test_a1_every_derived_batch_has_meta_of_its_own() -> None:
    data = small()
    derived = [data[:2], data.slice(0, 2), data.select(), data.repeat(2), *data.chunk(2), data[[0]], *data.split(3)]

    for at, part in enumerate(derived):
        part.meta_info["mine"] = at
        part.non_tensor_batch["mine"] = np.zeros(len(part))

    assert [part.meta_info["mine"] for part in derived] == list(range(len(derived)))
    assert "mine" not in data.meta_info and "mine" not in data.non_tensor_batch


def test_a2_the_callers_dicts_stay_as_they_are() -> None:
    tensors, columns, meta = {"x": torch.ones(2)}, {"c": [1, 2]}, {"m": 1}

    made = DataProto.from_dict(tensors, columns, meta, auto_padding=True)
    made.meta_info["n"], made.non_tensor_batch["d"] = 2, column([1, 2])
    single = {"x": torch.ones(2), "c": np.arange(2)}
    DataProto.from_single_dict(single)

    assert (list(tensors), columns, meta, list(single)) == (["x"], {"c": [1, 2]}, {"m": 1}, ["x", "c"])


@pytest.mark.parametrize(
    "operation",
    [
        lambda data: data.pop(["ids", "typo"], ["uid"]),
        lambda data: data.select(["ids"], ["typo"]),
        lambda data: data.rename(["ids", "typo"], ["a", "b"]),
        lambda data: data.union(DataProto.from_dict({"new": torch.ones(4), "ids": torch.zeros(4, 2)})),
        lambda data: data.union(DataProto.from_dict({"new": torch.ones(3)})),
        lambda data: data.reorder(torch.tensor([0, 9])),
        lambda data: data.padding(-1),
    ],
)
def test_a3_what_fails_has_changed_nothing(operation: object) -> None:
    data = small()
    before, held = plain(data), data.batch

    with pytest.raises(ContractError):
        operation(data)  # type: ignore[operator]

    assert plain(data) == before
    assert data.batch is held
