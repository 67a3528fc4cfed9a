"""The container and everything that moves it.

Start at `container.py` (`DataProto`) and `core.py`, which it is built on. Rows are chosen by one index plan (`rows.py`,
`splitting.py`) and taken from tensors of every layout in `tensors.py` and `nested.py`; `union.py`, `concat.py` and
`meta.py` join batches, `equality.py` says what is equal. `handout.py` and `withheld.py` make what a stage is handed.
`carriers/` lets contracts work on other containers: `TensorDict`, and verl's own `DataProto`.
"""

from batchpact.dataproto.columns import column
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.equality import difference, equal
from batchpact.dataproto.row_operations import DataProtoItem

__all__ = ["DataProto", "DataProtoItem", "column", "difference", "equal"]
