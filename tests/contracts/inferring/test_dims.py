"""The names of axes, and which words of the vocabulary go together."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from batchpact.contracts import infer
from batchpact.dataproto import DataProto
from tests.contracts.inferring.drafts import declared

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def ids(*sizes: int) -> torch.Tensor:
    return torch.ones(*sizes, dtype=torch.int64)


def lines(*batches: dict[str, Any]) -> list[str]:
    return declared(infer(*batches))


def test_axes_of_equal_size_share_a_name() -> None:
    assert lines({"a": torch.zeros(2, 7), "b": torch.zeros(2, 7, 9), "c": torch.zeros(2, 9)}) == [
        'a: Float32[Tensor, "batch length"]',
        'b: Float32[Tensor, "batch length size"]',
        'c: Float32[Tensor, "batch size"]',
    ]


def test_several_batches_tell_apart_what_one_does_not() -> None:
    one = {"a": torch.zeros(2, 7), "b": torch.zeros(2, 7)}
    two = {"a": torch.zeros(2, 8), "b": torch.zeros(2, 9)}

    assert lines(one) == ['a: Float32[Tensor, "batch length"]', 'b: Float32[Tensor, "batch length"]']
    assert lines(one, two) == ['a: Float32[Tensor, "batch length"]', 'b: Float32[Tensor, "batch length_2"]']


def test_a_size_that_several_names_have_is_a_guess() -> None:
    assert lines({"prompts": ids(2, 4), "responses": ids(2, 4), "scores": torch.zeros(2, 4)})[2:] == [
        "# a guess: response by its size, and so would be prompt",
        'scores: Float32[Tensor, "batch response"]',
    ]


def test_prompt_and_response_add_up() -> None:
    found = lines({"prompts": ids(2, 3), "responses": ids(2, 4), "input_ids": ids(2, 7), "mine": torch.zeros(2, 7)})

    assert found[2:] == ["input_ids: InputIds", 'mine: Float32[Tensor, "batch prompt+response"]']


def test_other_sums_need_two_batches_and_stay_a_guess() -> None:
    one, two = ({"a": torch.zeros(2, n), "b": torch.zeros(2, 9), "c": torch.zeros(2, n + 9)} for n in (3, 4))

    assert lines(one)[2] == 'c: Float32[Tensor, "batch length_3"]'
    assert lines(one, two)[-1] == 'c: Float32[Tensor, "batch length+length_2"]  # a guess: length+length_2 by its size'


def test_the_length_of_the_prompts_follows_from_a_sum() -> None:
    assert lines({"responses": ids(2, 4), "input_ids": ids(2, 7), "mine": torch.zeros(2, 3)}) == [
        "responses: Responses",
        "input_ids: InputIds",
        'mine: Float32[Tensor, "batch prompt"]',
    ]


def test_a_sum_of_which_nothing_is_known_is_no_sum() -> None:
    assert lines({"input_ids": ids(2, 7), "attention_mask": ids(2, 7)}) == [
        "# not InputIds of the vocabulary: nothing here says what 'prompt' and 'response' are",
        'input_ids: Int64[Tensor, "batch length"]',
        "attention_mask: WholeAttentionMask",
    ]


def test_the_minority_is_written_out() -> None:
    assert lines({"responses": ids(2, 4), "response_mask": ids(2, 4), "advantages": torch.zeros(2, 5)}) == [
        "responses: Responses",
        "response_mask: ResponseMask",
        "# not Advantages of the vocabulary: response is 4 in responses and response_mask,",
        "# and 5 here",
        'advantages: Float32[Tensor, "batch length"]',
    ]


def test_a_sum_that_does_not_add_up_is_written_out() -> None:
    assert lines({"prompts": ids(2, 3), "responses": ids(2, 4), "input_ids": ids(2, 8)})[2:] == [
        "# not InputIds of the vocabulary: prompt+response is another size than 8",
        'input_ids: Int64[Tensor, "batch length"]',
    ]


def test_a_twin_that_is_none_is_written_out() -> None:
    mask = ids(2, 3)

    assert lines({"response_mask": mask, "loss_mask": mask.clone()})[1] == "loss_mask: LossMask"
    assert lines({"response_mask": mask, "loss_mask": 0 * mask})[1:] == [
        "# not LossMask of the vocabulary: its values are not those of response_mask",
        'loss_mask: Int64[Tensor, "batch response"]',
    ]
    assert lines({"loss_mask": mask}) == [
        "# not LossMask of the vocabulary: there is no response_mask, which it is the same as",
        'loss_mask: Int64[Tensor, "batch length"]',
    ]


def test_ragged_axes_share_a_name_where_their_rows_are_as_long() -> None:
    def ragged(*lengths: int) -> torch.Tensor:
        return torch.nested.nested_tensor([torch.zeros(length) for length in lengths], layout=torch.jagged)

    data = DataProto.from_dict({"a": ragged(1, 2), "b": ragged(1, 2), "c": ragged(2, 1), "d": torch.zeros(2, 3)})

    assert declared(infer(data)) == [
        'a: Annotated[Float32[Tensor, "batch length"], Jagged("length")]',
        'b: Annotated[Float32[Tensor, "batch length"], Jagged("length")]',
        'c: Annotated[Float32[Tensor, "batch length_2"], Jagged("length_2")]',
        'd: Float32[Tensor, "batch length_3"]',
    ]


def test_an_axis_takes_no_name_of_an_integer_of_meta() -> None:
    data = DataProto.from_dict({"a": torch.zeros(2, 7)}, meta_info={"length": 5})

    assert declared(infer(data)) == ['a: Float32[Tensor, "batch length_2"]', "length: Meta[int]"]
