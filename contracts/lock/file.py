"""The lock file: every contract of a project as one JSON text, whose changes a person can read in a git diff."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from batchpact.contracts.lock.normal import (
    Plain,
    in_order,
    plain_condition,
    plain_schema,
    plain_stage,
    schema_of,
    stage_of,
)
from batchpact.schemas.errors import SettingError
from batchpact.schemas.record import PipelineSpec, SchemaSpec, StageSpec
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

DEFAULT_FILE = "batchpact.lock.json"
FORMAT = 1
"""The version of the form; another one is not read."""
_FORMAT_KEY = "lock_format"


@dataclass(frozen=True, slots=True)
class Contracts:
    """Every contract of a project, as records.

    Attributes:
        stages: the stages, by their qualified names.
        schemas: schemas that are no part of a stage, by their qualified names.
        pipelines: the pipelines, by their names. Their stages are those of `stages`, in their places.
    """

    stages: dict[str, StageSpec] = field(default_factory=dict)
    schemas: dict[str, SchemaSpec] = field(default_factory=dict)
    pipelines: dict[str, PipelineSpec] = field(default_factory=dict)

    def normal(self) -> Contracts:
        """The same as they would be read from a lock file."""
        return parse(dump(self), "the code")


def dump(contracts: Contracts) -> str:
    """The text of a lock file."""
    parts = {
        _FORMAT_KEY: FORMAT,
        "stages": {name: plain_stage(stage) for name, stage in contracts.stages.items()},
        "schemas": {name: _plain_alone(schema) for name, schema in contracts.schemas.items()},
        "pipelines": {name: _plain_pipeline(pipeline, contracts) for name, pipeline in contracts.pipelines.items()},
    }
    return _lines(parts) + "\n"


def _lines(value: object, indent: str = "") -> str:
    """JSON, sorted by key; what holds nothing but texts and numbers is one line, so that a git diff shows it whole."""
    inside = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(inside, list) or not any(isinstance(part, (dict, list)) for part in inside):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    deeper = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_lines(value[key], deeper)}" for key in sorted(value)]
    else:
        parts = [_lines(part, deeper) for part in inside]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + ",".join(f"\n{deeper}{part}" for part in parts) + f"\n{indent}{closing}"


def _plain_alone(schema: SchemaSpec) -> Plain:
    """A schema without its qualified name, which is its key."""
    return {name: value for name, value in plain_schema(schema).items() if name != "qualname"}


def _plain_pipeline(pipeline: PipelineSpec, contracts: Contracts) -> Plain:
    always = in_order(plain for condition in pipeline.always if (plain := plain_condition(condition)) is not None)
    parts: Plain = {
        "inputs": plain_schema(pipeline.inputs),
        "stages": [_plain_step(step, contracts) for step in pipeline.stages],
        "outputs": sorted(pipeline.outputs),
        "always": always,
    }
    return {name: value for name, value in parts.items() if value or name == "stages"}


def _plain_step(step: StageSpec, contracts: Contracts) -> Plain:
    """A stage in its place: what the start of a sub-pipeline reads, or the name of a stage."""
    known = contracts.stages.get(step.qualname)
    own: Plain = {"inputs": plain_schema(step.reads)} if known is None else {"stage": step.qualname}
    if known is None or known.name != step.name:
        own["name"] = step.name
    when = plain_condition(step.when)
    return own if when is None else {**own, "when": when}


def parse(text: str, source: str) -> Contracts:
    """The contracts in the text of a lock file.

    Args:
        text: the text.
        source: where it comes from, for messages.

    Raises:
        SettingError: if it is no lock file that this version of batchpact reads.
    """
    if any(line.startswith("<<<<<<< ") for line in text.splitlines()):
        raise wrong_lock(source, "it holds a merge conflict", "`batchpact lock` writes it anew")
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise wrong_lock(source, f"it is no JSON: {error}", "a file that `batchpact lock` wrote") from None
    if not isinstance(whole, dict) or _FORMAT_KEY not in whole:
        raise wrong_lock(source, f"it has no {_FORMAT_KEY}", "a file that `batchpact lock` wrote")
    if whole[_FORMAT_KEY] != FORMAT:
        expected = f"this version of batchpact reads {FORMAT}; `batchpact lock` writes the file anew"
        raise wrong_lock(source, f"its {_FORMAT_KEY} is {whole[_FORMAT_KEY]!r}", expected)
    try:
        return _contracts(whole)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        actual = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        actual = f"{type(error).__name__}: {error}"
    expected = "a file that this version of batchpact, or an older one, wrote; `batchpact lock` writes it anew"
    raise wrong_lock(source, actual, expected)


def _contracts(whole: dict[str, Any]) -> Contracts:
    stages = {name: stage_of(name, plain) for name, plain in sorted(whole["stages"].items())}
    schemas = {name: schema_of({**plain, "qualname": name}) for name, plain in sorted(whole["schemas"].items())}
    pipelines = {name: _pipeline_of(name, plain, stages) for name, plain in sorted(whole["pipelines"].items())}
    return Contracts(stages, schemas, pipelines)


def _pipeline_of(name: str, plain: Plain, stages: dict[str, StageSpec]) -> PipelineSpec:
    steps = [_step_of(step, stages) for step in plain["stages"]]
    return PipelineSpec.model_validate({**plain, "name": name, "inputs": schema_of(plain["inputs"]), "stages": steps})


def _step_of(plain: Plain, stages: dict[str, StageSpec]) -> StageSpec:
    if "inputs" in plain:
        reads = schema_of(plain["inputs"])
        nothing = SchemaSpec(name="Writes", qualname=f"{reads.qualname}.Writes")
        start = StageSpec(name=plain["name"], qualname=reads.qualname, reads=reads, writes=nothing)
        return StageSpec.model_validate({**dict(start), "when": plain.get("when")})
    stage = stages[plain["stage"]]
    return StageSpec.model_validate({**dict(stage), "name": plain.get("name", stage.name), "when": plain.get("when")})


def read(path: str) -> Contracts:
    """The contracts in a lock file.

    Raises:
        SettingError: if there is none, or it cannot be read.
    """
    try:
        return parse(Path(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        text = error.strerror if isinstance(error, OSError) else str(error)
        expected = "a file that `batchpact lock` wrote; a git revision is named by --against"
        raise wrong_lock(path, f"it cannot be read: {text}", expected) from None


def read_revision(revision: str, path: str) -> Contracts:
    """The contracts in a lock file as it is in a git revision. No code of that revision is imported.

    Raises:
        SettingError: if git knows no such revision, or it has no lock file at this path.
    """
    source = f"{path} in {revision}"
    folder, name = os.path.split(path)
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit.returncode:
        told = commit.stderr.strip().removeprefix("fatal: ").partition("\n")[0]
        expected = "a branch, a tag or a commit; in CI the checkout has to fetch it (fetch-depth: 0)"
        raise wrong_lock(source, told or "git knows no such revision", expected)
    shown = _git(folder, "show", f"{commit.stdout.strip()}:./{name}")
    if shown.returncode:
        expected = "commit one there first: `batchpact lock` writes it"
        raise wrong_lock(source, "that revision has no such file", expected)
    return parse(shown.stdout, source)


def _git(folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", folder or ".", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", f"git cannot be run: {error.strerror}")


def write(path: str, text: str) -> None:
    """Write a lock file; it is there as a whole, or as it was.

    Raises:
        SettingError: if the file cannot be written.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise wrong_lock(path, f"it cannot be written: {error.strerror}", "a path in a folder that exists") from None


def wrong_lock(source: str, actual: str, expected: str) -> SettingError:
    """The error for a lock file that cannot be used."""
    violation = Violation(code="BP052", field="lock file", actual=actual, expected=expected)
    return SettingError(f"in {source}", [violation])


def counted(contracts: Contracts) -> Counter[str]:
    """How many contracts there are of each kind."""
    return Counter(stage=len(contracts.stages), schema=len(contracts.schemas), pipeline=len(contracts.pipelines))


def figures(contracts: Contracts) -> str:
    """The same in words."""
    kinds = counted(contracts)
    return ", ".join(count(kinds[kind], kind) for kind in ("stage", "schema", "pipeline"))
