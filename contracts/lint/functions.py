"""Functions and classes that the linter knows by name: those that make and move batches, and those on a TensorDict."""

from __future__ import annotations

from collections.abc import Callable

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.builtin import MODULES, call_builtin
from batchpact.contracts.lint.expressions import Expressions
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.making import (
    concatenate,
    from_dict,
    from_single_dict,
    get_tensordict,
    make_data_proto,
    make_instance,
    make_tensor_dict,
)
from batchpact.contracts.lint.methods import call_method, take_out
from batchpact.contracts.lint.names import names, set_names
from batchpact.contracts.lint.program import is_known
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Absent,
    Batch,
    Element,
    Holder,
    Items,
    Live,
    Text,
    Value,
    holders_in,
    is_schema,
    one,
)
from batchpact.schemas.markers import PlacementName

Handler = Callable[[Machine, Arguments], Value]

_OWNERS = ("batchpact", "tensordict", "verl")


def call_known(reader: Expressions, callee: Live | Absent, args: Arguments) -> Value | None:
    """What a known function or class gives; None for any other."""
    if isinstance(callee, Absent):
        module, _, name = callee.name.rpartition(".")
        if module.partition(".")[0] not in _OWNERS:
            return None
    elif isinstance(callee.thing, type):
        return _made(reader, callee.thing, args)
    else:
        name, module = getattr(callee.thing, "__name__", ""), getattr(callee.thing, "__module__", None) or ""
        if module in MODULES:
            return call_builtin(reader, name, args)
        if not is_known(module):
            return None
    if name in ("from_dict", "TensorDict") and module.startswith("tensordict"):
        return make_tensor_dict(reader.machine, args)
    handler = _HANDLERS.get(name)
    return None if handler is None else handler(reader.machine, args)


def _made(reader: Expressions, kind: type, args: Arguments) -> Value | None:
    """An instance of a class."""
    if is_schema(kind):
        return make_instance(reader.machine, kind, args)
    bases = {base.__name__ for base in kind.__mro__ if base.__module__.partition(".")[0] in _OWNERS}
    if "DataProto" in bases or "DataProtoItem" in bases:
        return make_data_proto(reader.machine, args)
    if "TensorDictBase" in bases:
        return make_tensor_dict(reader.machine, args)
    return call_builtin(reader, kind.__name__, args) if kind.__module__ == "builtins" else None


# --- on a TensorDict --------------------------------------------------------------------------------------------------


def _holders(args: Arguments) -> list[Holder]:
    """What a function is called on: its first argument that may be a batch, however it is passed."""
    return next(filter(None, map(holders_in, args.values())), [])


def _on_first(method: str) -> Handler:
    """A function that does what a method of its first argument does."""

    def handler(machine: Machine, args: Arguments) -> Value:
        rest = Arguments(args.site, args.positional[1:], args.keywords, args.more)
        return call_method(machine, _holders(args), method, rest)

    return handler


def _get_all(machine: Machine, args: Arguments) -> Value:
    keys = args.get(1, "keys")
    found, known = ([], False) if keys is None else names(machine, keys.value, keys.site)
    chosen = [Argument(one(Text(name)), site) for name, site in found]
    unknown = [] if known else [Argument(UNKNOWN, args.site)]
    return call_method(machine, _holders(args), "select", Arguments(args.site, [*chosen, *unknown]))


def _pop_all(machine: Machine, args: Arguments) -> Value:
    chosen, keys = _get_all(machine, args), args.get(1, "keys")
    if keys is not None:
        take_out(machine, _holders(args), keys.value, args)
    return chosen


def _assign(machine: Machine, args: Arguments) -> Value:
    holders = _holders(args)
    keywords = {name: argument for name, argument in args.keywords.items() if name != "tensor_dict"}
    call_method(machine, holders, "update", Arguments(args.site, keywords=keywords, more=args.more))
    return frozenset(holders)


def _assign_one(placement: PlacementName) -> Handler:
    """A function that sets one name."""

    def handler(machine: Machine, args: Arguments) -> Value:
        key, value = args.get(1, "key"), args.get(2, "val")
        for holder in _holders(args):
            store = holder.slots[placement][0] if isinstance(holder, Batch) else holder
            if key is not None and value is not None:
                set_names(machine, store, key.value, value.value, key.site)
        return NONE

    return handler


# --- names stay what they are -----------------------------------------------------------------------------------------


def _derive(machine: Machine, args: Arguments) -> Value:
    return machine.derived(_holders(args)) or UNKNOWN


def _pad(machine: Machine, args: Arguments) -> Value:
    return one(Items([Element(_derive(machine, args)), Element(UNKNOWN)]))


def _cut(machine: Machine, args: Arguments) -> Value:
    return one(Items([Element(_derive(machine, args))], complete=False))


def _first(machine: Machine, args: Arguments) -> Value:
    first = args.get(0, "result") or args.get(0, "data")
    return UNKNOWN if first is None else first.value


def _nothing(machine: Machine, args: Arguments) -> Value:
    return UNKNOWN


_HANDLERS: dict[str, Handler] = {
    "DataProto": make_data_proto,
    "DataProtoItem": make_data_proto,
    "all_gather_data_proto": _nothing,
    "assert_tensordict_eq": _nothing,
    "assign_non_tensor": _assign,
    "assign_non_tensor_data": _assign_one("meta"),
    "assign_non_tensor_stack": _assign_one("non_tensor"),
    "cat": concatenate,
    "chunk_tensordict": _cut,
    "column": _nothing,
    "concat": concatenate,
    "concat_tensordict": concatenate,
    "concat_tensordict_with_none_bsz": concatenate,
    "contiguous": _derive,
    "fold_batch_dim": _derive,
    "from_dict": from_dict,
    "from_rows": _first,
    "from_single_dict": from_single_dict,
    "from_tensordict": from_single_dict,
    "get": _on_first("get"),
    "get_keys": _get_all,
    "get_non_tensor_data": _on_first("get"),
    "get_tensordict": get_tensordict,
    "index_select_tensor_dict": _derive,
    "make_iterator": _cut,
    "maybe_fix_3d_position_ids": _nothing,
    "pad_dataproto_to_divisor": _pad,
    "pad_to_divisor": _pad,
    "pop": _on_first("pop"),
    "pop_keys": _pop_all,
    "unfold_batch_dim": _derive,
    "union_numpy_dict": _on_first("union"),
    "union_tensor_dict": _on_first("union"),
    "unpad": _derive,
    "unpad_dataproto": _derive,
    "unwrap_non_tensor_data": _first,
}
