"""`infer`: the source of a schema that batches keep to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.contracts import infer
from batchpact.contracts.inferring.infer import source_of
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError, ContractError
from tests.contracts.inferring.drafts import complaint, declared, formatted, schema_of
from tests.dataproto.support import says
from tests.schemas.rl.batches import dense, jagged

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def batch(rows: int, length: int, **more: Any) -> DataProto:
    """A batch that is half of the vocabulary and half of somebody's own."""
    return DataProto.from_dict(
        tensors={
            "responses": torch.ones(rows, 5, dtype=torch.int64),
            "old_log_probs": torch.full((rows, 5), 0.5),
            "hidden": torch.rand(rows, length, 16),
            "score": torch.rand(rows),
        },
        non_tensors={"uid": [f"{row}" for row in range(rows)], "answer": [{"text": "4", "tries": 2}] * rows},
        meta_info={"temperature": 1.0, "experiment-name": "a", **more},
    )


SOURCE = '''\
from typing import Annotated, Any

from batchpact.schemas import BatchSchema, Meta, Name, NonTensor
from batchpact.schemas.rl.fields import Responses, Temperature, Uid
from jaxtyping import Float32
from torch import Tensor


class RolloutBatch(BatchSchema):
    """What 2 batches held: a draft, to be looked over."""

    responses: Responses
    # not OldLogProbs of the vocabulary: 10 elements in rows 0, 1; the extreme is 0.5;
    # declared <= 0.0001
    old_log_probs: Float32[Tensor, "batch response"]
    # size is 16 in each batch: it may be a fixed size
    hidden: Float32[Tensor, "batch length size"]
    score: Float32[Tensor, "batch"]
    uid: Uid
    answer: NonTensor[dict[str, Any]]
    temperature: Temperature
    experiment_name: Annotated[Meta[str], Name("experiment-name")]
    round: Meta[int] | None = None  # in 1 of 2 batches
'''


def test_the_source_of_two_batches() -> None:
    """Words of the vocabulary where they fit, guesses with a comment, and what only one batch holds is optional."""
    assert infer(batch(2, 7), batch(3, 9, round=1), name="RolloutBatch") == SOURCE


@pytest.mark.parametrize("stores", [dense(), jagged()], ids=["dense", "jagged"])
def test_a_step_of_the_vocabulary_is_imported(stores: Any) -> None:
    source = source_of([stores], "Step")

    assert complaint(schema_of(source, "Step"), stores) == ""
    alone = [line for line in declared(source) if "[" in line and line[0] != "#"]
    assert alone == (
        []
        if stores.tensors["prompts"].layout is torch.strided
        else [
            'token_level_scores: Annotated[Float32[Tensor, "batch response"], Jagged("response")]',
            'entropys: Annotated[Float32[Tensor, "batch response"], Jagged("response")]',
            'sum_pi_squared: Annotated[Float32[Tensor, "batch response"], Jagged("response")]',
        ]
    )


@pytest.mark.parametrize(
    "source",
    [
        SOURCE,
        source_of([dense()], "Dense"),
        source_of([jagged()], "Jagged"),
        infer(
            batch(2, 7), {"a_tensor_with_a_long_name": torch.zeros(2, 3), "класс": np.zeros(2), "x" * 40: np.ones(2)}
        ),
    ],
)
def test_formatters_leave_the_source_as_it_is(source: str) -> None:
    assert formatted(source) == source


def test_containers_of_every_kind() -> None:
    tensors = {"responses": torch.ones(2, 3, dtype=torch.int64)}
    fields = {"uid": NonTensorStack("a", "b"), "temperature": NonTensorData(1.0, batch_size=[2])}
    expected = ["responses: Responses", "uid: Uid"]

    assert declared(infer(DataProto.from_dict(tensors, {"uid": ["a", "b"]}))) == expected
    assert declared(infer({**tensors, "uid": np.array(["a", "b"], dtype=object)})) == expected
    assert declared(infer(TensorDict({**tensors, **fields}, [2]))) == [*expected, "temperature: Temperature"]


