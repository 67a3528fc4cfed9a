"""Source of schemas as formatters leave it: lines of at most 88 characters, imports sorted."""

from __future__ import annotations

import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from batchpact.contracts.inferring.drafted import Drafted

WIDTH = 88


def schema_source(name: str, description: str, fields: Sequence[Drafted], indent: str = "") -> list[str]:
    """The lines of a schema class, with a docstring where there is a description.

    Args:
        name: the name of the class.
        description: what its docstring says.
        fields: its fields, and those that none can be, which are comments.
        indent: what stands before each line.
    """
    inner = f"{indent}    "
    lines = [f"{indent}class {name}(BatchSchema):"]
    lines += docstring(description, inner) if description else []
    for field in fields:
        lines += _commented(field, inner)
    if not description and not any(field.kinds for field in fields):
        lines.append(f"{inner}pass")
    return lines


def docstring(text: str, indent: str) -> list[str]:
    """A docstring, in lines."""
    first, *more = textwrap.wrap(text, WIDTH - len(indent) - 6, break_long_words=False)
    if not more:
        return [f'{indent}"""{first}"""', ""]
    return [f'{indent}"""{first}', *(f"{indent}{line}" for line in more), f'{indent}"""', ""]


def _commented(field: Drafted, indent: str) -> list[str]:
    """A field under what is to be said of it, or beside it where that is short."""
    lines = list(_field(field, indent)) if field.kinds else []
    beside = f"  # {'; '.join(field.comments)}"
    if len(lines) == 1 and field.comments and len(lines[0] + beside) <= WIDTH:
        return [lines[0] + beside]
    texts = field.comments if field.kinds else [f"{field.key}: {text}" for text in field.comments]
    start = f"{indent}# "
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent=start, subsequent_indent=start, break_long_words=False)
    return [*(line for text in texts for line in wrapper.wrap(text)), *lines]


def _field(field: Drafted, indent: str) -> Iterator[str]:
    kind = " | ".join([*field.kinds, *(["None"] if field.optional else [])])
    default = f" = {field.default or 'None'}" if field.optional or field.default else ""
    annotation = f"Annotated[{', '.join([kind, *field.marks])}]" if field.marks else kind
    line = f"{indent}{field.attribute}: {annotation}{default}"
    if len(line) <= WIDTH or not field.marks:
        yield line
        return
    yield f"{indent}{field.attribute}: Annotated["
    for part in (kind, *field.marks):
        yield f"{indent}    {part},"
    yield f"{indent}]{default}"


def imports_source(imports: Iterable[tuple[str, str]]) -> list[str]:
    """The import statements of these pairs of module and name; without a name, the module itself is imported."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    whole: set[str] = set()
    for module, name in imports:
        if name:
            named[module].add(name)
        else:
            whole.add(module)
    blocks = []
    for standard in (True, False):
        lines = [f"import {module}" for module in sorted(whole) if _is_standard(module) is standard]
        for module in sorted(named):
            if _is_standard(module) is standard:
                lines += _import(module, sorted(named[module], key=_order))
        blocks.append(lines)
    first, second = blocks
    return [*first, *([""] if first and second else []), *second]


def _import(module: str, names: Sequence[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _order(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Classes before functions and modules, and numbers in a name by their size."""
    parts = re.findall(r"\d+|\D+", name)
    return name[:1].islower(), [(int(part), "") if part.isdecimal() else (-1, part.lower()) for part in parts]
