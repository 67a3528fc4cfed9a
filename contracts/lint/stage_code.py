"""One stage: where its batch comes in, and what its code does with it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import FunctionType

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.parameters import batch_parameter, is_stub, mentions, own_instance, used_parameters
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import Sources
from batchpact.contracts.lint.statements import Statements
from batchpact.contracts.lint.trace import Opaque, Result, Trace
from batchpact.contracts.lint.values import (
    UNKNOWN,
    Batch,
    Entry,
    Function,
    Instance,
    Items,
    Live,
    Store,
    Value,
    one,
    union,
)
from batchpact.schemas.markers import PlacementName


def read_stage(boundary: Boundary, sources: Sources) -> Trace | None:
    """Read the code of a stage; None where there is no code to be read."""
    function = inspect.unwrap(boundary.function)
    if not isinstance(function, FunctionType):
        return None
    source = sources.file(function.__code__.co_filename)
    node = None if source is None else source.function(function.__code__)
    if source is None or node is None:
        return None
    code = Function(node, Scope.around(function), source)
    trace = Trace(source.definition(node), used_parameters(node), stub=is_stub(node))
    machine = Machine(trace, sources, function)
    _StageReader(machine, boundary, function, code).read()
    return trace


class _StageReader:
    """Reads one stage.

    Args:
        machine: its state.
        boundary: its contract.
        function: its function.
        code: the code of the function.
    """

    def __init__(self, machine: Machine, boundary: Boundary, function: FunctionType, code: Function) -> None:
        self._machine = machine
        self._boundary = boundary
        self._function = function
        self._code = code
        self._trace = machine.trace

    def read(self) -> None:
        """Read the function, and afterwards the functions inside it that nothing has called."""
        machine, code, site = self._machine, self._code, self._trace.site
        try:
            around = Statements(machine, code.source, code.scope)
            bound = around.bound(code, self._given())
            machine.begin(code, bound)
            reader = Statements(machine, code.source, Scope(bound, code.scope), self._returned)
            machine.end(reader.run_function(code.node))
            while waiting := machine.uncalled():
                for function in waiting:
                    around.follow(function, Arguments(site, more=UNKNOWN))
        except RecursionError:
            self._trace.opaque[Opaque("nested too deep to be read", None, site)] = None
            self._trace.results.append(Result(open=True))
        machine.finish()

    def _given(self) -> Arguments:
        """What the function is called with: its batch, `self`, and other arguments of which nothing is known."""
        boundary, node, site = self._boundary, self._code.node, self._trace.site
        given = Arguments(site, more=UNKNOWN)
        itself = own_instance(node)
        batch = self._machine.batch(given=True, schema=boundary.reads if boundary.typed else None)
        parameter = batch_parameter(node, boundary.reads if boundary.typed else None)
        if boundary.unpacking is not None:  # it is given values, and perhaps whole stores
            parameter = None
            stores = self._machine.batch(given=True).slots
            for name, placement in boundary.unpacking.store_parameters.items():
                given.keywords[name] = Argument(frozenset(stores[placement]), site)
        elif parameter is None:
            self._trace.opaque[Opaque("taken by a parameter without a name", None, site)] = None
        else:
            given.keywords[parameter.arg] = Argument(one(batch), site)
            self._machine.is_data_proto = mentions(parameter.annotation, "DataProto")
        if itself is not None and itself is not parameter:
            owner = Instance(
                _class_of(self._function), self._code.source.class_of(node), self._code.scope, self._code.source
            )
            given.keywords[itself.arg] = Argument(one(owner), site)
        return given

    # --- results -------------------------------------------------------------------------------------------------

    def _returned(self, value: Value) -> None:
        """The stage returns a value: a batch, None, or a tuple that starts with one of these."""
        if self._boundary.unpacking is not None:  # values, whose number and order the boundary knows
            return
        for atom in value:
            if isinstance(atom, Items) and atom.complete and atom.elements:
                self._returned(atom.elements[0].value)
            elif isinstance(atom, Batch) or (isinstance(atom, Store) and atom.rows):
                self._trace.results.append(self._result(atom))
            else:
                nothing = isinstance(atom, Live) and atom.thing is None
                self._trace.results.append(Result(open=not nothing))

    def _result(self, atom: Batch | Store) -> Result:
        result = Result(given=atom.given)
        for placement, store in _placed(atom):
            result.open |= store.open or store.lent
            for key, entry in self._machine.held(store):
                before = result.entries.get((key, placement), Entry(frozenset(), ()))
                sites = dict.fromkeys((*before.sites, *entry.sites))
                value = union((before.value, entry.value))
                result.entries[key, placement] = Entry(value, tuple(sites) or (self._trace.site,))
        return result


def _placed(atom: Batch | Store) -> Iterator[tuple[PlacementName | None, Store]]:
    """The stores of a result, each with the placement of its names."""
    if isinstance(atom, Store):
        yield atom.placement, atom
        return
    yield None, atom.flat
    for placement, stores in atom.slots.items():
        for store in stores:
            yield placement, store


def _class_of(function: FunctionType) -> type | None:
    """The class that a function was defined in, where the module still has it under its name."""
    found: object = sys.modules.get(function.__module__)
    for name in function.__qualname__.split(".")[:-1]:
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None
