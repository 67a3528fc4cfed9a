"""Calls become stages: what all calls of a function did is required, what only some did is optional or conditional."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword

from torch import Tensor

from batchpact.contracts.inferring.drafted import SCHEMAS, Drafted, name_attributes, plain_source, quoted
from batchpact.contracts.inferring.drafting import draft
from batchpact.contracts.inferring.seen import Seen
from batchpact.contracts.inferring.vocabulary import words_for
from batchpact.contracts.tracing.calls import Call
from batchpact.contracts.tracing.explaining import Configurations
from batchpact.schemas.stores import Stores


@dataclass
class StageDraft:
    """A stage as it may be declared.

    Attributes:
        name: the name of its class.
        description: what its docstring says.
        reads: the fields that it reads.
        writes: the fields that it writes.
        facts: its facts, a line each.
        when: the source of the condition under which it runs; empty where it always does.
        comments: what is uncertain of the whole stage.
        imports: what the source needs beyond its fields.
    """

    name: str
    description: str
    reads: list[Drafted]
    writes: list[Drafted]
    facts: list[str] = field(default_factory=list)
    when: str = ""
    comments: list[str] = field(default_factory=list)
    imports: set[tuple[str, str]] = field(default_factory=set)


@dataclass
class Observed:
    """The calls of one stage, each with the number of its run."""

    name: str
    home: str
    calls: list[tuple[int, Call]] = field(default_factory=list)

    @property
    def runs(self) -> list[int]:
        """The runs in which it was called."""
        return list(dict.fromkeys(run for run, _ in self.calls))


def draft_stage(observed: Observed, configs: Configurations, runs: Sequence[int]) -> StageDraft:
    """What may be declared of a stage.

    Args:
        observed: its calls.
        configs: the configurations of the runs.
        runs: the numbers of all runs.
    """
    calls = observed.calls
    reads = _fields([(run, call.read, call.before) for run, call in calls], configs, "calls")
    writes = _fields([(run, call.written.names(), call.written) for run, call in calls], configs, "calls")
    reads = [seen for seen in reads if set(seen.places.values()) != {"arg"} or _is_argument(seen, calls, configs)]
    drafted = draft([*reads, *writes])
    made = StageDraft(_camel(observed.name), _description(observed), drafted[: len(reads)], drafted[len(reads) :])
    if not observed.home:
        made.reads = _binding(made)
    name_attributes(made.reads)
    name_attributes(made.writes)
    there = {name for _, call in calls for name in (*call.read, *call.written.names())}
    never = {name for _, call in calls for name in call.looked} - there
    made.comments += [_unpacked(observed)] if calls[0][1].unpacked else []
    others = dict.fromkeys(name for _, call in calls for name in call.more_batches)
    made.comments += [
        f"{name} is a batch, too; a stage has one, and what this one is for was not seen" for name in others
    ]
    made.comments += [f"it also looks for {name}, which was never there" for name in sorted(never)]
    _add_facts(made, calls, configs)
    if len(observed.runs) < len(runs):
        made.when, more = configs.condition(observed.runs, runs)
        made.comments.append(f"called in {len(observed.runs)} of {len(runs)} runs{'; ' if more else ''}{more}")
    return made


def _binding(made: StageDraft) -> list[Drafted]:
    """Fields that say how large is what a stage writes: all that is known of what the loop itself has read."""
    wanted = {name for drafted in made.writes for name in drafted.dims}
    kept = []
    for drafted in made.reads:
        if wanted & drafted.dims and not drafted.uncertain:
            kept.append(drafted)
            wanted -= drafted.dims
    return kept


def _is_argument(seen: Seen, calls: Sequence[tuple[int, Call]], configs: Configurations) -> bool:
    """Say what fills an argument; one that nobody ever gave another value than its default is no part of a contract."""
    seen.source = configs.path_of({calls[at][0]: value for at, value in seen.values.items()}, seen.key)
    known = {call.defaults.get(seen.key) for _, call in calls}
    default = known.pop() if len(known) == 1 else None
    if default is None:
        return True
    seen.default = plain_source(default)
    moved = any(value != default for value in seen.values.values())
    return moved or bool(seen.source or words_for(seen.key))


def draft_inputs(starts: Sequence[Stores], configs: Configurations) -> list[Drafted]:
    """What may be declared of what the runs start with; each start has the number of its run."""
    drafted = draft(_fields([(run, start.names(), start) for run, start in enumerate(starts)], configs, "runs"))
    name_attributes(drafted)
    return drafted


def outputs_of(stages: Sequence[StageDraft]) -> list[str]:
    """The fields that nobody reads after they were written last; none where one of them is not always there.

    A pipeline promises its outputs in every configuration, and where it has any it wants no other field unread.
    """
    written = {field.key: at for at, stage in enumerate(stages) for field in stage.writes if field.kinds}
    unread = [key for key, at in written.items() if not any(_reads(stage, key) for stage in stages[at + 1 :])]
    certain = {field.key for s in stages if not s.when for field in s.writes if field.kinds and not field.uncertain}
    return unread if certain.issuperset(unread) else []


def _reads(stage: StageDraft, key: str) -> bool:
    return any(field.key == key for field in stage.reads)


def _fields(calls: Sequence[tuple[int, Iterable[str], Stores]], configs: Configurations, noun: str) -> list[Seen]:
    """The fields that calls name, as they were seen in their stores; each call with the number of its run."""
    found: dict[str, Seen] = {}
    for at, (_, names, stores) in enumerate(calls):
        for name in names:
            held = stores.find(name)
            if held is not None:
                found.setdefault(name, Seen(name)).add(at, *held)
    runs = list(dict.fromkeys(run for run, _, _ in calls))
    for seen in found.values():
        if len(seen.values) < len(calls):
            whole = [run for run in runs if all(at in seen.values for at, call in enumerate(calls) if call[0] == run)]
            some = {calls[at][0] for at in seen.values}
            when, more = configs.condition(whole, runs) if some == set(whole) else ("", "")
            seen.when = when
            seen.optional = f"in {len(seen.values)} of {len(calls)} {noun}{'; ' if more else ''}{more}"
    return list(found.values())


def _add_facts(made: StageDraft, calls: Sequence[tuple[int, Call]], configs: Configurations) -> None:
    rows = _rows(calls, configs)
    if rows:
        made.facts.append(f"rows = {rows}")
        made.imports |= {(SCHEMAS, "Repeat")} if rows.startswith("Repeat") else set()
    drops = [key for key in calls[0][1].drops if all(key in call.drops for _, call in calls)]
    if drops:
        made.facts.append(f"drops = ({', '.join(map(quoted, drops))}{',' if len(drops) == 1 else ''})")
    if any(isinstance(v, Tensor) and v.requires_grad for _, call in calls for v in call.written.tensors.values()):
        made.facts.append('graph = "allow"')


def _rows(calls: Sequence[tuple[int, Call]], configs: Configurations) -> str:
    """What happens to the batch axis, as source; empty where the rows stay as they are."""
    kinds = {call.rows.kind for _, call in calls}
    times: dict[int, object] = {run: call.rows.times for run, call in calls}
    if kinds == {"repeat"}:
        path = configs.path_of(times)
        if path or len({call.rows.times for _, call in calls}) == 1:
            return f"Repeat({quoted(path) if path else times[calls[0][0]]})"
    if kinds == {"same"}:
        return ""
    return next((f'"{kind}"' for kind in ("new", "permute") if kinds <= {kind, "same"}), '"select"')


def _description(observed: Observed) -> str:
    if not observed.home:
        return f"What the loop writes {observed.name.replace('_', ' ', 1)}: a draft."
    return f"What {observed.home} read and wrote: a draft."


def _unpacked(observed: Observed) -> str:
    """How a function of plain values is put under the contract."""
    names = {parameter: key for _, call in observed.calls for parameter, key in call.names.items()}
    shown = ", ".join(f"{quoted(parameter)}: {quoted(key)}" for parameter, key in names.items())
    return f"for @stage(..., unpack=True{f', names={{{shown}}}' if names else ''})"


def _camel(name: str) -> str:
    found = "".join(part[:1].upper() + part[1:] for part in name.split("_") if part)
    return found if found.isidentifier() and not iskeyword(found) else f"Stage{found}"
