"""What the controller knows of a row."""

from batchpact.schemas.rl.fields import tags

from ..specs import spec


def test_tags_are_known_without_fetching() -> None:
    assert [place.placement for place in spec(tags.SeqLen).places] == ["tag"]
    assert [spec(tag).key for tag in (tags.SampledAt, tags.FirstWeights, tags.LastWeights)] == [
        "global_steps",
        "min_global_steps",
        "max_global_steps",
    ]
