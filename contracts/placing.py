"""Where contracts stand in the source: the file and the line of a class, a function, or a field of a class."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from batchpact.contracts.proof.open_columns import columns_key
from batchpact.contracts.report import Report
from batchpact.schemas.record import FieldSpec, PipelineSpec, SchemaSpec, StageSpec
from batchpact.schemas.violations import Violation, Where


def place_of(qualname: str, field: str = "") -> Where:
    """Where something is defined; an empty place where its module was not imported or has no source.

    Args:
        qualname: module and name, as records hold it.
        field: a field of a schema class, by its attribute.
    """
    parts = qualname.split(".")
    for size in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:size]))
        file = getattr(module, "__file__", None)
        if file is not None:
            line = _lines(file).get((*parts[size:], field) if field else tuple(parts[size:]))
            line = line or _lines(file).get(tuple(parts[size:]))
            return Where(file=from_here(file), line=line)
    return Where()


def from_here(file: str) -> str:
    """A path as seen from the working directory, with slashes; one outside it stays absolute."""
    path = Path(file).resolve()
    here = Path.cwd().resolve()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def placed(report: Report, pipeline: PipelineSpec) -> Report:
    """The report of a pipeline's check with a place for each finding: the field of the stage that it names."""
    stages = {stage.name: stage for stage in pipeline.stages}
    findings = (_placed(finding, stages.get(finding.where.stage or "")) for finding in report.findings)
    return Report(report.subject, report.checked, tuple(findings))


def _placed(finding: Violation, stage: StageSpec | None) -> Violation:
    if stage is None or finding.where.file is not None:
        return finding
    order = (stage.writes, stage.reads) if finding.where.boundary == "writes" else (stage.reads, stage.writes)
    for schema in order:
        field = schema.field(finding.field) or _columns(schema, finding.field)
        place = Where() if field is None else place_of(schema.qualname, field.name)
        if place.line is not None:
            return finding.at(place)
    return finding.at(place_of(stage.qualname))


def _columns(schema: SchemaSpec, key: str) -> FieldSpec | None:
    return next((column for column in schema.columns if key in (columns_key(column), column.key, column.name)), None)


@lru_cache(maxsize=256)
def _lines(file: str) -> dict[tuple[str, ...], int]:
    """The line of each class, function and annotated name of a file, by the names around it; the last one counts."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[tuple[str, ...], int] = {}
    _collect(tree.body, (), found)
    return found


def _collect(body: Iterable[ast.AST], around: tuple[str, ...], found: dict[tuple[str, ...], int]) -> None:
    for node in body:
        name = around
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            name = (*around, node.name)
            found[name] = node.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.update({(*around, node.target.id): node.lineno})
        _collect(ast.iter_child_nodes(node), name, found)