@pytest.mark.peers
def test_a_batch_of_verl() -> None:
    verl = pytest.importorskip("verl")
    data = verl.DataProto.from_dict(
        {"responses": torch.ones(2, 3, dtype=torch.int64)}, {"uid": np.array(["a", "b"], object)}
    )

    assert declared(infer(data)) == ["responses: Responses", "uid: Uid"]


def test_without_a_field() -> None:
    source = infer(DataProto())

    assert declared(source) == []
    assert schema_of(source).__batchpact__.spec.fields == ()


def test_a_dtype_that_differs_is_a_family() -> None:
    source = infer({"x": torch.zeros(2)}, {"x": torch.zeros(2).bfloat16()}, {"x": torch.zeros(2)})

    assert declared(source) == ['x: Float[Tensor, "batch"]  # f32 in batches 0, 2, bf16 in batch 1']


def test_a_rank_that_differs_leaves_the_axes_open() -> None:
    source = infer({"x": torch.zeros(2)}, {"x": torch.zeros(2, 3)})

    assert declared(source) == ['x: Float32[Tensor, "batch ..."]  # rank 1 in batch 0, rank 2 in batch 1']


def test_two_places_are_two_types() -> None:
    source = infer({"x": torch.zeros(2)}, {"x": np.array(["a"], dtype=object)})

    assert declared(source) == [
        "# batch in batch 0, non_tensor_batch in batch 1",
        'x: Float32[Tensor, "batch"] | NonTensor[str]',
    ]


def test_what_no_field_can_declare_is_left_out_and_said() -> None:
    """A field has one layout, so one that is dense here and jagged there can only be left out."""
    rows = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(1)], layout=torch.jagged)
    strided = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(1)])
    source = infer(TensorDict({"x": rows, "y": strided}, [2]), {"x": torch.zeros(2, 2)})

    assert declared(source) == [
        "# x: left out: f32[2, jagged], f32[2, 2], and a field has one layout",
        "# y: left out: f32 strided nested is nothing that a field can declare",
    ]
    assert schema_of(source).__batchpact__.spec.fields == ()


def test_an_integer_of_the_name_of_a_dim_does_not_become_its_size() -> None:
    data = DataProto.from_dict({"x": torch.zeros(2, 3)}, meta_info={"batch": 7})

    assert declared(infer(data)) == [
        'x: Float32[Tensor, "batch length"]',
        "batch: Meta[int | float]  # not int alone, which would say the size of the dim batch",
    ]


def test_meta_that_may_be_none_is_optional() -> None:
    one, two = (DataProto.from_dict(meta_info={"round": number, "nothing": None}) for number in (1, None))

    assert declared(infer(one, two)) == ["round: Meta[int] | None = None", "nothing: Meta[Any] | None = None"]


class TestRefused:
    def test_what_is_no_batch(self) -> None:
        with says(
            ContractError,
            "where a schema is inferred",
            "BP036 call  batch  list of 2; "
            "a DataProto, a TensorDict, verl's DataProto, or a dict of tensors and columns",
        ):
            infer([1, 2])

    def test_no_batch(self) -> None:
        with says(ContractError, "where a schema is inferred", "BP036 call  batches  none; at least one batch"):
            infer()

    @pytest.mark.parametrize("name", ["my batch", "batch", "", "None"])
    def test_a_name_that_no_class_has(self, name: str) -> None:
        with pytest.raises(ContractError, match="the name of a class, as in RolloutBatch"):
            infer({"x": torch.zeros(2)}, name=name)

    def test_rows_that_do_not_fit_together(self) -> None:
        data = batch(2, 3)
        data.non_tensor_batch["uid"] = np.array(["a"], dtype=object)

        with pytest.raises(BatchError, match="uid"):
            infer(data)
