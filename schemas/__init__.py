"""What is declared: fields with placement, dtype and shape; what a stage reads and writes; what errors say.

Start at `batch.py` (a schema), `stage.py` (a stage) and `record.py` (the plain data that both compile to). An
annotation is read in `annotations.py` and `fields.py`, dims in `shapes.py` and `expressions.py`. A healthy batch is
checked by `plan.py`; a broken one is explained by `diagnose.py` (structure), `values.py` and `rules.py` (values).
Conditions and the names of open columns (`conditions.py`, `columns.py`) make another schema of one in `narrowing.py`.
A single row is checked by `row_check.py`, and rows become a batch in `collating.py`. What a policy does to values is in
`merging.py`, `reducing.py` and `lengthening.py`; `equality.py` says what is equal. Problems are records of
`violations.py` with codes from `catalogue.py`, put into words by `text.py` and raised as `errors.py`. The vocabulary of
RL is in `rl/`.
"""

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.catalogue import CODES, Code
from batchpact.schemas.columns import Columns, named_by
from batchpact.schemas.condition_specs import ConditionSpec
from batchpact.schemas.conditions import Condition, arg, config, meta, present, step
from batchpact.schemas.errors import (
    BatchError,
    ContractError,
    DeclarationError,
    MissingFieldError,
    SettingError,
    UndeclaredReadError,
)
from batchpact.schemas.markers import Arg, Binary, Finite, From, Jagged, Meta, Name, NonTensor, SameAs, Tag, When
from batchpact.schemas.policies import Fill, Group, Key, Merge, Pad
from batchpact.schemas.record import (
    FieldSpec,
    FillSpec,
    MergeSpec,
    PadSpec,
    PipelineSpec,
    PlaceSpec,
    RowRuleSpec,
    RowsSpec,
    RuleSpec,
    SchemaSpec,
    StageSpec,
)
from batchpact.schemas.rules import rule
from batchpact.schemas.stage import Repeat, StageSchema
from batchpact.schemas.violations import DimSizes, Violation, Where

__all__ = [
    "CODES",
    "Arg",
    "BatchError",
    "BatchSchema",
    "Binary",
    "Code",
    "Columns",
    "Condition",
    "ConditionSpec",
    "ContractError",
    "DeclarationError",
    "DimSizes",
    "FieldSpec",
    "Fill",
    "FillSpec",
    "Finite",
    "From",
    "Group",
    "Jagged",
    "Key",
    "Merge",
    "MergeSpec",
    "Meta",
    "MissingFieldError",
    "Name",
    "NonTensor",
    "Pad",
    "PadSpec",
    "PipelineSpec",
    "PlaceSpec",
    "Repeat",
    "RowRuleSpec",
    "RowsSpec",
    "RuleSpec",
    "SameAs",
    "SchemaSpec",
    "SettingError",
    "StageSchema",
    "StageSpec",
    "Tag",
    "UndeclaredReadError",
    "Violation",
    "When",
    "Where",
    "arg",
    "config",
    "meta",
    "named_by",
    "present",
    "rule",
    "step",
]
