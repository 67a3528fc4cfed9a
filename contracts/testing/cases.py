"""The ways in which batches are sampled for a stage: plain ones first, then what code is often wrong about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from batchpact.contracts.testing.manner import PLAIN, Manner
from batchpact.contracts.testing.overrides import Given
from batchpact.contracts.testing.sampler import Sample, Sampler
from batchpact.contracts.testing.unmeetable import SampleError
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.text import count, join_names


@dataclass(frozen=True, slots=True)
class Case:
    """One batch to run a stage on.

    Attributes:
        words: what is special about it.
        seed: what it is drawn with.
        rows: the number of rows; None where overrides say it.
        manner: how it is laid out.
        cleared: a mask that is 0 everywhere in row 0.
        alike: whether it has the values of the plain case.
    """

    words: str
    seed: int
    rows: int | None
    manner: Manner = PLAIN
    cleared: str | None = None
    alike: bool = False

    def __str__(self) -> str:
        """The call of a sampler that draws it."""
        rows = [] if self.rows is None else [str(self.rows)]
        manner = [] if self.manner == PLAIN else [f"manner={_manner_words(self.manner)}"]
        return f"draw({', '.join([*rows, f'seed={self.seed}', *manner])})"


def _manner_words(manner: Manner) -> str:
    without = f"without={{{', '.join(map(repr, sorted(manner.without)))}}}"
    flags = [f"{name}=True" for name in ("even", "bfloat16", "strided", "reordered") if getattr(manner, name)]
    return f"Manner({', '.join([*flags, *([without] if manner.without else [])])})"


class Cases:
    """Draws the batches of cases.

    Args:
        reads: what they keep to.
        rows: the numbers of rows; the first one is that of all other cases.
        dims: sizes of dims.
        overrides: what fields hold, as in `sample`.

    Raises:
        SampleError: if there is no such dim.
    """

    def __init__(
        self, reads: type[BatchSchema], rows: Sequence[int], dims: Mapping[str, int] | None, overrides: Given | None
    ) -> None:
        self._reads, self._dims, self._overrides = reads, dims, dict(overrides or {})
        self._sampler = Sampler(reads, dims=dims, overrides=overrides)
        self._rows: tuple[int | None, ...] = (None,) if self._sampler.tells_rows else tuple(rows)

    @property
    def words(self) -> str:
        """What makes the sampler of these cases."""
        given = [f"{name}={name}" for name, value in (("dims", self._dims), ("overrides", self._overrides)) if value]
        return f"Sampler({', '.join([without_locals(self._reads.__qualname__), *given])})"

    def plain(self, seed: int) -> Case:
        """The case that others are compared with."""
        rows = self._rows[0]
        return Case("with the given rows" if rows is None else f"with {count(rows, 'row')}", seed, rows)

    def others(self, seed: int) -> Iterator[Case]:
        """Every other case."""
        first, *further = self._rows
        for rows in further:
            yield Case(f"with {count(rows, 'row')}" if rows else "with no row", seed, rows)
        yield Case("with rows of equal lengths", seed, first, Manner(even=True))
        optional = self._sampler.optional
        for keys in [*([key] for key in optional), *([optional] if len(optional) > 1 else [])]:
            yield Case(f"without {join_names(keys)}", seed, first, Manner(without=frozenset(keys)))
        yield Case("with tensors that are not contiguous", seed, first, Manner(strided=True), alike=True)
        yield Case("with fields in another order", seed, first, Manner(reordered=True), alike=True)
        yield Case("with fields in bfloat16", seed, first, Manner(bfloat16=True))
        for field in self._reads.__batchpact__.spec.fields:
            if any(rule.kind == "binary" for rule in field.rules) and field.key not in self._overrides:
                yield Case(f"with {field.key} 0 in all of row 0", seed, first, cleared=field.key)

    def plain_batch(self, case: Case) -> Sample:
        """The batch of a plain case.

        Raises:
            SampleError: if there is none.
        """
        return self._sampler.draw(case.rows, seed=case.seed)

    def draw(self, case: Case) -> Sample | None:
        """The batch of another case; None where the Reads have no such batch."""
        try:
            if case.cleared is not None:
                return self._cleared(case, case.cleared)
            drawn = self._sampler.draw(case.rows, seed=case.seed, manner=case.manner)
        except SampleError:
            return None
        tensors = drawn.batch.stores().tensors.values()
        wanted = not case.manner.bfloat16 or any(getattr(value, "dtype", None) is torch.bfloat16 for value in tensors)
        return drawn if wanted else None

    def _cleared(self, case: Case, key: str) -> Sample | None:
        """A batch with a row without anything valid: what else is in that row follows."""
        value = self._sampler.draw(case.rows, seed=case.seed).batch.stores().tensors.get(key)
        if not isinstance(value, torch.Tensor) or value.dim() < 2 or not len(value) or 0 in self._overrides:
            return None
        overrides = {**self._overrides, 0: {key: torch.zeros_like(value[0])}}
        return Sampler(self._reads, dims=self._dims, overrides=overrides).draw(case.rows, seed=case.seed)
