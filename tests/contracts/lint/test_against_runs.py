"""What the linter finds by reading is what the boundary finds when the same code runs."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from textwrap import indent

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchpact.contracts import ContractWarning, observe
from batchpact.contracts.lint.linter import lint
from batchpact.contracts.reporting import Event
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError, Violation
from tests.contracts.lint.support import module

law = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

STORES = {"batch": "batch_keys", "non_tensor_batch": "non_tensor_batch_keys", "meta_info": "meta_info_keys"}
DECLARED = {"batch": "score", "non_tensor_batch": "uid", "meta_info": "gamma"}
HELD = {"batch": "values", "non_tensor_batch": "source", "meta_info": "steps"}
LOOKS = [
    "data.{store}['{key}']",
    "data.{store}.get('{key}')",
    "data.{store}.get('{key}', None)",
    "'{key}' in data.{store}",
    "'{key}' in data.{store}.keys()",
    "data.{store}.pop('{key}')",
    "store = data.{store}\nstore['{key}']",
    "for name in ('{key}',):\n    data.{store}[name]",
    "[data.{store}[name] for name in ['{key}']]",
    "chosen = ['{key}']\ndata.select({keys}=chosen).{store}['{key}']",
    "data[:2].{store}['{key}']",
    "for part in data.chunk(2):\n    part.{store}['{key}']",
    "take(data, '{key}', '{store}')",
    "(lambda batch: batch.{store}['{key}'])(data)",
    "if len(data):\n    data.{store}['{key}']",
    "if '{key}' in data.{store}:\n    data.{store}['{key}']",
    "data.repeat(2).{store}['{key}']",
    "getattr(data, '{store}')['{key}']",
]
HELPER = "def take(data, key, store):\n    return getattr(data, store)[key]\n"


def batch() -> DataProto:
    """Everything that `Each` reads, and a field in each store that it does not declare."""
    return DataProto.from_dict(
        {"score": torch.arange(4.0), "values": torch.ones(4)},
        {"uid": list("abcd"), "__turns__": [1, 2, 3, 4], "source": list("mmcc")},
        {"gamma": 0.5, "steps": 7},
    )


looks = st.builds(
    lambda look, store, of: look.format(store=store, keys=STORES[store], key=of[store]),
    st.sampled_from(LOOKS),
    st.sampled_from(sorted(STORES)),
    st.sampled_from([DECLARED, HELD]),
)


@law
@given(st.lists(looks, min_size=1, max_size=4, unique=True))
def test_the_fields_that_are_read_without_being_declared(bodies: list[str]) -> None:
    """With `project="record"` a run hands out everything and reports what is touched and not declared."""
    source = "@stage(Each, project='record')\ndef compute(data):\n"
    # each look has the whole batch: some take fields out
    source += "".join(f"    def look_{at}(data):\n{indent(body, ' ' * 8)}\n" for at, body in enumerate(bodies))
    source += "".join(f"    look_{at}(data[:4])\n" for at in range(len(bodies)))
    source += f"    return None\n{HELPER}"
    events: list[Event] = []
    with tempfile.TemporaryDirectory() as folder, module(source, Path(folder)) as made:
        findings = lint([made.compute.contract]).report.findings
        with observe(events.append), warnings.catch_warnings():
            warnings.simplefilter("ignore", ContractWarning)
            made.compute(batch())

    reported = {violation.field for violation in events[0].violations if violation.code == "BP002"}
    assert {finding.field for finding in findings if finding.code == "BP071"} == reported


VALUES = {
    "batch": "torch.ones(4)",
    "non_tensor_batch": "np.array(list('abcd'), dtype=object)",
    "meta_info": "{'a': 1.0}",
}
WRITES = [
    "data.{store}['{key}'] = {value}",
    "data.{store}.update({{'{key}': {value}}})",
    "store = data.{store}\nstore['{key}'] = {value}",
    "for name in ['{key}']:\n    data.{store}[name] = {value}",
    "put(data, '{store}', '{key}', {value})",
    "data.union(DataProto.from_dict({argument}={{'{key}': {value}}}))",
    "made = DataProto.from_single_dict({{}}, {{}})\nmade.{store} = {{'{key}': {value}}}\nmade.{store}.pop('{key}')",
    "data.{store}['scratch'] = {value}\ndel data.{store}['scratch']",
    "if len(data) == 4:\n    data.{store}['{key}'] = {value}",
]
ARGUMENTS = {"batch": "tensors", "non_tensor_batch": "non_tensors", "meta_info": "meta_info"}
SETTER = "def put(data, store, key, value):\n    getattr(data, store)[key] = value\n"
AS_READ = {"BP001": "BP075", "BP003": "BP073", "BP004": "BP072", "BP031": "BP072"}
"""The code of the linter for what a boundary finds in a result."""


@st.composite
def writes(draw: st.DrawFn) -> list[str]:
    """Statements that set fields, each in one store."""
    keys = draw(st.lists(st.sampled_from(["total", "label", "metrics", "score", "extra", "more"]), unique=True))
    found = []
    for key in keys:
        store = draw(st.sampled_from(sorted(STORES)))
        if key == "score":  # it is there: in another store it would stand in two, and a union would be refused
            store = "batch"
        write = draw(st.sampled_from([write for write in WRITES if key != "score" or "union" not in write]))
        found.append(write.format(store=store, key=key, value=VALUES[store], argument=ARGUMENTS[store]))
    return found


@law
@given(writes())
def test_the_fields_that_are_written(bodies: list[str]) -> None:
    source = "@stage(Each)\ndef compute(data):\n"
    source += "".join(f"{indent(body, ' ' * 4)}\n" for body in bodies)
    source += f"    return data\n{SETTER}"
    with tempfile.TemporaryDirectory() as folder, module(source, Path(folder)) as made:
        findings = lint([made.compute.contract]).report.findings
        try:
            made.compute(batch())
            violations: tuple[Violation, ...] = ()
        except ContractError as error:
            violations = error.violations

    found = {(finding.code, finding.field) for finding in findings if finding.code in AS_READ.values()}
    assert found == {(AS_READ[violation.code], violation.field) for violation in violations}
