"""The boundaries of stages: the decorator, pipelines, static checks, the command line.

Start at `decorator.py` (`@stage`; signatures are read in `signature.py`) and `boundary.py` (what happens in a call; in
one that checks nothing: `level_off.py`). What a call brings along is in `arguments.py`, what its function is handed in
`handing.py`, what a stage did in `effects.py`, where rows came from in `origins.py`. A contract asks questions: of the
call in `variants.py`, of the result in `late_names.py`. A trainer's own code: functions of tensors in `unpacking.py`,
driver statements in `statements.py`, one code under several names in `aliases.py`, the order of calls in `order.py`.
`settings.py` has the levels, `reporting.py` what becomes of violations, `baseline.py` the file of known ones, `dump/`
what is saved where one is raised, and `events/` ready observers. `pipeline.py` runs stages in order and
`proof/` checks them without running; `reference/` tells what they say, `testing/` makes batches of them. Contracts that
nobody wrote yet are drafted from batches in `inferring/`, and from a run in `tracing/`. The command line is `cli.py`.
Names are imported when they are first used: `batchpact --help` must not import torch.
"""

from typing import TYPE_CHECKING, Any

from batchpact.contracts.lazy_names import look_up

if TYPE_CHECKING:
    from batchpact.contracts.aliases import alias
    from batchpact.contracts.configuration import use_config
    from batchpact.contracts.decorator import contract_of, stage
    from batchpact.contracts.dump.loading import Dump
    from batchpact.contracts.figures import Figures
    from batchpact.contracts.inferring.infer import infer
    from batchpact.contracts.origins import from_rows
    from batchpact.contracts.pipeline import Pipeline
    from batchpact.contracts.planned import when
    from batchpact.contracts.report import Report
    from batchpact.contracts.reporting import ContractWarning, Event, observe, save_counts
    from batchpact.contracts.settings import checking
    from batchpact.contracts.tracing.trace import trace
    from batchpact.contracts.verl.dispatch import contract_dispatch
    from batchpact.contracts.workers.errors import WorkerError
    from batchpact.contracts.workers.futures import StageFuture
    from batchpact.contracts.workers.group import WorkerGroup
    from batchpact.contracts.workers.worker import this_worker

_HOMES = {
    "ContractWarning": "reporting",
    "Dump": "dump.loading",
    "Event": "reporting",
    "Figures": "figures",
    "Pipeline": "pipeline",
    "Report": "report",
    "StageFuture": "workers.futures",
    "WorkerError": "workers.errors",
    "WorkerGroup": "workers.group",
    "alias": "aliases",
    "checking": "settings",
    "contract_dispatch": "verl.dispatch",
    "contract_of": "decorator",
    "from_rows": "origins",
    "infer": "inferring.infer",
    "observe": "reporting",
    "save_counts": "reporting",
    "stage": "decorator",
    "this_worker": "workers.worker",
    "trace": "tracing.trace",
    "use_config": "configuration",
    "when": "planned",
}

__all__ = [
    "ContractWarning",
    "Dump",
    "Event",
    "Figures",
    "Pipeline",
    "Report",
    "StageFuture",
    "WorkerError",
    "WorkerGroup",
    "alias",
    "checking",
    "contract_dispatch",
    "contract_of",
    "from_rows",
    "infer",
    "observe",
    "save_counts",
    "stage",
    "this_worker",
    "trace",
    "use_config",
    "when",
]


def __getattr__(name: str) -> Any:
    return look_up(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
