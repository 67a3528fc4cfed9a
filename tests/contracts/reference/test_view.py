"""A pipeline, told: each sentence links to the stages and fields in it."""

from __future__ import annotations

from batchpact.contracts import Pipeline, when
from batchpact.contracts.reference.told import Line, Told
from batchpact.contracts.reference.view import View
from batchpact.contracts.reference.words import Ref
from tests.contracts.plans import declare, schema
from tests.contracts.proof import ppo as p
from tests.contracts.proof.ppo import ppo


def view() -> View:
    pipeline = ppo()
    return View(pipeline.spec, pipeline.flow())


def test_a_stage_links_to_its_fields_and_to_those_who_write_and_read_them() -> None:
    told = view().stage(2)

    assert told == Told(
        "stage",
        "score",
        "ppo",
        "tests.contracts.proof.ppo.Score",
        (),
        (
            Line("rows", None, (("same",),)),
            Line(
                "reads",
                Ref("field", "responses", "responses"),
                (('i64 "batch response"',), ("written by ", Ref("stage", "generate", "'generate'", 0))),
            ),
            Line(
                "reads",
                Ref("field", "rm_scores", "rm_scores"),
                (
                    ('f32 "batch response"',),
                    ("where reward_model.enable",),
                    ("written by ", Ref("stage", "reward_model", "'reward_model'", 1)),
                ),
            ),
            Line(
                "writes",
                Ref("field", "token_level_scores", "token_level_scores"),
                (('f32 "batch response"',), ("read by ", Ref("stage", "rewards", "'rewards'", 6))),
            ),
        ),
    )


def test_a_field_links_to_the_stages_along_its_path() -> None:
    told = view().field("rm_scores")

    assert [(line.label, line.about) for line in told.lines] == [
        ("writes", Ref("stage", "reward_model", "'reward_model'", 1)),
        ("reads", Ref("stage", "score", "'score'", 2)),
    ]
    assert told.lines[1].facts[-1] == ("written by ", Ref("stage", "reward_model", "'reward_model'", 1))


def test_fields_come_in_the_order_in_which_a_batch_gets_them() -> None:
    fields = view().fields()

    assert fields[:6] == ["prompts", "uid", "temperature", "validate", "responses", "response_mask"]
    assert len(fields) == len(set(fields)) == 16


def test_a_name_of_a_stage_and_a_field_shows_both() -> None:
    assert [(told.kind, told.name) for told in view().show("values")] == [("stage", "values"), ("field", "values")]
    assert list(view().show("gone")) == []


def test_a_stage_says_what_the_names_in_its_condition_stand_for() -> None:
    pipeline = Pipeline("plan", inputs=schema("Start", {}), stages=[when(~p.USE_CRITIC, declare("Late"))])

    assert View(pipeline.spec, pipeline.flow()).stage(0).lines[0] == Line(
        "runs", None, (("where not use_critic",), ("use_critic: algorithm.adv_estimator == 'gae'",))
    )
