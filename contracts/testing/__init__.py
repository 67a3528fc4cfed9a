"""Batches made from contracts: `sample` makes one that keeps to a schema, `batches` many for hypothesis.

Start at `sampler.py`. `choosing.py` says what stands in a sample; sizes are solved in `sizes.py`, numbers drawn in
`numbers.py`, Python values in `python_values.py`; `draft.py` makes rows of them, and `satisfying.py` brings the rules
over several fields to hold. `checking.py` runs a stage on the samples of `cases.py`, by `running.py`. Names are
imported when they are first used: hypothesis, which `strategies.py` needs, is optional.
"""

from typing import TYPE_CHECKING, Any

from batchpact.contracts.lazy_names import look_up

if TYPE_CHECKING:
    from batchpact.contracts.testing.checking import check_stage
    from batchpact.contracts.testing.manner import Manner
    from batchpact.contracts.testing.sampler import Sample, Sampler, sample
    from batchpact.contracts.testing.strategies import batches, samples
    from batchpact.contracts.testing.unmeetable import SampleError

_HOMES = {
    "Manner": "manner",
    "Sample": "sampler",
    "SampleError": "unmeetable",
    "Sampler": "sampler",
    "batches": "strategies",
    "check_stage": "checking",
    "sample": "sampler",
    "samples": "strategies",
}

__all__ = ["Manner", "Sample", "SampleError", "Sampler", "batches", "check_stage", "sample", "samples"]


def __getattr__(name: str) -> Any:
    return look_up(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
