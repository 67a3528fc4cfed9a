"""What the page knows: the sentences of `show`, conditions in a form that it evaluates, findings and where they are."""

from __future__ import annotations

import pytest

pytest.importorskip("pygraphviz")

from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.reference.page_data import page_data
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.explored import HOSTILE, explored, together

DATA = page_data(explored())
PLAN = next(pipeline for pipeline in DATA["pipelines"] if pipeline["name"] == "plan")


def test_a_stage_is_told_with_links_and_the_conditions_of_its_fields() -> None:
    gae = PLAN["stages"][2]

    assert gae == {
        "name": "gae",
        "qualname": "trainer.Gae",
        "about": [],
        "on": 2,
        "drops": [],
        "lines": [
            {"label": "runs", "facts": [["where algorithm.estimator == 'gae'"]]},
            {"label": "rows", "facts": [["same"]]},
            {
                "label": "reads",
                "about": ["field", "scores", "scores"],
                "facts": [['f32 "batch"'], ["written by ", ["stage", "score", "'score'"]]],
                "on": None,
            },
            {
                "label": "reads",
                "about": ["field", "values", "values"],
                "facts": [
                    ['f32 "batch response"'],
                    ["where critic.enable"],
                    ["written by ", ["stage", "generate", "'generate'"]],
                ],
                "on": 0,
            },
            {
                "label": "writes",
                "about": ["field", "advantages", "advantages"],
                "facts": [['f32 "batch"'], ["read by ", ["stage", "update", "'update'"]]],
                "on": None,
            },
        ],
    }


def test_a_condition_is_compiled_to_keys_and_cases() -> None:
    assert [(key["text"], [case["label"] for case in key["cases"]]) for key in PLAN["keys"]] == [
        ("reward.enable", ["True", "False"]),
        ("algorithm.estimator", ["'gae'", "anything else"]),
        ("critic.enable", ["True", "False"]),
        ("trainer.val_only", ["True", "False"]),
    ]
    conditions = {condition["text"]: condition["test"] for condition in PLAN["conditions"]}
    assert conditions == {
        "critic.enable": ["test", 2, [0]],
        "scored (reward.enable)": ["test", 0, [0]],
        "algorithm.estimator == 'gae'": ["test", 1, [0]],
        "not algorithm.estimator == 'gae'": ["not", ["test", 1, [0]]],
        "not (reward.enable and trainer.val_only)": ["not", ["all", [["test", 0, [0]], ["test", 3, [0]]]]],
    }


def test_a_finding_has_the_configurations_in_which_it_is() -> None:
    assert PLAN["findings"] == [
        {
            "code": "BP001",
            "severity": "error",
            "stage": stage,
            "side": "reads",
            "field": "scores",
            "text": "declared f32 \"batch\"; 'score' writes it, and not in every configuration",
            "regions": [[[0, 1], [1, case]]],
            "whole": True,
            "configurations": [[[0, 1], [1, case]]],
            "others": False,
        }
        for stage, case in (("gae", 0), ("grpo", 1))
    ]


def test_a_field_has_its_declarations_wherever_it_is_declared() -> None:
    found = DATA["fields"]["responses"]

    assert found["kinds"] == ["tensor"]
    assert [(told["owner"], told["side"]) for told in found["declared"]] == [
        ("trainer.Generate", "writes"),
        ("trainer.Score", "reads"),
    ]
    assert found["declared"][0]["details"] == ["padded with 0 on the right"]
    assert found["declared"][0]["about"] == HOSTILE


def test_what_is_in_no_pipeline_is_known_too() -> None:
    assert DATA["loose"] == {
        "stages": [{"name": "trainer.Lonely", "about": ["Nobody has a place for it."], "rows": "same"}],
        "schemas": [{"name": "tests.contracts.plans.Start", "about": []}],
    }


def test_keys_that_are_asked_about_together_are_known_by_their_combinations() -> None:
    pipeline = together.spec
    contracts = Contracts({stage.qualname: stage for stage in pipeline.stages}, {}, {"together": pipeline})
    [data] = page_data(Project(contracts))["pipelines"]

    assert [(key["text"], [case["label"] for case in key["cases"]]) for key in data["keys"]] == [
        ("critic.enable", ["True", "False"]),
        ("algorithm.estimator", ["'gae'", "'gdpo'", "anything else"]),
        ("trainer.step and trainer.last", ["<", ">="]),
    ]
    assert data["parts"] == [{"keys": [0, 1], "classes": [0, 1, 0, 0, 2, 3]}, {"keys": [2], "classes": [0, 1]}]
    assert [(finding["stage"], finding["regions"], finding["configurations"]) for finding in data["findings"]] == [
        ("fit", [[[0, 2]], [[0, 3]]], [[[0, 1], [1, 1]], [[0, 1], [1, 2]]]),
        ("gdpo", [[[0, 1]], [[0, 2]]], [[[1, 1]]]),
    ]
