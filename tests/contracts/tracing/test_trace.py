"""`trace`: a run of a loop becomes the draft of its contracts."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
import torch
from tensordict import NonTensorData, TensorDict

from batchpact.contracts import Pipeline, trace
from batchpact.contracts.tracing.trace import Trace
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from tests.contracts.inferring.drafts import formatted, run
from tests.contracts.tracing import loops
from tests.contracts.tracing.loops import configured, step
from tests.dataproto.support import says

SOURCE = '''\
from typing import Annotated

from batchpact.contracts import Pipeline
from batchpact.schemas import BatchSchema, Meta, Repeat, StageSchema, When, config
from batchpact.schemas.rl.fields import (
    Advantages,
    InputIds,
    Prompts,
    ResponseMask,
    Responses,
    Temperature,
    TokenLevelScores,
    Uid,
)


class Inputs(BatchSchema):
    """What the loop starts with: a draft."""

    prompts: Prompts
    uid: Uid
    temperature: Temperature
    kl: Meta[float]


class Generate(StageSchema):
    """What tests.contracts.tracing.loops.generate read and wrote: a draft."""

    rows = Repeat("rollout.n")

    class Reads(BatchSchema):
        prompts: Prompts

    class Writes(BatchSchema):
        responses: Responses
        input_ids: InputIds


class Reward(StageSchema):
    """What tests.contracts.tracing.loops.reward read and wrote: a draft."""

    # it also looks for rm_scores, which was never there

    class Reads(BatchSchema):
        responses: Responses

    class Writes(BatchSchema):
        token_level_scores: TokenLevelScores


class Advantage(StageSchema):
    """What tests.contracts.tracing.loops.advantage read and wrote: a draft."""

    drops = ("kl",)

    class Reads(BatchSchema):
        token_level_scores: TokenLevelScores
        kl: Annotated[Meta[float], When(config("algorithm.use_kl"))]

    class Writes(BatchSchema):
        advantages: Advantages


class BeforeWhitened(StageSchema):
    """What the loop writes before whitened: a draft."""

    class Reads(BatchSchema):
        responses: Responses

    class Writes(BatchSchema):
        response_mask: ResponseMask


class Whitened(StageSchema):
    """What tests.contracts.tracing.loops.whitened read and wrote: a draft."""

    # for @stage(..., unpack=True, names={"mask": "response_mask"})

    class Reads(BatchSchema):
        advantages: Advantages
        response_mask: ResponseMask

    class Writes(BatchSchema):
        advantages: Advantages


drafted = Pipeline(
    "drafted",
    inputs=Inputs,
    stages=[
        Generate,
        Reward,
        Advantage,
        BeforeWhitened,
        Whitened,
    ],
    outputs=["input_ids", "advantages"],
)
'''


def traced(*, rounds: int = 1, **keys: Any) -> Trace:
    config = configured(**keys)
    with trace(loops.generate, loops.reward, loops.advantage, loops.whitened, config=config) as record:
        for _ in range(rounds):
            step(config)
    return record


def pipeline_of(record: Trace) -> Pipeline:
    found: Pipeline = run(record.source()).traced
    return found


def test_the_source_of_three_runs() -> None:
    source = (traced(use_kl=True) + traced(use_kl=False) + traced(use_kl=False, n=3)).source("drafted")

    assert source == SOURCE
    assert run(source).drafted.check().findings == ()


def test_formatters_leave_the_source_as_it_is() -> None:
    assert formatted(SOURCE) == SOURCE


def test_calls_that_do_the_same_are_kept_twice() -> None:
    assert traced(use_kl=True, rounds=5).calls == ["generate", "reward", "advantage", "whitened"] * 2


def test_without_names_the_code_of_the_program_is_watched() -> None:
    """A step is the outermost function that has a batch; `step` itself has none."""
    with trace() as record:
        step(configured(use_kl=True))

    assert record.calls == ["generate", "reward", "advantage", "whitened"]
    assert pipeline_of(record).check().findings == ()


def test_what_a_stage_calls_is_part_of_it() -> None:
    def inner(data: DataProto) -> torch.Tensor:
        return data.batch["prompts"]

    def outer(data: DataProto) -> None:
        data.batch["copy"] = inner(data).clone()

    with trace(inner, outer) as record:
        outer(loops.prompts())

    assert record.calls == ["outer"]


class Worker:
    """A method that takes a batch."""

    def infer(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({"values": data.batch["prompts"].float()})


@pytest.mark.parametrize("named", [Worker, Worker.infer, Worker().infer, sys.modules[__name__]])
def test_methods_are_watched(named: Any) -> None:
    with trace(named) as record:
        Worker().infer(loops.prompts())

    assert record.calls == ["infer"]


def timed(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **more: Any) -> Any:
        return function(*arguments, **more)

    return wrapper


def test_a_decorated_function_is_a_stage_and_its_wrapper_is_none() -> None:
    """A trainer with a timer around each of its functions would be one stage else: all of them, under one name."""

    @timed
    def score(data: DataProto) -> None:
        data.batch["scores"] = data.batch["prompts"].float()

    @timed
    @timed
    def shift(data: DataProto) -> None:
        data.batch["shifted"] = data.batch["scores"] + 1

    data = loops.prompts()
    with trace() as record:
        score(data)
        shift(data)

    assert record.calls == ["score", "shift"]


def test_a_stage_that_only_moves_rows() -> None:
    def expand(data: DataProto) -> DataProto:
        return data.repeat(2)

    with trace(expand) as record:
        expand(loops.prompts())

    assert str(pipeline_of(record).spec.stages[0].rows) == "repeat(2)"


def test_a_second_batch_is_not_watched_and_that_is_said() -> None:
    def join(data: DataProto, other: DataProto) -> None:
        data.batch["joined"] = other.batch["prompts"].float()

    with trace(join) as record:
        join(loops.prompts(), loops.prompts())

    assert "    # other is a batch, too; a stage has one, and what this one is for was not seen\n" in record.source()


def test_parts_of_a_tensordict_are_watched_like_any_other() -> None:
    """They come from a lent one, and are kept beyond its call."""

    def split(data: TensorDict) -> list[TensorDict]:
        return list(data.split(2))

    def score(data: TensorDict) -> None:
        data["scores"] = data["prompts"].float()

    with trace(split, score) as record:
        for part in split(TensorDict({"prompts": torch.ones(4, 3)}, [4])):
            score(part)
            assert type(part) is TensorDict
    (stage,) = pipeline_of(record).spec.stages

    assert [(field.key, field.required) for field in stage.reads.fields] == [("prompts", True)]


@pytest.mark.parametrize("name", ["_", "none", "_4x"])
def test_every_function_has_a_class_of_its_own(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def {name}(data): return data.batch['prompts']", namespace)
    with trace(namespace[name]) as record:
        namespace[name](loops.prompts())

    assert len(pipeline_of(record).spec.stages) == 1


def test_fields_of_a_tensordict() -> None:
    def score(data: TensorDict) -> None:
        if "temperature" in data.keys():
            data["scores"] = data["prompts"].float()

    data = TensorDict({"prompts": torch.ones(2, 3), "temperature": NonTensorData(1.0, batch_size=[2])}, [2])
    with trace(score) as record:
        score(data)
    spec = pipeline_of(record).spec.stages[0]

    assert [field.key for field in spec.reads.fields] == ["temperature", "prompts"]
    assert [field.key for field in spec.writes.fields] == ["scores"]
    assert type(data) is TensorDict


def test_a_key_that_is_no_name_is_declared_in_reads_and_writes() -> None:
    def shift(data: DataProto) -> DataProto:
        return DataProto.from_dict({"the-ids": data.batch["the-ids"] + 1})

    with trace(shift) as record:
        shift(DataProto.from_dict({"the-ids": torch.arange(2)}))
    (stage,) = pipeline_of(record).spec.stages

    assert [(field.name, field.key) for field in (*stage.reads.fields, *stage.writes.fields)] == [
        ("the_ids", "the-ids")
    ] * 2


def test_where_no_single_key_explains_a_difference_it_is_said() -> None:
    def both(**keys: bool) -> Trace:
        config = {"a": keys["use"], "b": keys["use"]}

        def score(data: DataProto) -> DataProto:
            found = data.meta_info["kl"] if keys["use"] else 0.0
            return DataProto.from_dict({"scores": data.batch["prompts"] + found})

        with trace(score, config=config) as record:
            score(loops.prompts())
        return record

    source = (both(use=True) + both(use=False)).source()

    assert "        # in 1 of 2 calls; a and b differ alike, and any of them may decide it\n" in source
    assert "        kl: Meta[float] | None = None\n" in source


def test_one_configuration_may_be_changed_between_the_runs() -> None:
    config, record = configured(use_kl=False), Trace()
    for use_kl in (False, True):
        config["algorithm"]["use_kl"] = use_kl
        with trace(config=config) as more:
            step(config)
        record += more

    assert '        kl: Annotated[Meta[float], When(config("algorithm.use_kl"))]\n' in record.source()


def test_an_error_of_the_loop_passes_through_and_leaves_its_batch_as_it_is() -> None:
    def broken(data: DataProto) -> None:
        data.meta_info["half"] = 1
        raise RuntimeError("the loop's own")

    data = loops.prompts()
    before = sys.getprofile()
    with pytest.raises(RuntimeError, match="the loop's own"), trace(broken) as record:
        broken(data)

    assert sys.getprofile() is before
    assert record.calls == ["broken"]
    assert type(data.meta_info) is dict and data.meta_info["half"] == 1


class TestRefused:
    def test_what_cannot_be_watched(self) -> None:
        with (
            says(
                ContractError,
                "where a trace begins",
                "BP036 call  named  int 3; modules, packages, classes and functions are watched",
            ),
            trace(3),  # type: ignore[arg-type]
        ):
            pass

    def test_a_trace_without_calls(self) -> None:
        with trace() as record:
            pass
        with says(
            ContractError,
            "where a trace is written down",
            "BP036 call  calls  none was seen; a function that is called with a batch, and is no package's own",
        ):
            record.source()

    @pytest.mark.parametrize("name", ["my-loop", "class"])
    def test_a_name_that_no_variable_has(self, name: str) -> None:
        with pytest.raises(ContractError, match="the name of a variable"):
            traced(use_kl=True).source(name)
