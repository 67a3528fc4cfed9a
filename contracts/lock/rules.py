"""All rules, by their names. `batchpact docs` makes the page of rules of them."""

from __future__ import annotations

from batchpact.contracts.lock.change import ChangeRule
from batchpact.contracts.lock.field_rules import FIELD_RULES
from batchpact.contracts.lock.whole_rules import PIPELINE_RULES, STAGE_RULES

RULES: dict[str, ChangeRule] = {found.id: found for found in (*FIELD_RULES, *STAGE_RULES, *PIPELINE_RULES)}
"""Every rule, in the order of the docs."""
