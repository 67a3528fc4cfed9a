"""One stage or one field of a pipeline in words: where it comes from, who needs it, and under which condition."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.reference.view import View
from batchpact.schemas.errors import SettingError
from batchpact.schemas.names import closest
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Violation


def show(pipelines: Sequence[Pipeline], name: str, config: object = None) -> str:
    """What there is to say of a stage or a field of this name.

    Args:
        pipelines: where it is looked for.
        name: the name of a stage, or the key of a field.
        config: one configuration; without it, everything is shown with its conditions.

    Raises:
        SettingError: if no pipeline has a stage or a field of this name.
    """
    views = [View(pipeline.spec, pipeline.flow(config)) for pipeline in pipelines]
    found = [line for view in views for told in view.show(name) for line in told.text()]
    if not found:
        match = closest(name, [known for view in views for known in view.names()])
        hint = "" if match is None else f"closest name: '{match}'"
        places = join_names([f"'{pipeline.name}'" for pipeline in pipelines])
        actual = f"no stage and no field {name!r} in {places}"
        violation = Violation(code="BP052", field="name", actual=actual, hint=hint)
        raise SettingError("in the name to show", [violation])
    return "\n".join(found)
