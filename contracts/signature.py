"""What the signature of a stage's function says: its contract, and with what it can be called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints

from batchpact.contracts import registry
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.record import SchemaSpec
from batchpact.schemas.stage import NoFields, StageSchema, reads_of, writes_of
from batchpact.schemas.violations import Violation


def stage_signature(function: Callable[..., Any], reads: SchemaSpec) -> inspect.Signature:
    """What a stage can be called with: the function's parameters, and the contract's arguments beside them."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return signature
    for field in reads.fields:
        if field.place("arg") is not None and field.name not in signature.parameters:
            default = inspect.Parameter.empty if field.required and field.source is None else field.default
            parameters.append(inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default))
    return signature.replace(parameters=parameters)


def keyword_parameters(function: Callable[..., Any]) -> dict[str, int | None]:
    """The parameters that can be passed by keyword, with the position where they can be passed so, too."""
    found: dict[str, int | None] = {}
    for at, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            found[parameter.name] = at
        elif parameter.kind is parameter.KEYWORD_ONLY:
            found[parameter.name] = None
    return found


def needs_object(stage: Callable[..., Any]) -> bool:
    """Whether a stage is a method without its object, which nobody can call with a batch alone."""
    own = next(iter(inspect.signature(stage).parameters), "")
    return own in ("self", "cls") and not inspect.ismethod(stage)


def stated_contract(
    function: Callable[..., Any],
) -> tuple[type[BatchSchema], type[BatchSchema], type[StageSchema]]:
    """The contract that a signature states: a Reads parameter, and a Writes (or None) as the result.

    Returns:
        The two schemas, and the stage schema that has them: its facts are the stage's.

    Raises:
        DeclarationError: if the signature states none.
    """
    hints = _hints(function)
    returned = hints.pop("return", None)
    reads = _schemas(hints.values())
    if len(reads) != 1:
        found = "no parameter" if not reads else f"{len(reads)} parameters"
        raise wrong_stage(
            function.__qualname__,
            f"{found} annotated with a Reads; write (batch: X.Reads) -> X.Writes, or @stage(X) where carriers go in",
        )
    writes = next(iter(_schemas(_members(returned))), None)
    if writes is None:
        if returned is not type(None):
            raise wrong_stage(function.__qualname__, "the result is not annotated with a Writes (or None)")
        writes = NoFields
    owners = [owner for owner in registry.owners(reads[0]) if writes is NoFields or writes_of(owner) is writes]
    return reads[0], writes, owners[0] if owners else StageSchema


def takes_reads(function: Callable[..., Any], schema: type[StageSchema]) -> bool:
    """Whether a function under a named contract takes its Reads; where it takes carriers, nothing has to say so.

    Raises:
        DeclarationError: if it takes the Reads of another contract.
    """
    try:
        hints = _hints(function)
    except DeclarationError:  # carriers are often imported for type checkers only
        return False
    hints.pop("return", None)
    found = _schemas(hints.values())
    for hint in found:
        if hint is not reads_of(schema):
            text = f"it takes {hint.__qualname__}, and {schema.__qualname__} reads {reads_of(schema).__qualname__}"
            raise wrong_stage(function.__qualname__, text.replace("<locals>.", ""))
    return bool(found)


def _schemas(hints: Iterable[object]) -> list[type[BatchSchema]]:
    return [hint for hint in hints if isinstance(hint, type) and issubclass(hint, BatchSchema)]


def _members(hint: object) -> list[object]:
    """A type and everything inside it: `tuple[Writes, int]`, `Writes | None`, `FromRows[Writes]`."""
    return [hint, *(inner for arg in getattr(hint, "__args__", ()) for inner in _members(arg))]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    frame = inspect.currentframe()
    # Stages that are defined inside functions: names around the decorator are not in the module.
    while frame is not None and frame.f_globals.get("__name__") != function.__module__:
        frame = frame.f_back
    while frame is not None and frame.f_globals.get("__name__") == function.__module__:
        names = {**frame.f_locals, **names}
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    try:
        return get_type_hints(function, localns=names)
    except (NameError, AttributeError) as error:
        raise wrong_stage(function.__qualname__, f"an annotation cannot be resolved: {error}") from error


def wrong_stage(qualname: str, text: str) -> DeclarationError:
    """The error for a function that cannot be a stage."""
    name = without_locals(qualname)
    return DeclarationError(f"in the stage {name}", [Violation(code="BP051", field=name, actual=text)])
