"""Dtype names: torch's own, jaxtyping's families, and the short form that messages print (`f32`, `i64`, `bf16`)."""

from __future__ import annotations

import cmath

import torch

_LETTERS = (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("uint", "u"), ("int", "i"))


def short_name(name: str) -> str:
    """`float32` is `f32`, `bfloat16` is `bf16`; families (`float`) and `bool` stay as they are."""
    for long, letter in _LETTERS:
        rest = name.removeprefix(long)
        if rest != name and rest[:1].isdigit():
            return letter + rest
    return name


def dtype_name(dtype: torch.dtype) -> str:
    """`torch.float32` is `float32`."""
    return str(dtype).removeprefix("torch.")


def torch_dtypes(names: tuple[str, ...]) -> frozenset[torch.dtype]:
    """The torch dtypes of these names; jaxtyping also lists some that torch lacks."""
    found = (getattr(torch, name, None) for name in names)
    return frozenset(dtype for dtype in found if isinstance(dtype, torch.dtype))


def fits(value: float, dtype: torch.dtype) -> bool:
    """Whether a dtype holds a number as it is; a cast would wrap it, cut it or make it zero."""
    if isinstance(value, bool):
        return dtype is torch.bool
    try:
        held = torch.tensor(value, dtype=dtype, device="cpu").item()
        if value != value:
            return held != held
        rtol = torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0.0
        return cmath.isclose(held, value, rel_tol=rtol)
    except (RuntimeError, OverflowError, TypeError, ValueError):  # too large, or a dtype for which torch has no more
        return False


def one_dtype(names: tuple[str, ...]) -> torch.dtype:
    """The dtype that is meant, where a family is declared: torch's own choice for such numbers."""
    known = torch_dtypes(names)
    for dtype in (torch.get_default_dtype(), torch.int64):
        if not known or dtype in known:
            return dtype
    return next(dtype for name in names for dtype in torch_dtypes((name,)))
