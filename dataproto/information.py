"""What a batch holds and how large it is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from batchpact.dataproto.core import Batch
from batchpact.dataproto.display import FIELDS_IN_TABLES, FIELDS_IN_TEXT, html, table, text
from batchpact.dataproto.facts import batch_facts
from batchpact.dataproto.sizes import column_bytes, readable, value_bytes
from batchpact.dataproto.tensors import items
from batchpact.schemas.describe import describe

if TYPE_CHECKING:
    from rich.console import Group

_ELEMENTS = 3


class Information(Batch):
    """The batch as text, as a table and as HTML, a listing of the fields, and their sizes."""

    def __repr__(self) -> str:
        return text(batch_facts(self, FIELDS_IN_TEXT))

    def __rich__(self) -> Group:
        """The fields as a table, for the terminal."""
        return table(batch_facts(self, FIELDS_IN_TABLES))

    def _repr_html_(self) -> str:
        """The fields as HTML, for notebooks."""
        return html(batch_facts(self, FIELDS_IN_TABLES))

    def get_data_info(self) -> str:
        """The fields of each store with shape, dtype and device; for meta its type, with the types of its elements."""
        lines = ["batch"]
        for key, value in items(self.batch).items():
            lines.append(f"  {key}: {_tensor_info(value)}")
        lines.append("non_tensor_batch")
        lines += [f"  {key}: {_type_info(cells, ())}" for key, cells in self.non_tensor_batch.items()]
        lines.append("meta_info")
        lines += [f"  {key}: {_type_info(value, ())}" for key, value in self.meta_info.items()]
        return "\n".join(lines)

    def print_size(self, prefix: str = "") -> None:
        """Print how many bytes the stores and each field take.

        Object columns count with all that their cells hold; an object that stands in several cells of one counts once.

        Args:
            prefix: what the first line begins with.
        """
        tensors = {key: value_bytes(value) for key, value in items(self.batch).items()}
        columns = {key: column_bytes(cells) for key, cells in self.non_tensor_batch.items()}
        totals = [sum(sizes.values()) / 1024**3 for sizes in (tensors, columns)]
        message = f"Size of tensordict: {totals[0]} GB, size of non_tensor_batch: {totals[1]} GB"
        fields = [f"  {key}: {readable(size)}" for key, size in {**tensors, **columns}.items()]
        print("\n".join([f"{prefix}, {message}" if prefix else message, *fields]))


def _tensor_info(value: object) -> str:
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            return f"{describe(value)} ({value.dtype}) {value.device}"
        return f"{tuple(value.shape)} ({value.dtype}) {value.device}"
    return type(value).__name__


def _type_info(value: object, above: tuple[int, ...]) -> str:
    """A type with the types of the first elements; `...` for a container that holds itself."""
    if id(value) in above:
        return "..."
    inside = (*above, id(value))
    if isinstance(value, np.ndarray):
        return f"ndarray{value.shape} ({value.dtype})"
    if isinstance(value, list):
        kinds = dict.fromkeys(_type_info(element, inside) for element in value[:_ELEMENTS])
        return f"list[{'|'.join(kinds) or '...'}]"
    if isinstance(value, tuple):
        return f"tuple({', '.join(_type_info(element, inside) for element in value)})"
    if isinstance(value, dict) and value:
        key, element = next(iter(value.items()))
        return f"dict[{_type_info(key, inside)}: {_type_info(element, inside)}]"
    return type(value).__name__
