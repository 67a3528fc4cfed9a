"""All rules, by their names: what it means that something admits less, more or something else than before.

Readers may come to admit more and writers less. Everything else breaks somebody: what was written before meets a reader
that does not admit it, or what is written now meets a reader of before.
`batchpact docs` makes the page of rules of them.
"""

from __future__ import annotations

from batchpact.contracts.lock.change import ChangeRule
from batchpact.contracts.lock.form_rules import FORM_RULES
from batchpact.contracts.lock.presence_rules import PRESENCE_RULES
from batchpact.contracts.lock.value_rules import VALUE_RULES
from batchpact.contracts.lock.whole_rules import PIPELINE_RULES, STAGE_RULES

_ALL = (*PRESENCE_RULES, *FORM_RULES, *VALUE_RULES, *STAGE_RULES, *PIPELINE_RULES)

RULES: dict[str, ChangeRule] = {found.id: found for found in _ALL}
"""Every rule, in the order of the docs."""
