"""The tests of a project's contracts, as pytest has them: one for each contract and each thing that is checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import PathLike
from typing import Any

import pytest

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.lint.command import text_of
from batchpact.contracts.lint.linter import lint
from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.placing import placed
from batchpact.contracts.pyproject import project_targets
from batchpact.contracts.signature import needs_object
from batchpact.contracts.testing.checking import check_stage
from batchpact.contracts.testing.found_contracts import FoundContracts
from batchpact.contracts.testing.sampler import sample
from batchpact.contracts.testing.unmeetable import SampleError
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.errors import ContractError
from batchpact.schemas.text import sentence


class Broken(Exception):
    """A contract does not hold; the text is the report."""


class Contracts(pytest.Collector):
    """All tests of contracts.

    Args:
        targets: whose contracts; those of the project where there are none.
        kwargs: what every node has.
    """

    def __init__(self, targets: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._targets = targets

    def collect(self) -> Iterator[ContractTest]:
        """Each contract: pipelines, then the code of stages, then schemas."""
        found = FoundContracts(project_targets(self._targets))
        for pipeline in found.pipelines:
            yield self._test(f"check[{pipeline.name}]", partial(_check, pipeline))
        for name, boundary in found.stages.items():
            yield self._test(f"lint[{name}]", partial(_lint, boundary), boundary)
            yield self._test(f"stage[{name}]", partial(_run, boundary, found.functions.get(name)), boundary)
        for name, schema in found.schemas.items():
            yield self._test(f"sample[{name}]", partial(_sample, schema))

    def _test(self, name: str, run: Callable[[], None], stage: Boundary | None = None) -> ContractTest:
        made: ContractTest = ContractTest.from_parent(self, name=name, run=run, stage=stage)
        return made

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A target that leads nowhere or declares something wrongly, in the words of batchpact."""
        return str(excinfo.value) if isinstance(excinfo.value, ContractError) else super().repr_failure(excinfo)


class ContractTest(pytest.Item):
    """A test of one contract.

    Args:
        run: raises what is wrong.
        stage: the contract of a function that it is about.
        kwargs: what every node has.
    """

    def __init__(self, run: Callable[[], None], stage: Boundary | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._run = run
        self._stage = stage
        self.add_marker("batchpact")

    def runtest(self) -> None:
        """Run it."""
        self._run()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report of batchpact; a traceback would show its own code."""
        if isinstance(excinfo.value, (Broken, ContractError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        """Where the function of a stage is."""
        code = None if self._stage is None else inspect.unwrap(self._stage.function).__code__
        return (self.path, None, self.name) if code is None else (code.co_filename, code.co_firstlineno - 1, self.name)


def _check(pipeline: Pipeline) -> None:
    report = placed(pipeline.check(), pipeline.spec)
    if not report.ok:
        raise Broken(str(report))


def _lint(boundary: Boundary) -> None:
    report = lint([boundary]).report
    if not report.ok:
        raise Broken(text_of(report))


def _run(boundary: Boundary, function: Callable[..., Any] | None) -> None:
    if function is None:
        is_method = needs_object(boundary.function)
        pytest.skip("it needs an object: check_stage(worker.method)" if is_method else "its module has no name for it")
    check_stage(function)


def _sample(schema: type[BatchSchema]) -> None:
    try:
        sample(schema)
    except SampleError as error:
        if all(violation.code == "BP056" for violation in error.violations):
            pytest.skip(sentence(error.violations[0]))
        raise
