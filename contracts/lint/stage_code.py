"""One stage: where its batch comes in, and what its code does with it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import SourceFile, Sources
from batchpact.contracts.lint.statements import Statements
from batchpact.contracts.lint.trace import Opaque, Result, Trace
from batchpact.contracts.lint.values import (
    SLOTS,
    UNKNOWN,
    Batch,
    Entry,
    Function,
    FunctionNode,
    Instance,
    Items,
    Live,
    Store,
    Value,
    one,
    union,
)
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.markers import PlacementName

_CARRIERS = ("DataProto", "TensorDict", "TensorDictBase", "DataProtoItem")


def read_stage(boundary: Boundary, sources: Sources) -> Trace | None:
    """Read the code of a stage; None where there is no code to be read."""
    function = inspect.unwrap(boundary.function)
    if not isinstance(function, FunctionType):
        return None
    source = sources.file(function.__code__.co_filename)
    node = None if source is None else source.function(function.__code__)
    if source is None or node is None or isinstance(node, ast.Lambda):
        return None
    trace = Trace(source.definition(node), _used_parameters(node), spans={source.span(node)})
    trace.stub = _is_stub(node)
    root = function.__module__.partition(".")[0]
    machine = Machine(trace, sources, root, function.__code__.co_filename.rpartition("/")[0])
    _read(boundary, machine, function, source, node)
    return trace


def _read(
    boundary: Boundary,
    machine: Machine,
    function: FunctionType,
    source: SourceFile,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
) -> None:
    trace, around = machine.trace, Scope.around(function)
    batch = one(machine.batch(given=True, schema=boundary.reads if boundary.typed else None))
    parameter = _batch_parameter(boundary, node)
    reader = Statements(machine, source, around)
    given = Arguments(trace.site, more=UNKNOWN)
    given.keywords = {parameter.arg: Argument(batch, trace.site)} if parameter is not None else {}
    first = [*node.args.posonlyargs, *node.args.args][:1]
    if first and first[0].arg in ("self", "cls") and first[0] is not parameter:
        owner = Instance(_class_of(function), source.class_of(node), around, source)
        given.keywords[first[0].arg] = Argument(one(owner), trace.site)
    bound = reader.bound(Function(node, around, source), given)
    if parameter is None:
        trace.opaque[Opaque("taken by a parameter without a name", None, trace.site)] = None
    carried = _text(parameter.annotation) if parameter is not None else ""
    machine.is_data_proto = "DataProto" in carried
    machine.stack.append(node)
    try:
        reader = Statements(machine, source, Scope(bound, around), lambda value: _return(machine, value))
        goes_on = reader.run(node.body)
        if goes_on:
            trace.results.append(Result())
        _read_what_nobody_called(machine, reader)
    except RecursionError:
        trace.opaque[Opaque("nested too deep to be read", None, trace.site)] = None
        trace.results.append(Result(open=True))
    if not machine.is_data_proto:
        trace.opaque.update(dict.fromkeys(machine.maybe_keys))


def _read_what_nobody_called(machine: Machine, reader: Statements) -> None:
    """Functions that are defined inside and called by others, if at all."""
    while True:
        waiting = [function for node, function in machine.nested.items() if node not in machine.read]
        if not waiting:
            return
        for function in waiting:
            reader.follow(function, Arguments(machine.trace.site, more=UNKNOWN))


def _return(machine: Machine, value: Value) -> None:
    """The stage returns a value: a batch, None, or a tuple that starts with one of these."""
    for atom in value:
        if isinstance(atom, Items) and atom.complete and atom.elements:
            _return(machine, atom.elements[0].value)
        elif isinstance(atom, (Batch, Store)):
            machine.trace.results.append(_result(machine, atom))
        elif isinstance(atom, Live) and atom.thing is None:
            machine.trace.results.append(Result())
        else:
            machine.trace.results.append(Result(open=True))


def _result(machine: Machine, atom: Batch | Store) -> Result:
    result = Result(given=atom.given)
    stores = _with_placements(atom) if isinstance(atom, Batch) else ((atom.placement, atom),)
    for placement, store in stores:
        result.open |= store.open or store.lent
        for key, entry in machine.held(store):
            before = result.entries.get((key, placement), Entry(frozenset(), ()))
            value, sites = union((before.value, entry.value)), dict.fromkeys((*before.sites, *entry.sites))
            result.entries[key, placement] = Entry(value, tuple(sites) or (machine.trace.site,))
    return result


def _with_placements(batch: Batch) -> Iterator[tuple[PlacementName | None, Store]]:
    yield None, batch.flat
    for placement, stores in batch.slots.items():
        for store in stores:
            yield placement, store


# --- parameters -------------------------------------------------------------------------------------------------------


def _batch_parameter(boundary: Boundary, node: FunctionNode) -> ast.arg | None:
    """The parameter that is the batch: the one that is annotated as one, looks like one, or stands first."""
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    own = [parameter for parameter in parameters if parameter.arg not in ("self", "cls")]
    if boundary.typed:
        qualname = f".{without_locals(boundary.reads.__qualname__)}"
        typed = [parameter for parameter in own if _names(parameter.annotation, qualname)]
        return (typed or own or [None])[0]
    carriers = [parameter for parameter in own if any(name in _text(parameter.annotation) for name in _CARRIERS)]
    used = _like_batches(node)
    alike = [parameter for parameter in own if parameter.annotation is None and parameter.arg in used]
    return (carriers or alike or own or [None])[0]


def _names(annotation: ast.expr | None, qualname: str) -> bool:
    """Whether an annotation is a schema by its name, or by the end of it: `KlInReward.Reads`, `rl.KlInReward.Reads`."""
    text = f".{_text(annotation)}"
    return bool(annotation) and (qualname.endswith(text) or text.endswith(qualname))


def _text(annotation: ast.expr | None) -> str:
    if annotation is None:
        return ""
    return (
        annotation.value
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
        else ast.unparse(annotation)
    )


def _like_batches(node: FunctionNode) -> set[str]:
    """Names of which the code takes a store, or an element by a string."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in SLOTS and isinstance(part.value, ast.Name):
            found.add(part.value.id)
        elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            key = part.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.add(part.value.id)
    return found


def _used_parameters(node: FunctionNode) -> frozenset[str]:
    parameters = {parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    loaded = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return frozenset(parameters & loaded)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function has no code yet: a docstring, `pass`, `...` or an exception."""
    return all(
        isinstance(part, (ast.Pass, ast.Raise)) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in node.body
    )


def _class_of(function: FunctionType) -> type | None:
    """The class that a function was defined in, where the module still has it under its name."""
    found: object = sys.modules.get(function.__module__)
    for name in function.__qualname__.split(".")[:-1]:
        found = getattr(found, name, None)
    return found if isinstance(found, type) else None
