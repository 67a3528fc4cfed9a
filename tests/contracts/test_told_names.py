"""The names of open columns on their way to a stage that has neither the meta nor the configuration that says them."""

from __future__ import annotations

from batchpact.contracts import use_config
from batchpact.contracts.told_names import TOLD_NAMES, names_told, told_names
from batchpact.contracts.verl.methods import MethodContract
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Columns, NonTensor, StageSchema, config, meta, named_by
from batchpact.schemas.stores import column


class Both(StageSchema):
    class Reads(BatchSchema):
        scores: Columns[NonTensor[float]] = named_by(meta("keys"))

    class Writes(BatchSchema):
        made: Columns[NonTensor[float]] = named_by(config("data.made"))


def test_what_was_told_is_what_is_known() -> None:
    data = DataProto.from_dict({}, {"a": column([1.0])}, {"keys": ["a"]})
    variants = MethodContract(Both).variants
    with use_config({"data": {"made": ["b"]}}):
        note = told_names(variants.of(data, (data,), {}))

    assert note == {"meta keys": ["a"], "config data.made": ["b"]}
    assert names_told({TOLD_NAMES: note}) == {("meta", "keys"): ("a",), ("config", "data.made"): ("b",)}
    assert names_told({}) == names_told({TOLD_NAMES: 3}) == {}
    sent = DataProto.from_dict({}, {"a": column([1.0])}, {TOLD_NAMES: note})
    there = variants.of(sent, (sent,), {})
    assert [field.key for field in (*there.spec.reads.fields, *there.spec.writes.fields)] == ["a", "b"]
