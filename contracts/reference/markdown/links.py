"""Where everything stands in the pages: links that are seen from one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.keys import Key, named
from batchpact.contracts.reference.project import Declaration, Project
from batchpact.contracts.reference.slugs import distinction, file_name, slug, slugs
from batchpact.contracts.reference.view import View
from batchpact.contracts.reference.words import Ref, Words, joined, plain
from batchpact.schemas.record import StageSpec

PIPELINES = "pipelines"
"""The folder of the pages about one pipeline each."""


class Links:
    """Links of a project's pages.

    Args:
        project: what the pages tell.
        keys: what conditions ask about.
        root: the way from the page at hand to the folder of all pages.
    """

    def __init__(self, project: Project, keys: Mapping[str, Key], root: str = "") -> None:
        self.project = project
        self.keys = keys
        self._root = root

    def field(self, name: str, text: str = "") -> str:
        """A link to a field."""
        return self._link(text or name, f"fields.md#{field_anchor(name)}")

    def stage(self, stage: StageSpec, pipeline: str | None = None, text: str = "") -> str:
        """A link to a stage: to what it declares, or to its place where only a pipeline has it."""
        if stage.qualname not in self.project.contracts.stages and pipeline is not None:
            return self.pipeline(pipeline, "stages", text or stage.name)
        return self._link(text or stage.name, f"stages.md#{stage_anchor(stage.qualname)}")

    def stage_of(self, qualname: str) -> str:
        """A link to a stage among all, of which several may have its name."""
        stage = self.project.contracts.stages[qualname]
        return self.stage(stage, text=self.full_name(stage))

    def full_name(self, stage: StageSpec) -> str:
        """The name of a stage; where others have it, too, with what tells it from them."""
        alike = self._namesakes.get(stage.name, [])
        return f"{stage.name} ({distinction(stage.qualname, alike)})" if len(alike) > 1 else stage.name

    def place(self, view: View, at: int) -> str:
        """A link to a stage in its place in a pipeline."""
        anchor = stage_anchors(view)[at]
        return self.pipeline(view.pipeline.name, anchor, view.pipeline.stages[at].name)

    def schema(self, qualname: str) -> str:
        """A link to a schema that stands alone."""
        return self._link(qualname.rpartition(".")[2], f"stages.md#{schema_anchor(qualname)}")

    def pipeline(self, name: str, anchor: str = "", text: str = "") -> str:
        """A link to a pipeline, or into its page."""
        return self._link(text or name, pipeline_file(name) + (f"#{anchor}" if anchor else ""))

    def error(self, code: str) -> str:
        """A link to a code of the catalogue."""
        return self._link(code, f"errors.md#{code}")

    def policies(self, name: str) -> str:
        """A link to what becomes of a field."""
        return self._link("policies", f"policies.md#{field_anchor(name)}")

    def owner(self, declaration: Declaration) -> str:
        """A link to what declares a field."""
        if declaration.side == "inputs":
            return f"the inputs of {self.pipeline(declaration.owner)}"
        if declaration.side == "schema":
            return self.schema(declaration.owner)
        return self.stage_of(declaration.owner)

    def words(self, words: Words, view: View) -> str:
        """A sentence about a pipeline, with its links."""
        return "".join(self._word(word, view) for word in words)

    def facts(self, facts: Iterable[Words], view: View) -> str:
        """Sentences, one after the other."""
        return "; ".join(self.words(fact, view) for fact in facts)

    def condition(self, text: str) -> str:
        """A condition in words, with links to the keys that it asks about, and to what its names stand for."""
        parts = self._pattern.split(text) if self.keys else [text]
        return "".join(map(self._asked, parts))

    def name(self, name: str) -> str:
        """A link to what a condition that has a name asks."""
        return self._link(name, f"conditions.md#{name_anchor(name)}")

    def key(self, name: str) -> str:
        """A link to what conditions ask about."""
        return self._link(name, f"conditions.md#{key_anchor(name)}")

    def listed(self, links: Iterable[str], limit: int | None = None) -> str:
        """`a, b and c`; beyond a limit, the rest is counted."""
        every = list(dict.fromkeys(links))
        if limit is None or len(every) <= limit:
            return plain(joined(every))
        return f"{', '.join(every[:limit])} and {len(every) - limit} more"

    def _asked(self, part: str) -> str:
        if part in self.keys:
            return self.key(part)
        return self.name(part) if part in self.names else escaped(part)

    def _word(self, word: str | Ref, view: View) -> str:
        if isinstance(word, str):
            return self.condition(word) if word.startswith("where ") else escaped(word)
        if word.at is None:
            return self.field(word.name, word.text)
        return self.stage(view.pipeline.stages[word.at], view.pipeline.name)

    def _link(self, text: str, target: str) -> str:
        near = target.removeprefix(f"{PIPELINES}/") if self._root else target
        return f"[{escaped(text)}]({self._root if near == target else ''}{near})"

    @cached_property
    def _namesakes(self) -> dict[str, list[str]]:
        """The qualified names of the stages of each name."""
        found: dict[str, list[str]] = {}
        for qualname, stage in self.project.contracts.stages.items():
            found.setdefault(stage.name, []).append(qualname)
        return found

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """Conditions that have a name, each with what it stands for."""
        return named(self.keys.values())

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted({*self.keys, *self.names}, key=lambda name: (-len(name), name))
        return re.compile(rf"(?<![\w.'])({'|'.join(map(re.escape, longest))})(?![\w.'])")


def field_anchor(name: str) -> str:
    """The anchor of a field, on its page and on that of policies."""
    return f"field-{slug(name)}"


def stage_anchor(name: str) -> str:
    """The anchor of a stage among all, by its qualified name."""
    return f"stage-{slug(name)}"


def stage_anchors(view: View) -> list[str]:
    """The anchors of the stages of a pipeline in their places, where one stage may stand twice."""
    return [f"stage-{found}" for found in slugs(stage.name for stage in view.pipeline.stages)]


def schema_anchor(qualname: str) -> str:
    """The anchor of a schema that stands alone."""
    return f"schema-{slug(qualname)}"


def key_anchor(name: str) -> str:
    """The anchor of what conditions ask about."""
    return f"key-{slug(name)}"


def name_anchor(name: str) -> str:
    """The anchor of a condition that has a name."""
    return f"condition-{slug(name)}"


def pipeline_file(name: str, suffix: str = "md") -> str:
    """The page of a pipeline, or another file about it."""
    return f"{PIPELINES}/{file_name(name)}.{suffix}"
