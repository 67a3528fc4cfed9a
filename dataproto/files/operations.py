"""Saving a batch to a file, and loading it or a part of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from typing_extensions import Self

from batchpact.dataproto.core import Batch
from batchpact.dataproto.files.reading import load
from batchpact.dataproto.files.writing import save
from batchpact.schemas.batch import BatchSchema


class FileOperations(Batch):
    """Files that hold data alone: reading one runs nothing."""

    def save_to_disk(self, filepath: str | os.PathLike[str], *, allow_pickle: bool = False) -> None:
        """Write the batch to a file, with writers, pad marks and the record of a bound schema.

        The file takes the place of an old one in one step, once it is whole and on the disk. Its format is safetensors;
        values in columns and meta are written as data. The batch stays as it is. Devices and gradients are not kept.

        Args:
            filepath: the file; its folder is there.
            allow_pickle: pickle what is not data: such a field is read only where `load_from_disk` is told so, too.

        Raises:
            BatchError: naming field, row and type of every value that is not data; there is no file then, or the old
                one.
            OSError: as the operating system says.
        """
        save(self, filepath, allow_pickle=allow_pickle)

    @classmethod
    def load_from_disk(
        cls,
        filepath: str | os.PathLike[str],
        *,
        fields: Sequence[str] | None = None,
        rows: slice | range | None = None,
        schema: type[BatchSchema] | None = None,
        allow_pickle: bool = False,
    ) -> Self:
        """Read a batch that `save_to_disk` wrote, or a part of it, into memory of its own, on the CPU.

        Only what is asked for is read, and all of that is verified by checksums.

        Args:
            filepath: the file.
            fields: the names of the fields, from any of the three stores; None for all.
            rows: neighbouring rows, as a slice or a range; None for all.
            schema: bound to the batch. Without one nothing is: a file has the record of its schema, and imports none.
            allow_pickle: read pickled objects, too, which runs whatever their writer wants to run.

        Raises:
            BatchError: if this is no such file, or what is read of it is damaged, or pickled where that is not allowed.
            MissingFieldError: naming every field that is not there.
            ContractError: with everything that does not keep to the schema.
            OSError: as the operating system says.
        """
        loaded = load(cls, filepath, fields=fields, rows=rows, allow_pickle=allow_pickle)
        return loaded if schema is None else loaded.bind(schema)
