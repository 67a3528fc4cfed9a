"""What the tests of the vocabulary share."""

from typing import Any

from batchpact.schemas import BatchSchema, FieldSpec


def spec(annotation: Any) -> FieldSpec:
    """The record of a field that is declared so."""

    class Reads(BatchSchema):
        x: annotation

    return Reads.__batchpact__.spec.fields[0]
