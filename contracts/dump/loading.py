"""A dump, read again: the batch, what was returned, and the record. Nothing of it is run, and nothing is imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from typing_extensions import Self

from batchpact.contracts.dump.record import BESIDE, RECORD, DumpRecord, Part
from batchpact.dataproto import DataProto
from batchpact.schemas.errors import ContractError, SettingError, contract_error
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


@dataclass(frozen=True, slots=True)
class Dump:
    """A call that broke a contract, as it was saved.

    Attributes:
        record: the contract, what was wrong, and the place.
        batch: what the stage was called with, as far as a batch can hold it.
        read: all of that.
        filled: what the configuration and defaults added to its meta.
        args: the arguments of the contract, by their keys.
        returned: what the stage returned; empty where it broke before, or returned no batch.
    """

    record: DumpRecord
    batch: DataProto
    read: Stores
    filled: dict[str, Any]
    args: dict[str, Any]
    returned: Stores

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a dump.

        Raises:
            SettingError: if this is a saved batch, and no dump of this version.
            BatchError: if this is no saved batch at all, or it is damaged.
            OSError: as the operating system says.
        """
        batch = DataProto.load_from_disk(path)
        record = record_of(os.fsdecode(path), batch.meta_info.pop(RECORD, None))
        beside = batch.meta_info.pop(BESIDE, {})
        held, more = batch.stores(), _part(beside, "read")
        return cls(
            record=record,
            batch=batch,
            read=Stores(*({**own, **other} for own, other in zip(held[:3], more[:3], strict=True))),
            filled=dict(_part(beside, "filled").meta),
            args=dict(_part(beside, "brought").args),
            returned=_part(beside, "returned"),
        )

    @property
    def error(self) -> ContractError:
        """What was wrong, as it was raised."""
        return contract_error(self.record.subject, self.record.violations, self.record.dims)


def record_of(path: str, text: object) -> DumpRecord:
    """The record in a dump.

    Raises:
        SettingError: if it is none.
    """
    if text is None:
        raise wrong_dump(
            path, "a saved batch, and nothing says what was wrong with it", "a file that BATCHPACT_DUMP made"
        )
    try:
        return DumpRecord.model_validate_json(text if isinstance(text, str) else "")
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        actual = f"{'.'.join(map(str, found['loc']))}: {found['msg']}"[:200]
        raise wrong_dump(path, actual, "the form of this version; a later one may have written it") from None


def wrong_dump(path: str, actual: str, expected: str) -> SettingError:
    """The error for a file, or a stage, with which nothing can be run again."""
    return SettingError(
        f"in the dump {path}", [Violation(code="BP052", field="dump", actual=actual, expected=expected)]
    )


def _part(beside: object, part: Part) -> Stores:
    """The fields of one part that stand beside the batch."""
    held = beside.get(part, {}) if isinstance(beside, dict) else {}

    def store(placement: PlacementName) -> dict[str, Any]:
        found = held.get(placement, {}) if isinstance(held, dict) else {}
        return found if isinstance(found, dict) else {}

    return Stores(store("tensor"), store("non_tensor"), store("meta"), store("arg"))
