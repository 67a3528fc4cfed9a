"""Code that is in order gives no finding: the example, the small pipeline of the tests, and idioms of real trainers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests.contracts.small_pipeline
from batchpact.contracts.lint.linter import lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.schemas import StageSchema
from batchpact.schemas.rl import grpo
from tests.contracts.lint.support import found, line, unused


def test_the_example_is_healthy_and_nothing_in_it_is_out_of_sight() -> None:
    stages = stages_of("grpo_arithmetic.pipeline")
    report = lint(stages, undecidable=True).report

    assert str(report) == "the code of 7 stages: 7 files, no problems"


def test_every_stage_of_the_vocabulary_has_code_in_the_example_that_keeps_to_it() -> None:
    stages = [stage for name in ("pipeline", "stages.advantage") for stage in stages_of(f"grpo_arithmetic.{name}")]
    declared = {
        schema.__batchpact__.reads.qualname
        for _, schema in inspect.getmembers(grpo, inspect.isclass)
        if issubclass(schema, StageSchema) and schema is not StageSchema
    }

    assert {stage.spec.reads.qualname for stage in stages} == declared
    assert lint(stages, undecidable=True).report.findings == ()


def test_of_the_small_pipeline_it_is_said_what_its_stages_do_not_need() -> None:
    """`compute_returns` and `log` declare more than they use; everything else is in order."""
    findings = lint(stages_of("tests.contracts.small_pipeline"), undecidable=True).report.findings
    source = Path(tests.contracts.small_pipeline.__file__).read_text(encoding="utf-8").splitlines()
    returns, log = (source.index(f"def {name}") for name in _signatures(source))

    assert [line(finding) for finding in findings] == [
        unused(f"{returns}:5", "response_mask", "ComputeReturns"),
        unused(f"{returns}:5", "uid", "ComputeReturns"),
        unused(f"{log}:5", "best", "Measure"),
    ]


def _signatures(source: list[str]) -> Iterator[str]:
    for name in ("compute_returns(", "log("):
        yield from (text.removeprefix("def ") for text in source if text.startswith(f"def {name}"))


IDIOMS = {
    "fields sorted by the kind of their values": """
@stage(One)
def f(data):
    fields = _sorted(y=data.batch["x"])
    return DataProto.from_dict(*fields)
def _sorted(**fields):
    tensors, columns = {}, {}
    for key, value in fields.items():
        if isinstance(value, torch.Tensor):
            tensors[key] = value
        else:
            columns[key] = value
    return tensors, columns
""",
    "one store after the other": """
@stage(Each)
def f(data, scale):
    found = {key: _find(data, key) for key in ("score", "uid", "gamma", "__turns__")}
    return DataProto.from_dict({"total": found["score"] * scale}, {"label": found["uid"]}, {"metrics": found["gamma"]})
def _find(data, key):
    if key in data.batch:
        return data.batch[key]
    if key in data.non_tensor_batch:
        return data.non_tensor_batch[key]
    return data.meta_info[key]
""",
    "one store after the other, by exceptions": """
@stage(Each)
def f(data, scale):
    found = {key: _find(data, key) for key in ("score", "uid", "gamma", "__turns__")}
    return DataProto.from_dict({"total": found["score"] * scale}, {"label": found["uid"]}, {"metrics": found["gamma"]})
def _find(data, key):
    try:
        return data.batch[key]
    except KeyError:
        return data.meta_info.get(key, data.non_tensor_batch.get(key))
""",
    "a TensorDict": """
@stage(Each)
def f(data: TensorDict) -> TensorDict:
    td = data.to("cpu")
    total = td["score"] * td["gamma"] * td["scale"]
    data["total"] = total
    tensordicts.assign_non_tensor(data, label=td["uid"], metrics={"a": 1})
    tensordicts.get(data, "__turns__")
    return data
""",
    "rows of a TensorDict": """
@stage(Each)
def f(data: TensorDict) -> TensorDict:
    micro = [td for td in data.split(2)]
    out = []
    for td in micro:
        metrics = {"a": td["gamma"] * td["scale"] + td["__turns__"]}
        out.append({"total": td["score"], "label": td["uid"], "metrics": metrics})
    return tensordicts.list_of_dict_to_tensordict(out)
""",
    "a method of a base class": """
class Base:
    keys = ("x",)
    def take(self, data):
        return data.select(batch_keys=list(self.keys)).batch
class Worker(Base):
    @stage(One)
    def f(self, data):
        td = self.take(data)
        with torch.no_grad():
            y = self.model(**td)
        return self.finish(y=y)
    def finish(self, **tensors):
        return DataProto.from_dict(tensors=tensors)
