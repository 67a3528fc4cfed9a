"""The parameters of a stage's function: which one is the batch."""

from __future__ import annotations

import ast

from batchpact.contracts.lint.values import SLOTS, FunctionNode
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.definitions import without_locals

_CARRIERS = ("DataProto", "TensorDict")
_ITSELF = ("self", "cls")


def batch_parameter(node: FunctionNode, reads: type[BatchSchema] | None) -> ast.arg | None:
    """The parameter that is the batch: the one that is annotated as one, is used like one, or stands first.

    Args:
        node: the function.
        reads: the schema of which the batch is an instance; None where it is a carrier.
    """
    own = [parameter for parameter in _parameters(node) if parameter.arg not in _ITSELF]
    if reads is not None:
        qualname = f".{without_locals(reads.__qualname__)}"
        annotated = [parameter for parameter in own if _is_named(parameter.annotation, qualname)]
    else:
        annotated = [parameter for parameter in own if any(mentions(parameter.annotation, name) for name in _CARRIERS)]
    if annotated or len(own) < 2:
        return next(iter((*annotated, *own)), None)
    used = _used_like_batches(node)
    return next((parameter for parameter in own if parameter.annotation is None and parameter.arg in used), own[0])


def own_instance(node: FunctionNode) -> ast.arg | None:
    """The parameter for the instance of a method, by its usual name."""
    first = [*node.args.posonlyargs, *node.args.args][:1]
    return first[0] if first and first[0].arg in _ITSELF else None


def used_parameters(node: FunctionNode) -> frozenset[str]:
    """The parameters whose names the code reads, `**kwargs` among them."""
    loaded = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    more = [] if node.args.kwarg is None else [node.args.kwarg]
    return frozenset(loaded & {parameter.arg for parameter in (*_parameters(node), *more)})


def is_stub(node: FunctionNode) -> bool:
    """Whether a function has no code yet: a docstring, `pass`, `...` or an exception."""
    if isinstance(node, ast.Lambda):
        return False
    return all(
        isinstance(part, (ast.Pass, ast.Raise)) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in node.body
    )


def mentions(annotation: ast.expr | None, name: str) -> bool:
    """Whether an annotation has a name in it."""
    return name in _text(annotation)


def _parameters(node: FunctionNode) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _is_named(annotation: ast.expr | None, qualname: str) -> bool:
    """Whether an annotation is a class by its name, or by the end of it: `KlInReward.Reads`, `rl.KlInReward.Reads`."""
    text = f".{_text(annotation)}"
    return len(text) > 1 and (qualname.endswith(text) or text.endswith(qualname))


def _text(annotation: ast.expr | None) -> str:
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _used_like_batches(node: FunctionNode) -> set[str]:
    """Names of which the code takes a store, or an element by a string."""
    found = set()
    for part in ast.walk(node):
        if (isinstance(part, ast.Attribute) and part.attr in SLOTS and isinstance(part.value, ast.Name)) or (
            isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and _is_string(part.slice)
        ):
            found.add(part.value.id)
    return found


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
