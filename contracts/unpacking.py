"""Functions of plain values as stages: parameters are filled from the Reads, what is returned becomes the Writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from inspect import Parameter
from typing import Any, get_args, get_origin, get_type_hints

from batchpact.contracts.origins import FromRows
from batchpact.dataproto.withheld import HandedDict
from batchpact.schemas.batch import WITHHELD, BatchSchema
from batchpact.schemas.columns import look_up_names, names_in
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError, DeclarationError
from batchpact.schemas.instances import instance_stores
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.names import closest
from batchpact.schemas.stage import StageSchema, reads_of, writes_of
from batchpact.schemas.stores import store_of
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation, Where

STORE_PARAMETERS: Mapping[str, PlacementName] = {
    "batch": "tensor",
    "non_tensor_batch": "non_tensor",
    "meta_info": "meta",
}
"""Parameters that take a whole store where no field fills them, by the names that verl's functions have for them."""

_ITSELF = ("self", "cls")
_NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A parameter that a field fills."""

    parameter: str
    field: str
    has_default: bool


class Unpacking:
    """How a function of plain values is called with a Reads, and its result made into a Writes.

    Args:
        function: the function.
        schema: the contract.
        names: the field of a parameter, where it is not called like it.
        stage: the name of the stage.

    Attributes:
        owners: 1 where the first parameter is `self` or `cls`, else 0.
        signature: what the stage can be called with: a batch, or what the function itself takes.

    Raises:
        DeclarationError: naming every parameter that nothing fills, and whatever else does not fit.
    """

    def __init__(
        self, function: Callable[..., Any], schema: type[StageSchema], names: Mapping[str, str], stage: str
    ) -> None:
        self._function = function
        self._stage = stage
        self._reads, self._writes = reads_of(schema), writes_of(schema)
        fields = {field.name: field for field in self._reads.__batchpact__.spec.fields}
        self._written_names = [field.name for field in self._writes.__batchpact__.spec.fields]
        own = list(inspect.signature(function).parameters.values())
        self.owners = 1 if own and own[0].name in _ITSELF and own[0].name not in {*fields, *names} else 0
        parameters = {parameter.name: parameter for parameter in own[self.owners :]}
        named = {name: names.get(name, name) for name in parameters}
        self._positional = [p for p in parameters.values() if p.kind is Parameter.POSITIONAL_ONLY]
        self._taken = [
            _Taken(parameter.name, named[parameter.name], parameter.default is not Parameter.empty)
            for parameter in parameters.values()
            if parameter.kind in _NAMED and named[parameter.name] in fields
        ]
        filled = {taken.parameter for taken in self._taken}
        self._stores: dict[str, PlacementName] = {
            name: place
            for name, place in STORE_PARAMETERS.items()
            if name in parameters and parameters[name].kind in _NAMED[1:] and name not in filled
        }
        self._rest = next((p.name for p in parameters.values() if p.kind is Parameter.VAR_KEYWORD), None)
        taken_fields = {taken.field for taken in self._taken}
        if self._rest is not None:
            free = (name for name in fields if name not in {*taken_fields, *parameters})
            self._taken += [_Taken(name, name, has_default=True) for name in free]
        self._fields = {taken.parameter: taken.field for taken in self._taken}
        self._arguments = {name for name, field in fields.items() if field.place("arg") is not None}
        self._keys = {
            place: [(f.name, f.key) for f in fields.values() if any(store_of(p.placement) == place for p in f.places)]
            for place in STORE_PARAMETERS.values()
        }
        self._signature = inspect.Signature(own[self.owners :])
        several = [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]
        self.signature = inspect.Signature([*own[: self.owners], *several])
        problems = [*_wrong_names(names, parameters, self._reads), *self._unfilled(parameters)]
        problems += self._wrong_count()
        if problems:
            qualname = without_locals(function.__qualname__)
            found = [Violation(code="BP051", field=name, actual=text, hint=hint) for name, text, hint in problems]
            raise DeclarationError(f"in the stage {qualname}", found)

    def parameters_of(self, field: str) -> AbstractSet[str]:
        """The parameters that a field fills; `**kwargs` counts for what no other parameter takes."""
        own = {taken.parameter for taken in self._taken if taken.field == field}
        named = own & set(self._signature.parameters)
        return named or ({self._rest} if own and self._rest is not None else set())

    @property
    def store_parameters(self) -> Mapping[str, PlacementName]:
        """The parameters that take the declared fields of a store, as a dict."""
        return self._stores

    # --- going in ------------------------------------------------------------------------------------------------

    def takes_batch(self, args: tuple[Any, ...], accepts: Callable[[object], bool]) -> bool:
        """Whether a call is that of a stage: the first argument, after `self`, is a batch, and the only one.

        Raises:
            ContractError: if more positional arguments come after the batch.
        """
        if len(args) <= self.owners or not accepts(args[self.owners]):
            return False
        more = args[self.owners + 1 :]
        if more:
            expected = "after the batch, arguments go by keyword"
            raise self._wrong_call("batch", f"called with {describe(more[0])} behind it", expected)
        return True

    def filled(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """What the function is called with, where a stage would be called with this.

        Args:
            args: `self`, if it is a method, and an instance of the Reads.
            kwargs: what the call brings beside it.

        Raises:
            ContractError: if a parameter is filled by the batch and by the call.
        """
        held = args[-1].__dict__
        values: dict[str, Any] = {}
        for taken in self._taken:
            value = held.get(taken.field)
            if value is not None or not taken.has_default:
                values[taken.parameter] = value
        for name, place in self._stores.items():
            if name not in kwargs:
                values[name] = self._store(place, args[-1])
        for name in kwargs:
            field = self._fields.get(name)
            if field is None or (field == name and field in self._arguments):  # an argument that is switched off
                continue
            hint = f"pass {field}" if field in self._arguments else ""
            raise self._wrong_call(name, "given by the call, too", f"{field!r} of the Reads fills it", hint)
        values.update(kwargs)
        first = [values.pop(parameter.name, parameter.default) for parameter in self._positional]
        return [*args[:-1], *first], values

    def _store(self, place: PlacementName, instance: BatchSchema) -> Mapping[str, Any]:
        """The fields of a store by their keys, as a parameter that takes a whole store is given them."""
        found = dict(instance_stores(instance).store(place))
        withheld = instance.__dict__.get(WITHHELD)
        return found if withheld is None else HandedDict(found, withheld)

    def packed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[BatchSchema, dict[str, Any]]:
        """What a stage would be called with, where the function itself is called with this: a Reads, and the rest.

        Arguments of the contract stay among the keywords, under the names of their fields.

        Raises:
            TypeError: if the function cannot be called with this.
        """
        bound = self._signature.bind_partial(*args[self.owners :], **kwargs).arguments
        if self._rest is not None:
            bound.update(bound.pop(self._rest, {}))
        values: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name, value in bound.items():
            field = self._fields.get(name)
            if field is None:
                if name in self._stores and value is not None:
                    self._take_store(self._stores[name], value, values, bound.get("meta_info") or {})
                elif name not in self._stores:
                    rest[name] = value
            elif field in self._arguments:
                rest[field] = value
            else:
                values[field] = value
        return self._reads(**values), rest

    def _take_store(
        self, place: PlacementName, store: Mapping[str, Any], values: dict[str, Any], meta: Mapping[str, Any]
    ) -> None:
        """The fields that a caller's store holds, for the Reads; a name of the call itself counts before it."""
        for name, key in self._keys[place]:
            if key in store.keys():
                values.setdefault(name, store[key])
        spec = self._reads.__batchpact__.spec
        columns = {column.name: column for column in spec.columns if store_of(column.places[0].placement) == place}
        for name, named in names_in(spec, columns.values(), partial(look_up_names, meta)).items():
            if not isinstance(named, Violation):
                values.setdefault(name, {key: store[key] for key in named if key in store.keys()})
            elif columns[name].when is None:
                raise ContractError(f"where stage '{self._stage}' is called", [named])
        if spec.extra == "allow":
            declared = {key for _, key in self._keys[place]}
            values.update({key: store[key] for key in store.keys() if key not in declared and key not in values})

    # --- coming out ----------------------------------------------------------------------------------------------

    def written(self, result: Any) -> Any:
        """What the function returned, as Writes: a value, or a tuple in the order of the fields, or a dict by name.

        Raises:
            ContractError: if these are not as many as there are fields.
        """
        if result is None:
            return None
        if isinstance(result, FromRows):
            return FromRows(self.written(result.result), result.origin)
        if isinstance(result, dict):
            return self._writes(**result)
        names = self._written_names
        values = result if isinstance(result, tuple) else (result,)
        if len(values) != len(names):
            actual = (
                f"returned a tuple of {len(values)}" if isinstance(result, tuple) else f"returned {describe(result)}"
            )
            expected = self._in_order() if names else f"{self._writes_name} declares no field, so it is None"
            where = Where(stage=self._stage, boundary="writes")
            violation = Violation(code="BP035", field="result", actual=actual, expected=expected, where=where)
            raise ContractError(f"where stage '{self._stage}' returns its result", [violation])
        return self._writes(**dict(zip(names, values, strict=True)))

    def _in_order(self) -> str:
        names = self._written_names
        return f"{count(len(names), 'field')} of {self._writes_name} in their order: {join_names(names)}"

    @property
    def _writes_name(self) -> str:
        return without_locals(self._writes.__qualname__)

    # --- mistakes ------------------------------------------------------------------------------------------------

    def _unfilled(self, parameters: Mapping[str, Parameter]) -> Iterator[tuple[str, str, str]]:
        reads = without_locals(self._reads.__qualname__)
        for name, parameter in parameters.items():
            if parameter.kind is Parameter.VAR_POSITIONAL:
                yield f"*{name}", "parameters are filled by name, and these have none", ""
                continue
            optional = parameter.default is not Parameter.empty or name in self._stores
            if optional or name == self._rest or name in self._fields:
                continue
            match = closest(name, self._reads.__batchpact__.names)
            hint = f"declare it there (Arg[...] for what a call brings along), or say names={{{name!r}: 'a field'}}"
            if match is not None:
                hint = f"names={{{name!r}: {match!r}}}?"
            yield name, f"no field of {reads} fills this parameter", hint

    def _wrong_count(self) -> Iterator[tuple[str, str, str]]:
        """A function that says how many values it returns, and says another number than the Writes have."""
        try:
            returned = get_type_hints(self._function).get("return")
        except (NameError, AttributeError, TypeError):  # types are often imported for type checkers only
            return
        parts = get_args(returned)
        if get_origin(returned) is tuple and Ellipsis not in parts and len(parts) != len(self._written_names):
            expected = self._in_order() if self._written_names else f"{self._writes_name} declares no field"
            yield "return", f"it returns a tuple of {len(parts)}; {expected}", ""

    def _wrong_call(self, field: str, actual: str, expected: str, hint: str = "") -> ContractError:
        violation = Violation(code="BP036", field=field, actual=actual, expected=expected, hint=hint)
        return ContractError(f"where stage '{self._stage}' is called", [violation])


def _wrong_names(
    names: Mapping[str, str], parameters: Mapping[str, Parameter], reads: type[BatchSchema]
) -> Iterator[tuple[str, str, str]]:
    declared = reads.__batchpact__.names
    for name, field in names.items():
        if name not in parameters:
            match = closest(name, parameters)
            yield name, "names: the function has no such parameter", "" if match is None else f"closest: {match!r}"
        if field not in declared:
            match = closest(field, declared)
            text = f"names: {without_locals(reads.__qualname__)} declares no field {field!r}"
            yield name, text, "" if match is None else f"closest: {match!r}"
