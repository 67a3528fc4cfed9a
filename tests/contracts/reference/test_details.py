"""What a declaration says beside its place, in words."""

from __future__ import annotations

import pytest

from batchpact.contracts.reference.details import details
from batchpact.schemas.record import FieldSpec, FillSpec, MergeSpec, PadSpec, PlaceSpec, RuleSpec

ONE = FieldSpec(name="field", key="field", places=(PlaceSpec(placement="meta", type="float"),))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, []),
        ({"rules": (RuleSpec(kind="finite"), RuleSpec(kind="ge", value=0))}, ["finite", ">= 0"]),
        ({"nullable": True, "default": "a"}, ["may be None", 'default "a"']),
        ({"source": "algorithm.gamma", "default": 0.5}, ["default 0.5", "filled from algorithm.gamma"]),
        ({"same_as": "response_mask"}, ["the same values as response_mask"]),
        ({"role": "key"}, ["a key: no two rows have the same"]),
        ({"role": "group"}, ["a group: rows may share it"]),
        ({"merge": MergeSpec(how="sum")}, ["merged by sum"]),
        ({"merge": MergeSpec(how="close", rtol=1e-5)}, ["merged by close (rtol=1e-05)"]),
        ({"merge": MergeSpec(how="by_key", policy_of="my.policy")}, ["merged by by_key (my.policy)"]),
        ({"pad": PadSpec(value=0)}, ["padded with 0 on the right"]),
        (
            {"pad": PadSpec(value="-Infinity", side={"prompt": "left", "response": "right"})},
            ['padded with "-Infinity" on the left along prompt, right along response'],
        ),
        ({"fill": FillSpec(value=0.0)}, ["filled with 0.0 in rows that do not have it"]),
    ],
)
def test_every_part_of_a_declaration_is_told(parts: dict[str, object], words: list[str]) -> None:
    assert list(details(ONE.model_copy(update=parts))) == words
