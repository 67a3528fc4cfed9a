"""A project, from its records: pipelines proved, stages with their places, fields with all declarations."""

from __future__ import annotations

from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.reference.project import Project
from tests.contracts.proof.ppo import Generate, Prompts, ppo


def project() -> Project:
    pipeline = ppo().spec
    stages = {stage.qualname: stage.model_copy(update={"when": None}) for stage in pipeline.stages}
    return Project(Contracts(stages, {"extra.Alone": Prompts.__batchpact__.spec}, {"ppo": pipeline}).normal())


def test_a_stage_has_its_places_in_all_pipelines() -> None:
    found = project().stages

    assert len(found) == 10
    ((view, at),) = found["tests.contracts.proof.ppo.Score"]
    assert (view.pipeline.name, at, view.stage(at).name) == ("ppo", 2, "score")


def test_a_stage_in_no_pipeline_is_there_too() -> None:
    spec = Generate.__batchpact__

    assert Project(Contracts({spec.qualname: spec})).stages == {spec.qualname: []}


def test_a_field_has_every_declaration() -> None:
    found = project().fields

    assert [(owner.rpartition(".")[2], side) for owner, side, _ in found["rm_scores"]] == [
        ("RewardModel", "writes"),
        ("Score", "reads"),
    ]
    assert [(owner, side) for owner, side, _ in found["uid"]] == [
        ("ppo", "inputs"),
        ("tests.contracts.proof.ppo.Advantage", "reads"),
        ("extra.Alone", "schema"),
    ]
    assert list(found) == sorted(found)