""",
    "a generator of optional fields": """
@stage(Rewrite)
def f(data):
    x, mask = (data.batch.get(key, None) for key in ("x", "mask"))
    return DataProto(batch=TensorDict({"x": x}, batch_size=len(x)), meta_info={"note": "n"})
""",
    "scratch in a loop": """
@stage(One)
def f(data):
    x = data.batch["x"]
    data.batch["tmp"] = x * 2
    for _ in range(3):
        data.batch["tmp"] = data.batch["tmp"] + x
    out = data.batch.pop("tmp")
    return DataProto.from_dict({"y": out})
""",
    "a hook that sets a field": """
@stage(One)
def f(data):
    outputs = {}
    def hook(module, value):
        outputs["y"] = value
    handle = model.register_forward_hook(hook)
    model(data.batch["x"])
    return DataProto.from_dict(outputs)
""",
    "no rows, or another shape": """
@stage(One)
def f(data):
    if len(data) == 0:
        return None
    match data.batch["x"].dim():
        case 1:
            y = 1
        case _:
            raise ValueError
    result = DataProto.from_dict({"y": y})
    return result, {"time": 1}
""",
    "a partial": """
from functools import partial
@stage(One)
def f(data):
    score = partial(_score, data)
    return DataProto.from_dict({"y": score("x")})
def _score(data, key):
    return data.batch[key]
""",
    "attributes by name": """
@stage
def f(batch: One.Reads) -> One.Writes:
    values = {name: getattr(batch, name) for name in ("x",)}
    return One.Writes(**{"y": values["x"]})
""",
    "a copy of meta": """
@stage(Each)
def f(data, scale: float):
    meta = dict(data.meta_info)
    meta["gamma"] *= scale
    meta.pop("gamma")
    total = np.stack([data.non_tensor_batch["__turns__"], data.non_tensor_batch["uid"], data.batch["score"]])
    return DataProto.from_single_dict({"total": total, "label": total}, meta_info={"metrics": {}})
""",
    "async": """
@stage(Each)
async def f(data, scale: float):
    async with lock as held:
        async for row in data:
            row.non_tensor_batch["uid"], row.batch["score"], row.meta_info["gamma"] * scale
    turns, *_ = data.non_tensor_batch["__turns__"]
    return Each.Writes(total=turns, label=turns, metrics=turns), 3
""",
    "padding": """
@stage(One)
def f(data):
    padded, size = pad(data)
    values = padded.batch["x"]
    return unpad(DataProto.from_dict({"y": values}), size)
from batchpact.dataproto import pad_dataproto_to_divisor, unpad_dataproto as unpad
def pad(data):
    return pad_dataproto_to_divisor(data, 4)
""",
    "an import inside": """
@stage(One)
def f(data):
    from batchpact.dataproto import DataProto as Container
    return Container.from_dict({"y": data.batch["x"]})
""",
    "parts that are joined again": """
@stage(One)
def f(data):
    return DataProto.concat([_half(part) for part in data.chunk(2)])
def _half(part):
    part.batch["y"] = part.batch["x"] / 2
    return part.select(batch_keys=["y"])
""",
    "a stage inside a stage": """
@stage(One)
def outer(data):
    return inner(data)
@stage(One)
def inner(data):
    return DataProto.from_dict({"y": data.batch["x"]})
""",
    "every tensor moved": """
@stage(One)
def f(data):
    for key in list(data.batch.keys()):
        data.batch[key] = data.batch[key].to("cpu")
    return DataProto.from_dict({"y": data.batch["x"]})
""",
    "every tensor in a comprehension": """
@stage(Rewrite)
def f(data):
    out = {key: value * 2 for key, value in data.batch.items() if key != "mask"}
    return DataProto.from_dict(out, meta_info={"note": ""})
""",
    "every tensor in a loop": """
@stage(Rewrite)
def f(data):
    for key, value in data.batch.items():
        data.batch[key] = value * 2
    data.meta_info["note"] = ""
    return data
""",
    "exceptions": """
@stage(One)
def f(data):
    try:
        y = data.batch["x"]
    except KeyError as error:
        raise RuntimeError("no x") from error
    else:
        data.batch["y"] = y
    finally:
        print("done")
    return data
""",
}


@pytest.mark.parametrize("source", IDIOMS.values(), ids=IDIOMS.keys())
def test_an_idiom_of_trainers_is_understood(source: str, tmp_path: Path) -> None:
    assert found(source, tmp_path, undecidable=True) == []
