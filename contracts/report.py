"""The result of a static check: findings, which are violations with the place where they stand."""

from __future__ import annotations

from dataclasses import dataclass

from batchpact.schemas.errors import contract_error
from batchpact.schemas.text import render
from batchpact.schemas.violations import Violation


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        subject: what was checked, as in "pipeline 'grpo'".
        checked: how much was checked, in words: "7 stages, 31 fields".
        findings: every finding, in the order of the stages.
        ran: whether what was checked has run already.
    """

    subject: str
    checked: str
    findings: tuple[Violation, ...] = ()
    ran: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings may be there."""
        return not self.errors

    @property
    def errors(self) -> tuple[Violation, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def raise_errors(self) -> None:
        """Raise the errors, if there are any.

        Raises:
            ContractError: with all of them.
        """
        if self.errors:
            subject = f"in {self.subject}" if self.ran else f"in {self.subject}, which was not started"
            raise contract_error(subject, [_placed(error) for error in self.errors])

    def __str__(self) -> str:
        if not self.findings:
            return f"{self.subject}: {self.checked}, no problems"
        return render(f"in {self.subject} ({self.checked})", [_placed(finding) for finding in self.findings])


def _placed(finding: Violation) -> Violation:
    """The finding with its stage in front of the field, for a listing over several stages."""
    stage = finding.where.stage
    return finding if stage is None else finding.model_copy(update={"field": f"{stage}: {finding.field}"})
