"""What a process knows: its stages, and which stage schema owns a Reads."""

from __future__ import annotations

from batchpact.contracts import registry, stage
from batchpact.schemas import BatchSchema, Meta, StageSchema
from batchpact.schemas.rl import grpo


class Owner(StageSchema):
    class Reads(BatchSchema):
        gamma: Meta[float]


class Heir(Owner):
    drops = ("gamma",)


def found(name: str) -> list[str]:
    return [spec.description for spec in registry.stages() if spec.name == name]


def test_a_decorated_stage_is_known() -> None:
    @stage(Owner)
    def known_from_now_on(data: object) -> None:
        """The first."""

    assert found("known_from_now_on") == ["The first."]


def test_a_stage_of_the_same_qualified_name_replaces_the_first() -> None:
    """As when a module is loaded again."""

    def define(text: str) -> None:
        def loaded_twice(data: object) -> None: ...

        loaded_twice.__doc__ = text
        stage(Owner)(loaded_twice)

    define("The first.")
    define("The second.")

    assert found("loaded_twice") == ["The second."]


def test_the_owners_of_a_reads_are_found_the_first_declared_first() -> None:
    class SameFacts(Owner): ...

    assert registry.owners(Owner.Reads) == [Owner, SameFacts]
    assert registry.owners(Heir.Reads) == [Heir]
    assert registry.owners(grpo.KlInReward.Reads) == [grpo.KlInReward]
    assert registry.owners(grpo.PromptBatch) == []
