"""Faults of every kind, planted one by one into a healthy trainer: each is found, by its code, at its line."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app

HEALTHY = Path(__file__).with_name("healthy.py")


class Fault(NamedTuple):
    """A change of the source.

    Attributes:
        command: what finds it.
        code: what it is found as.
        old: the text that is replaced, once.
        new: what stands there instead; the finding is at the line that `at` is in.
        at: a part of the line of the finding; the last line of `new` that holds it.
    """

    command: str
    code: str
    old: str
    new: str
    at: str


FAULTS = {
    # --- declarations ---
    "a field without a placement": Fault(
        "check", "BP051", "temperature: Meta[float]\n\n\nclass Gen", "temperature: float\n\n\nclass Gen", ""
    ),
    "a dim that no parser reads": Fault("check", "BP051", '"batch prompt"]\n    uid', '"batch prompt!"]\n    uid', ""),
    "a policy where none belongs": Fault(
        "check", "BP051", "uid: Annotated[NonTensor[str], Group()]", "uid: Annotated[Meta[str], Group()]", ""
    ),
    # --- dataflow ---
    "a misspelt read": Fault(
        "check",
        "BP001",
        "        scores: PerRow\n        response_mask: Tokens\n        values",
        "        score: PerRow\n        response_mask: Tokens\n        values",
        "score: PerRow",
    ),
    "another place": Fault(
        "check",
        "BP003",
        "loss_mask: Tokens\n        temperature: Meta[float]",
        "loss_mask: Tokens\n        temperature: PerRow",
        "temperature: PerRow",
    ),
    "another dtype": Fault(
        "check",
        "BP005",
        "        advantages: PerToken\n        loss_mask",
        '        advantages: Int64[Tensor, "batch response"]\n        loss_mask',
        "advantages: Int64",
    ),
    "another type": Fault(
        "check",
        "BP006",
        'class Reads(BatchSchema):\n        prompts: Int64[Tensor, "batch prompt"]\n        temperature: Meta[float]',
        'class Reads(BatchSchema):\n        prompts: Int64[Tensor, "batch prompt"]\n        temperature: Meta[str]',
        "temperature: Meta[str]",
    ),
    "another rank": Fault(
        "check",
        "BP011",
        "        advantages: PerToken\n        loss_mask",
        "        advantages: PerRow\n        loss_mask",
        "advantages: PerRow",
    ),
    "two meanings of one dim": Fault(
        "check",
        "BP012",
        "        responses: Tokens\n        advantages: PerToken",
        '        responses: Tokens\n        prompts: Int64[Tensor, "batch response"]\n        advantages: PerToken',
        "prompts: Int64",
    ),
    "another layout": Fault(
        "check",
        "BP015",
        "        loss_mask: Tokens\n        temperature",
        '        loss_mask: Annotated[Int64[Tensor, "batch length"], Jagged("length")]\n        temperature',
        "Jagged(",
    ),
    "a value that nobody reads": Fault(
        "check",
        "BP061",
        '        loss_mask: Annotated[Tokens, SameAs("response_mask")]\n\n\nclass Score',
        '        loss_mask: Annotated[Tokens, SameAs("response_mask")]\n        extra: PerRow\n\n\nclass Score',
        "extra: PerRow",
    ),
    "a value that is replaced unread": Fault(
        "check",
        "BP062",
        "        responses: Tokens\n\n    class Writes(BatchSchema):\n        values: PerToken",
        "        responses: Tokens\n\n    class Writes(BatchSchema):\n        values: PerToken\n        scores: PerRow",
        "scores: PerRow",
    ),
    # --- conditions ---
    "a reader without the condition of its writer": Fault(
        "check", "BP001", "values: Annotated[PerToken, When(CRITIC)]", "values: PerToken", "values: PerToken"
    ),
    "a writer under a narrower condition": Fault(
        "check", "BP001", "when(CRITIC, Values)", 'when(CRITIC & config("critic.enable"), Values)', ""
    ),
    "a stage under a condition that others need": Fault(
        "check", "BP001", "score, when(REJECT, reject)", "when(REJECT, score), when(REJECT, reject)", ""
    ),
    # --- rows ---
    "a key that is read after a repeat": Fault(
        "check",
        "BP023",
        "        responses: Tokens\n        uid: NonTensor[str]",
        "        responses: Tokens\n        uid: Annotated[NonTensor[str], Key()]",
        "Key()",
    ),
    "rows that are left behind": Fault("check", "BP001", 'rows = Repeat("rollout.n")', 'rows = "new"', ""),
    # --- twins ---
    "a twin that is not rewritten": Fault(
        "check",
        "BP063",
        "        response_mask: Tokens\n"
        '        loss_mask: Annotated[Tokens, SameAs("response_mask")]\n\n\nclass Values',
        "        response_mask: Tokens\n\n\nclass Values",
        "response_mask: Tokens",
    ),
    # --- code drift ---
    "an undeclared read in the code": Fault(
        "lint", "BP071", 'data.batch["responses"].sum(1)', 'data.batch["prompts"].sum(1)', 'data.batch["prompts"]'
    ),
    "an undeclared write in the code": Fault(
        "lint",
        "BP072",
        'DataProto.from_dict({"advantages": spread})',
        'DataProto.from_dict({"advantages": spread, "spread": spread})',
        '"spread": spread',
    ),
    "the wrong store in the code": Fault(
        "lint", "BP073", 'data.meta_info["temperature"]', 'data.batch["temperature"]', 'data.batch["temperature"]'
    ),
    "a declared read that the code does not use": Fault("lint", "BP074", 'data.batch["responses"].numel()', "1", ""),
    "a declared write that the code leaves out": Fault(
        "lint", "BP075", '{"response_mask": kept, "loss_mask": kept}', '{"response_mask": kept}', ""
    ),
    # --- breaking changes ---
    "a required field more": Fault(
        "diff",
        "field-added",
        "        uid: NonTensor[str]\n\n    class Writes",
        "        uid: NonTensor[str]\n        difficulty: NonTensor[int]\n\n    class Writes",
        "difficulty",
    ),
    "a wider dtype": Fault(
        "diff",
        "dtype-widened",
        "    class Writes(BatchSchema):\n        advantages: PerToken",
        '    class Writes(BatchSchema):\n        advantages: Float[Tensor, "batch response"]',
        "advantages: Float[",
    ),
    "a field less": Fault(
        "diff",
        "field-removed",
        '        response_mask: Tokens\n        loss_mask: Annotated[Tokens, SameAs("response_mask")]\n\n\nclass Score',
        "        response_mask: Tokens\n\n\nclass Score",
        "",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("trainer_of_faults", None)


def found(command: str, *words: str) -> tuple[int, list[tuple[str, int | None]]]:
    """The exit code, and each finding's code and line."""
    sys.modules.pop("trainer_of_faults", None)
    importlib.invalidate_caches()
    result = CliRunner().invoke(app, [command, *words, "--format", "json"])
    document = json.loads(result.stdout)
    findings = [finding for report in document["reports"] for finding in report["findings"]]
    return result.exit_code, [(finding["rule"], finding.get("line")) for finding in findings]


