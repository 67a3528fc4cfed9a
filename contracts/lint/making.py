"""Batches that code makes: DataProto, TensorDict, Reads and Writes."""

from __future__ import annotations

from collections.abc import Mapping

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.names import elements
from batchpact.contracts.lint.values import SLOTS, Batch, Store, Unknown, Value, kept, one
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import PlacementName

_FROM_DICT: Mapping[str, PlacementName] = {"tensors": "tensor", "non_tensors": "non_tensor", "meta_info": "meta"}
"""The arguments of `DataProto.from_dict`, in their order."""


def make_instance(machine: Machine, schema: type[BatchSchema], args: Arguments) -> Value:
    """An instance of Reads or Writes."""
    batch = machine.batch(schema=schema)
    homes = schema.__batchpact__.homes
    columns = schema.__batchpact__.columns
    for name, argument in args.keywords.items():
        key = columns[name].spec.key if name in columns else homes[name][0].key if name in homes else name
        machine.put(batch.flat, key, argument.value, argument.site)
    batch.flat.open |= args.more is not None
    return one(batch)


def make_data_proto(machine: Machine, args: Arguments) -> Value:
    """`DataProto(batch, non_tensor_batch, meta_info)`: of stores, which it keeps."""
    batch = machine.batch()
    for at, (keyword, placement) in enumerate(SLOTS.items()):
        stores = _stores(args.get(at, keyword))
        batch.slots[placement] = stores or batch.slots[placement]
    return _finished(batch, args)


def from_dict(machine: Machine, args: Arguments) -> Value:
    """`DataProto.from_dict`: of dicts, which are copied."""
    batch = machine.batch()
    for at, (keyword, placement) in enumerate(_FROM_DICT.items()):
        for store in _stores(args.get(at, keyword)):
            machine.join(batch.slots[placement][0], store)
    return _finished(batch, args)


def from_single_dict(machine: Machine, args: Arguments) -> Value:
    """`DataProto.from_single_dict` and `from_tensordict`: of one mapping, whose values say where they stand."""
    batch = machine.batch()
    data, meta = args.get(0, "data") or args.get(0, "tensordict"), args.get(1, "meta_info")
    for atom in () if data is None else data.value:
        if isinstance(atom, Batch):
            machine.merge(batch, atom)
    for target, argument in ((batch.flat, data), (batch.slots["meta"][0], meta)):
        for store in _stores(argument):
            machine.join(target, store)
    return _finished(batch, args)


def make_tensor_dict(machine: Machine, args: Arguments) -> Value:
    """`TensorDict({...})` and `TensorDict.from_dict({...})`."""
    made = Store(rows=True, open=args.more is not None)
    for store in _stores(args.get(0, "source") or args.get(0, "input_dict")):
        machine.join(made, store)
    return one(made)


def get_tensordict(machine: Machine, args: Arguments) -> Value:
    """`get_tensordict({...}, {...})`: tensors and columns, and meta."""
    batch = machine.batch()
    for store in _stores(args.get(0, "tensor_dict")):
        machine.join(batch.flat, store)
    for store in _stores(args.get(1, "non_tensor_dict")):
        machine.join(batch.slots["meta"][0], store)
    return _finished(batch, args)


def concatenate(machine: Machine, args: Arguments) -> Value:
    """Batches one below the other: a batch with the names of each."""
    return _finished(_joined(machine, machine.batch(), args.positional[0] if args.positional else None), args)


def collate(machine: Machine, schema: type[BatchSchema], args: Arguments) -> Value:
    """`Schema.collate(rows)`: an instance with the names of each row."""
    return one(_joined(machine, machine.batch(schema=schema), args.get(0, "rows")))


def _joined(machine: Machine, made: Batch, argument: Argument | None) -> Batch:
    """A batch with the names of each part in a sequence; of which nobody knows them all where parts are unknown."""
    found = [] if argument is None else elements(machine, argument.value, argument.site)
    parts = [atom for element in found for atom in element.value]
    for part in parts:
        if isinstance(part, Batch):
            machine.merge(made, part)
        elif isinstance(part, Store):
            machine.join(made.flat, part)
    made.flat.open |= not parts or any(isinstance(part, Unknown) for part in parts)
    return made


def _stores(argument: Argument | None) -> list[Store]:
    """What a batch is made of, as stores."""
    return [] if argument is None else kept(argument.value)


def _finished(batch: Batch, args: Arguments) -> Value:
    """A batch with a store of the stage's batch is such a batch, too; unknown arguments may be anything."""
    batch.flat.given = any(store.given for store in batch.stores)
    batch.flat.open |= args.more is not None
    return one(batch)
