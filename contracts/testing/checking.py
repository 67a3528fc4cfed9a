"""`check_stage`: runs a stage on sampled batches, and says what it does that its contract does not say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import use_config
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.signature import needs_object, wrong_stage
from batchpact.contracts.testing.cases import Case, Cases
from batchpact.contracts.testing.overrides import Given
from batchpact.contracts.testing.running import Ran, Runner, field_difference
from batchpact.contracts.testing.sampler import Sample
from batchpact.dataproto import DataProto
from batchpact.dataproto.binding import bound
from batchpact.dataproto.padding import pad_dataproto_to_divisor
from batchpact.schemas.describe import describe
from batchpact.schemas.equality import Tolerance
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Stores, column
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where

ROWS = (5, 1, 0)
_NUMBERS = "batchpact_row"
"""A column that no stage declares: it tells which row is which where a stage moves them."""


def check_stage(
    stage: Callable[..., Any],
    *,
    samples: int = 3,
    seed: int = 0,
    rows: Sequence[int] = ROWS,
    dims: Mapping[str, int] | None = None,
    overrides: Given | None = None,
    config: Any = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> None:
    """Run a stage on batches that are sampled from its Reads, and hold what it does against its contract.

    Every call is checked at level `values`. Beside that, a stage leaves what it only reads as it was, and gives the
    same result again. It runs on one row and on none, on rows of equal lengths, without each optional field, in
    bfloat16 where it is declared so, and with nothing valid in a row. Tensors that are not contiguous and fields in
    another order change nothing. Where its `rows` are "same" or "permute", rows in another order give the same rows in
    that order; where it is `pad_safe`, pad rows change nothing in the others.

    torch, numpy and `random` are seeded before each run. The rows of a stage that draws from them are not compared, as
    what one row draws depends on the rows before it. What a stage writes into meta is compared as far as it is the same
    when it runs again; rows and pad rows may change it.

    Args:
        stage: the stage: a function, a method of an object, or a `functools.partial` of one with further arguments.
        samples: how many batches everything is tried with.
        seed: the seed of the first one, which the next ones count up from. The same seed makes the same checks.
        rows: the numbers of rows that it runs on; the first one is that of all comparisons. Without 0, a stage need
            not run on no row.
        dims: sizes of dims.
        overrides: what fields hold, as in `sample`.
        config: the configuration that counts, as in `use_config`.
        rtol: by how much results may deviate and still be the same, relative to the larger one: sums of floats depend
            on their order.
        atol: the same, absolutely.

    Raises:
        ContractError: with everything that was found, each with the batch on which it was found first.
        SampleError: if no batch keeps to the Reads.
        DeclarationError: if this is no stage, or a method without its object.
    """
    contract = contract_of(stage)
    if contract is None or not callable(stage):
        raise wrong_stage(getattr(stage, "__qualname__", describe(stage)), "no stage: put @stage above it")
    if needs_object(stage):
        raise wrong_stage(contract.spec.qualname, "a method needs its object: check_stage(worker.method)")
    with nullcontext() if config is None else use_config(config):
        cases = Cases(contract.reads, rows, dims, overrides)
        check = _Check(Runner(stage, contract), contract, cases, Tolerance(rtol, atol))
        for number in range(samples):
            check.sample(seed + number)
        check.raise_found()


class _Check:
    """The check of one stage."""

    def __init__(self, runner: Runner, contract: Boundary, cases: Cases, tolerance: Tolerance) -> None:
        self._runner = runner
        self._contract = contract
        self._cases = cases
        self._tolerance = tolerance
        self._found: dict[tuple[str, ...], Violation] = {}
        self._first: tuple[int, Exception | None] | None = None

    def sample(self, seed: int) -> None:
        """Everything with one seed."""
        plain = self._cases.plain(seed)
        drawn = self._cases.plain_batch(plain)
        first = self._run(plain, drawn)
        stable = self._repeats(plain, first)
        for case in self._cases.others(seed):
            sampled = self._cases.draw(case)
            if sampled is not None:
                ran = self._run(case, sampled)
                if case.alike and stable is not None and ran.error is None:
                    self._compare(case, case.words, first.written, ran.written, "the result of the plain batch", stable)
        if stable is not None and not first.draws:
            self._move_rows(plain)
            if self._contract.spec.pad_safe and self._contract.spec.rows.kind == "same":
                self._pad(plain, first)

    def raise_found(self) -> None:
        """Raise what was found.

        Raises:
            ContractError: with all of it.
        """
        if self._first is not None:
            seed, error = self._first
            name = self._contract.name
            again = f"again: check_stage({name}, samples=1, seed={seed}); the batches: {self._cases.words}"
            raise ContractError(f"where stage '{name}' runs on samples", [*self._found.values()], note=again) from error

    # --- runs --------------------------------------------------------------------------------------------------------

    def _run(self, case: Case, sample: Sample, words: str = "") -> Ran:
        ran = self._runner.run(sample, case.seed)
        for violation in ran.found:
            what = violation.expected if violation.code == "BP058" else ""
            self._add(case, words or case.words, violation, violation.code, violation.field, what, error=ran.error)
        return ran

    def _repeats(self, case: Case, first: Ran) -> Collection[str] | None:
        """Run a case again. The meta that is the same; None where the rows are not, or there is no result."""
        if first.error is not None:
            return None
        again = self._runner.run(self._cases.plain_batch(case), case.seed)
        wanted = "the result of the first run"
        if self._compare(case, f"{case.words}, again", first.written, again.written, wanted) or again.error is not None:
            return None
        before, after = first.written.meta, again.written.meta
        return [key for key in before if key in after and field_difference(before[key], after[key]) is None]

    # --- comparisons -------------------------------------------------------------------------------------------------

    def _compare(
        self, case: Case, words: str, wanted: Stores, got: Stores, expected: str, meta: Collection[str] = ()
    ) -> bool:
        """Whether the fields with rows differ, and these keys of meta."""
        differs = False
        for (placement, before), (_, after) in zip(wanted.by_placement(), got.by_placement(), strict=True):
            for key in dict.fromkeys((*before, *after)):
                if placement == "meta" and key not in meta:
                    continue
                text = "it is written in one of the two only"
                if key in before and key in after:
                    text = field_difference(before[key], after[key], self._tolerance) or ""
                if text:
                    found = Violation(code="BP058", field=key, placement=placement, actual=text, expected=expected)
                    self._add(case, words, found, expected, key)
                    differs = True
        return differs

    def _move_rows(self, case: Case) -> None:
        """Rows in another order."""
        if self._contract.spec.rows.kind not in ("same", "permute"):
            return
        sample, moved = self._numbered(case), self._numbered(case)
        length = len(sample.batch)
        if length < 2:
            return
        order = np.roll(np.random.default_rng(case.seed % 2**64).permutation(length), 1)
        if np.array_equal(order, np.arange(length)):
            order = order[::-1]
        words = f"with rows in the order {order.tolist()}"
        first = self._runner.run(sample, case.seed)
        ran = self._run(case, moved._replace(batch=moved.batch[order]), words)
        wanted, got = self._in_order(first, np.arange(length)), self._in_order(ran, order)
        if wanted is not None and got is not None:
            self._compare(case, words, wanted, got, "the same in each row as without")

    def _numbered(self, case: Case) -> Sample:
        """The batch of a case with a number in each row, where the stage may move them."""
        sample = self._cases.plain_batch(case)
        if self._contract.spec.rows.kind == "permute":
            sample.batch.non_tensor_batch[_NUMBERS] = column(range(len(sample.batch)))
        return sample

    def _in_order(self, ran: Ran, order: np.ndarray) -> Stores | None:
        """What was written with rows, in the order that these had in the sample; `order` is the one they came in."""
        if ran.error is not None or ran.result is None:
            return None
        written = ran.written
        columns = {key: value for key, value in written.columns.items() if key != _NUMBERS}
        if self._contract.spec.rows.kind == "permute":
            order = ran.result.non_tensor_batch[_NUMBERS].astype(np.int64)
        if not written.tensors and not columns:
            return None
        return _chosen(Stores(written.tensors, columns, {}), np.argsort(order))

    def _pad(self, case: Case, first: Ran) -> None:
        """Pad rows behind the others."""
        sample = self._cases.plain_batch(case)
        length = len(sample.batch)
        if length < 2:
            return
        # Not bind, which asks for arguments, too: a sample keeps to its schema.
        sample.batch._bound = bound(self._contract.reads, {})
        padded, pads = pad_dataproto_to_divisor(sample.batch, length + 2)
        padded._bound = None
        words = f"with {count(pads, 'pad row')} behind"
        ran = self._run(case, sample._replace(batch=padded), words)
        if ran.error is None and ran.result is not None and first.result is not None:
            wanted, got = (_chosen(each.written, np.arange(length)) for each in (first, ran))
            self._compare(case, words, wanted, got, "the same in each row as without")

    # --- findings ----------------------------------------------------------------------------------------------------

    def _add(self, case: Case, words: str, violation: Violation, *key: str, error: Exception | None = None) -> None:
        """Keep a finding, if it is the first of its kind."""
        if self._first is None:
            self._first = case.seed, error
        told = f"{words}: {case}"
        hint = f"{violation.hint}; {told}" if violation.hint else told
        found = violation.model_copy(update={"hint": hint}).at(Where(stage=self._contract.name))
        self._found.setdefault(key, found)


def _chosen(written: Stores, rows: np.ndarray) -> Stores:
    """Rows of what was written."""
    held = DataProto.from_dict(dict(written.tensors), dict(written.columns), {})  # type: ignore[arg-type]
    return held.select_idxs(rows).stores()
