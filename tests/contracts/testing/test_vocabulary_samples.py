"""Samples of every schema in `schemas/rl`: valid at level `values`, under every configuration, and always the same."""

from __future__ import annotations

import pytest

from batchpact.contracts import use_config
from batchpact.contracts.testing import Sampler
from batchpact.schemas import BatchSchema
from batchpact.schemas.stores import Stores

from .vocabulary import COLUMNS, OFF, ON, answered, every_schema, problems

SCHEMAS = every_schema()
CONFIGS = ({"algorithm": COLUMNS}, ON, OFF)
SAMPLES = 200


def stores_of(sampler: Sampler, seed: int) -> Stores:
    drawn = sampler.draw(seed=seed)
    return drawn.batch.consistent_stores()._replace(args=drawn.args)


def test_all_schemas_are_found() -> None:
    assert len(SCHEMAS) > 60
    assert {"grpo.KlInReward.Reads", "queue.rollout.Generate.Writes", "dense.rollout.DatasetBatch"} <= set(SCHEMAS)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_sample_of_a_schema_is_valid(schema: type[BatchSchema]) -> None:
    """200 of them, a third under each configuration; conditional fields are there exactly where they have to be."""
    sampler = Sampler(schema)
    for seed in range(SAMPLES):
        config = CONFIGS[seed % len(CONFIGS)]
        with use_config(config):
            stores = stores_of(sampler, seed)
            counts = answered(schema, stores, config)

            assert problems(schema, stores) == problems(counts, stores) == (), f"seed {seed}"
            declared = {field.key for field in schema.__batchpact__.spec.fields}
            there = {field.key for field in counts.__batchpact__.spec.fields}
            assert not (declared - there) & {*stores.names()}, f"seed {seed}"


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_seed_gives_one_sample(schema: type[BatchSchema]) -> None:
    with use_config(ON):
        assert Sampler(schema).draw(seed=3).batch == Sampler(schema).draw(seed=3).batch
