"""`@stage` above verl's decorators: the stage has to get the batch that verl makes, so verl's go on top once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_REGISTERED = "attrs_3141562937"
"""verl's `MAGIC_ATTR`: what `@register` leaves on a function."""
_BRIDGE = "verl.utils.transferqueue_utils"


def verl_on_top(function: Callable[..., Any], staged: Callable[..., Any]) -> Callable[..., Any]:
    """A stage made of a function that verl has decorated already.

    verl's `@register` waits for futures and fetches what a meta of TransferQueue stands for. Below a stage that would
    come too late: the stage looks at the batch. Above and below it the lower one finds nothing to do.

    Args:
        function: what is under `@stage`.
        staged: the stage made of it.

    Returns:
        The stage, under verl's decorators where the function is; else as it is.
    """
    registered = getattr(function, _REGISTERED, None)
    if isinstance(registered, dict):
        from verl.single_controller.base.decorator import register

        made: Callable[..., Any] = register(**registered)(staged)
        return made
    if function.__globals__.get("__name__") == _BRIDGE:
        from verl.utils.transferqueue_utils import tqbridge

        names = function.__code__.co_freevars
        cells = dict(zip(names, function.__closure__ or (), strict=True))
        bridged: Callable[..., Any] = tqbridge(dispatch_mode=cells["dispatch_mode"].cell_contents)(staged)
        return bridged
    return staged
