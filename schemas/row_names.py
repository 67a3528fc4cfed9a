"""What the open columns of single rows are called: rows have their columns by name, and the names only now and then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from batchpact.schemas.columns import Names, look_up_names, names_in
from batchpact.schemas.errors import contract_error
from batchpact.schemas.narrowing import narrowed
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.schemas.batch import BatchSchema
    from batchpact.schemas.row_check import Row


def named_in_rows(schema: type[BatchSchema], rows: Sequence[Row]) -> type[BatchSchema]:
    """The schema with its open columns as fields.

    They are called what the configuration says, or the meta that rows bring along. Where no row brings the names, what
    a row has and the schema does not declare is a column, as long as only one attribute is left that it can belong to.

    Raises:
        ContractError: if the names are wrong, or nobody can tell what belongs to which attribute.
    """
    compiled = schema.__batchpact__
    if not compiled.columns:
        return schema
    spec, names = compiled.spec, dict[str, Names]()
    mappings = [row for row in rows if isinstance(row, Mapping)]
    silent: set[str] = set()
    for column in compiled.unnamed:
        source = column.named_by
        if source is not None and source.source == "meta":
            saying = [row for row in mappings if source.name in row]
            silent |= set() if saying else {column.name}
        else:
            saying = mappings
        for row in saying:
            found = names_in(spec, [column], partial(look_up_names, row))[column.name]
            before = names.get(column.name, ())
            if isinstance(before, tuple):
                names[column.name] = tuple(dict.fromkeys((*before, *found))) if isinstance(found, tuple) else found
    wrong = [found for found in names.values() if isinstance(found, Violation)]
    known = {field.key for field in spec.fields}.union(*(found for found in names.values() if isinstance(found, tuple)))
    others = dict.fromkeys(str(key) for row in mappings for key in row if key not in known)
    if len(silent) == 1:
        names[silent.pop()] = tuple(others)
    elif silent and others and not wrong:
        actual, expected = f"no row says which columns are {' and which '.join(sorted(silent))}", "names in the rows"
        wrong = [Violation(code="BP056", field=next(iter(others)), actual=actual, expected=expected)]
    if wrong:
        raise contract_error(f"in the names of columns of {schema.__qualname__.rpartition('<locals>.')[2]}", wrong)
    return narrowed(schema, {}, names)