def run(folder: Path, source: str, command: str) -> tuple[int, list[tuple[str, int | None]]]:
    path = folder / "trainer_of_faults.py"
    if command == "diff":
        path.write_text(HEALTHY.read_text())
        sys.modules.pop("trainer_of_faults", None)
        assert CliRunner().invoke(app, ["lock", path.name, "--file", "old.json"]).exit_code == 0
        path.write_text(source)
        return found("diff", "old.json", "--target", path.name)
    path.write_text(source)
    return found(command, path.name)


@pytest.mark.parametrize("command", ["check", "lint", "diff"])
def test_the_healthy_twin_has_no_finding(folder: Path, command: str) -> None:
    assert run(folder, HEALTHY.read_text(), command) == (0, [])


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_at_its_line(folder: Path, name: str) -> None:
    fault, healthy = FAULTS[name], HEALTHY.read_text()
    assert healthy.count(fault.old) == 1
    source = planted = healthy.replace(fault.old, fault.new)
    if "Jagged" in fault.new or "Key()" in fault.new or "Float[" in fault.new:
        source = source.replace("Group, Meta", "Group, Jagged, Key, Meta").replace(
            "import Float32", "import Float, Float32"
        )

    code, findings = run(folder, source, fault.command)

    lines = [line for rule, line in findings if rule == fault.code]
    assert lines, findings
    if fault.at:
        start = healthy.index(fault.old)
        expected = planted.count("\n", 0, start + fault.new.rindex(fault.at)) + 1
        assert expected in lines
    warnings = {"BP061", "BP062", "BP074"}
    assert code == (0 if fault.code in warnings else 1)


def test_the_faults_are_of_every_kind() -> None:
    assert len(FAULTS) >= 25
    assert len({fault.code for fault in FAULTS.values()}) >= 18
