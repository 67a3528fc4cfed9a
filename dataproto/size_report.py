"""How many bytes a batch takes, and how many of them a stage is handed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from batchpact.dataproto.binding import bound
from batchpact.dataproto.core import Batch, check_batch
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.sizes import deep_bytes, readable, value_bytes
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import store_of
from batchpact.schemas.text import count

if TYPE_CHECKING:
    from rich.console import Group


class FieldSize(NamedTuple):
    """One field: its bytes, and whether the stage is handed them."""

    field: str
    placement: PlacementName
    bytes: int
    shipped: bool


@dataclass(frozen=True, slots=True)
class SizeReport:
    """The bytes of every field of a batch, the largest first, and what a schema leaves of them.

    Attributes:
        schema: the name of the schema.
        fields: every field of the batch.
    """

    schema: str
    fields: tuple[FieldSize, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all fields."""
        return sum(field.bytes for field in self.fields)

    @property
    def shipped(self) -> int:
        """The bytes of the fields that the stage is handed."""
        return sum(field.bytes for field in self.fields if field.shipped)

    def __str__(self) -> str:
        width = max((len(field.field) for field in self.fields), default=0)
        lines = [
            f"  {name:<{width}}  {store:<16}  {size:>9}  {shipped}".rstrip()
            for name, store, size, shipped in self._lines
        ]
        return "\n".join([self._headline, *lines])

    def __rich__(self) -> Group:
        """The fields as a table, for the terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        for heading in ("field", "store", "size", "shipped"):
            table.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=True)
        for line in self._lines:
            table.add_row(*map(Text, line))
        return Group(Text(self._headline), table)

    @property
    def _headline(self) -> str:
        handed = [field for field in self.fields if field.shipped]
        whole = f"{count(len(self.fields), 'field')}, {readable(self.bytes)}"
        return f"{whole}; {self.schema} ships {len(handed)} of them, {readable(self.shipped)}"

    @property
    def _lines(self) -> list[tuple[str, str, str, str]]:
        return [
            (field.field, STORE_NAMES[field.placement], readable(field.bytes), "yes" if field.shipped else "")
            for field in self.fields
        ]


def size_report(data: Batch, reads: type[BatchSchema]) -> SizeReport:
    """The bytes of a batch, field by field, and what is left once it is projected to what a stage reads.

    Object columns and meta count with all that they refer to, an object that stands in several cells once.

    Args:
        data: the batch; it stays as it is.
        reads: the `Reads` of a stage. One with `extra="allow"` leaves everything.

    Raises:
        BatchError: if these are no batch and no schema.
    """
    check_batch("size_report", data)
    if not (isinstance(reads, type) and issubclass(reads, BatchSchema)):
        raise refuse("size_report", "BP036", "reads", describe(reads), "the Reads of a stage")
    spec = bound(reads, {}).named_by([data.meta_info]).schema.__batchpact__.spec
    declared = {(field.key, store_of(place.placement)) for field in spec.fields for place in field.places}
    sizes = [
        FieldSize(
            field=key,
            placement=placement,
            bytes=value_bytes(value) if placement == "tensor" else deep_bytes(value),
            shipped=spec.extra == "allow" or (key, placement) in declared,
        )
        for placement, held in data.stores().by_placement()
        for key, value in held.items()
    ]
    largest_first = sorted(sizes, key=lambda field: -field.bytes)
    return SizeReport(without_locals(reads.__qualname__), tuple(largest_first))
