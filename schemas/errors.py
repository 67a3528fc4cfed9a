"""The errors that batchpact raises.

    ValueError
     +-- ContractError              one or more violations, all of them listed
          +-- MissingFieldError     every violation is a missing name (a KeyError too)
          |    +-- UndeclaredReadError   a stage looked for a field it does not declare
          +-- BatchError            an operation of the container was refused; nothing was changed
          +-- DeclarationError      a schema or a stage is declared wrongly (a TypeError too)
          +-- SettingError          a setting, or a target of the command line, that is not known

An error is small: it holds `Violation` records and texts, never a part of a batch. It pickles, so it crosses process
boundaries whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from batchpact.schemas.text import render
from batchpact.schemas.violations import DimSizes, Violation


class ContractError(ValueError):
    """Something does not keep to its declaration.

    Attributes:
        subject: where it happened, as the message says it ("where stage 'critic' reads its batch").
        violations: every problem that was found, in the order of declaration.
        dims: the sizes that were seen, where sizes matter.
        note: a line below the message, as about where the batch was saved.
    """

    def __init__(
        self, subject: str, violations: Sequence[Violation], dims: Sequence[DimSizes] = (), note: str = ""
    ) -> None:
        super().__init__(subject)
        self.subject = subject
        self.violations = tuple(violations)
        self.dims = tuple(dims)
        self.note = note

    def __str__(self) -> str:
        text = render(self.subject, self.violations, self.dims)
        return f"{text}\n\n  {self.note}" if self.note else text

    def __reduce__(self) -> tuple[_Rebuild, tuple[type[ContractError], str, list[str], list[str], str]]:
        # As JSON text: a receiver needs no other class than this module's to read the error.
        return (
            _rebuild,
            (
                type(self),
                self.subject,
                [violation.model_dump_json(exclude_defaults=True) for violation in self.violations],
                [dim.model_dump_json() for dim in self.dims],
                self.note,
            ),
        )


class MissingFieldError(ContractError, KeyError):
    """Names that are not there."""


class UndeclaredReadError(MissingFieldError):
    """A stage looked for a field that its batch holds and its contract does not declare."""


class BatchError(ContractError):
    """An operation of the container was refused. The batch is as it was."""


class DeclarationError(ContractError, TypeError):
    """A schema or a stage is declared wrongly; raised when the class is made."""


class SettingError(ContractError):
    """A setting, or a target of the command line, that is not known."""


_Rebuild: TypeAlias = Callable[[type[ContractError], str, list[str], list[str], str], ContractError]


def _rebuild(
    kind: type[ContractError], subject: str, violations: list[str], dims: list[str], note: str
) -> ContractError:
    return kind(
        subject,
        [Violation.model_validate_json(text) for text in violations],
        [DimSizes.model_validate_json(text) for text in dims],
        note,
    )


def contract_error(subject: str, violations: Sequence[Violation], dims: Sequence[DimSizes] = ()) -> ContractError:
    """The error for these violations: a `MissingFieldError` if names are missing and nothing else is wrong."""
    only_missing = all(violation.code == "BP001" for violation in violations)
    return (MissingFieldError if only_missing else ContractError)(subject, violations, dims)
