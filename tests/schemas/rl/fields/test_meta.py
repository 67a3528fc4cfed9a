"""What holds for the whole batch."""

from batchpact.schemas.rl.fields import meta

from ..specs import spec


def test_how_figures_of_several_parts_become_one() -> None:
    merged = {name: merge.how for name in ("Timing", "UpdateMetrics") if (merge := spec(getattr(meta, name)).merge)}

    assert merged == {"Timing": "max", "UpdateMetrics": "collect"}


def test_the_temperature_is_the_one_of_the_configuration() -> None:
    assert spec(meta.Temperature).source == "actor_rollout_ref.rollout.temperature"
