"""What goes with one call."""

from batchpact.schemas.rl.fields import arguments

from ..specs import spec


def test_an_argument_is_filled_from_the_configuration_or_by_the_trainer() -> None:
    assert spec(arguments.Gamma).source == "algorithm.gamma"
    assert spec(arguments.NoLoraAdapter).source is None


def test_an_argument_never_enters_the_batch() -> None:
    for argument in (arguments.Gamma, arguments.NoLoraAdapter, arguments.GdpoRewardKeys):
        assert [place.placement for place in spec(argument).places] == ["arg"]
