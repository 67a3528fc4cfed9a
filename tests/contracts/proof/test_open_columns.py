"""Open columns in the static check: who writes them, as what, and what names them."""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32
from pydantic import ConfigDict
from torch import Tensor

from batchpact.contracts import Pipeline
from batchpact.contracts.placing import placed
from batchpact.contracts.show import show
from batchpact.schemas import BatchSchema, Columns, Meta, NonTensor, StageSchema, When, config, meta, named_by
from tests.contracts.plans import PerRow


class Prompts(BatchSchema):
    x: PerRow


class Reward(StageSchema):
    class Reads(BatchSchema):
        x: PerRow

    class Writes(BatchSchema):
        keys: Meta[list[str]]
        scores: Columns[NonTensor[float]] = named_by(meta("keys"))


class Measure(StageSchema):
    class Reads(BatchSchema):
        numbers: Columns[NonTensor[float]] = named_by(meta("keys"))

    class Writes(BatchSchema):
        y: PerRow


class Tokens(StageSchema):
    class Reads(BatchSchema):
        tokens: Columns[Float32[Tensor, "batch response"]] = named_by(config("data.extra"))

    class Writes(BatchSchema):
        y: PerRow


def lines(
    *stages: type[StageSchema], inputs: type[BatchSchema] = Prompts, outputs: tuple[str, ...] = ("y",)
) -> list[str]:
    report = Pipeline("plan", inputs=inputs, stages=stages, outputs=outputs).check()
    return [line.strip() for line in str(report).splitlines()[2:]]


def test_columns_that_the_same_source_names_are_the_same() -> None:
    assert lines(Reward, Measure) == []


def test_what_nobody_writes_is_found_with_what_names_it() -> None:
    assert lines(Measure) == [
        "BP001 missing  measure: keys                        declared meta Any; it names the columns numbers; "
        "nothing before writes it, and no known stage does",
        "BP001 missing  measure: columns named by meta keys  declared non-tensor float; nothing before writes it, and "
        "no known stage does",
    ]
    assert lines(Measure, Reward, outputs=("keys", "y"))[1].endswith("'reward' writes it, and comes later")


def test_names_without_columns_are_not_enough() -> None:
    class Names(StageSchema):
        class Writes(BatchSchema):
            keys: Meta[list[str]]

    assert [line[:54] for line in lines(Names, Measure)] == ["BP001 missing  measure: columns named by meta keys  de"]


def test_a_stage_with_open_writes_may_have_written_them() -> None:
    class Anything(StageSchema):
        class Writes(BatchSchema):
            model_config = ConfigDict(extra="allow")
            keys: Meta[list[str]]

    class Fresh(StageSchema):
        rows = "new"

        class Writes(BatchSchema):
            keys: Meta[list[str]]

    class Whatever(BatchSchema):
        model_config = ConfigDict(extra="allow")
        keys: Meta[list[str]]

    assert lines(Anything, Measure) == []
    assert lines(Measure, inputs=Whatever) == []
    assert ["columns named by meta keys" in line for line in lines(Anything, Fresh, Measure)] == [False, True]


def test_columns_of_another_type_or_rank_are_found() -> None:
    class Texts(StageSchema):
        class Writes(BatchSchema):
            keys: Meta[list[str]]
            scores: Columns[NonTensor[str]] = named_by(meta("keys"))

    class Loaded(BatchSchema):
        extra: Columns[PerRow] = named_by(config("data.extra"))

    assert lines(Texts, Measure) == [
        "BP006 type  measure: columns named by meta keys  'texts' writes non-tensor str, declared non-tensor float"
    ]
    assert lines(Tokens, inputs=Loaded) == [
        'BP011 rank  tokens: columns named by configuration data.extra  the inputs hold f32 "batch", '
        'declared "batch response"'
    ]


def test_names_that_may_be_missing_need_no_writer_and_columns_do() -> None:
    class May(StageSchema):
        class Reads(BatchSchema):
            scores: Columns[NonTensor[float]] = named_by(meta("keys", default=[]))

        class Writes(BatchSchema):
            y: PerRow

    class Optional(StageSchema):
        class Reads(BatchSchema):
            scores: Columns[NonTensor[float]] = named_by(meta("keys", default=[]), optional=True)

        class Writes(BatchSchema):
            y: PerRow

    assert [line.partition("  declared")[0] for line in lines(May)] == [
        "BP001 missing  may: columns named by meta keys"
    ]
    assert lines(Optional) == []


def test_a_writer_that_looks_for_names_elsewhere_reads_them() -> None:
    class Writes(StageSchema):
        class Writes(BatchSchema):
            y: PerRow
            scores: Columns[NonTensor[float]] = named_by(meta("keys"))

    assert [line.partition(";")[0] for line in lines(Writes, outputs=("y", "keys"))[:1]] == [
        "BP001 missing  writes: keys   declared meta Any"
    ]


def test_a_condition_on_columns_counts() -> None:
    class Sometimes(StageSchema):
        class Writes(BatchSchema):
            keys: Meta[list[str]]
            scores: Annotated[Columns[NonTensor[float]], When(config("reward"))] = named_by(meta("keys"))

    (found,) = lines(Sometimes, Measure)

    assert found.endswith("'sometimes' writes it, and not in every configuration; with reward=False")


def test_columns_that_nobody_reads_are_found_unless_their_names_are_wanted() -> None:
    assert [line.split("  ")[1] for line in lines(Reward, outputs=("x",))] == [
        "reward: keys",
        "reward: columns named by meta keys",
    ]
    assert lines(Reward, outputs=("x", "keys")) == []


def test_columns_are_shown_by_their_attribute_with_writers_and_readers() -> None:
    pipeline = Pipeline("plan", inputs=Prompts, stages=[Reward, Measure])

    assert show([pipeline], "measure").splitlines() == [
        "stage 'measure' of pipeline 'plan'  (tests.contracts.proof.test_open_columns.Measure)",
        "  rows    same",
        "  reads",
        "    numbers[*]  non-tensor float, named by meta keys; written by 'reward'",
        "  writes",
        '    y  f32 "batch"; nobody reads it',
    ]
    assert show([pipeline], "scores").splitlines() == [
        "field 'scores' of pipeline 'plan'",
        "  writes  'reward'  non-tensor float, named by meta keys; read by 'measure'",
    ]
    assert show([pipeline], "keys").splitlines()[-1] == "  writes  'reward'  meta list[str]; read by 'measure'"


def test_a_finding_stands_where_the_columns_are_declared() -> None:
    pipeline = Pipeline("plan", inputs=Prompts, stages=[Measure])
    report = placed(pipeline.check(), pipeline.spec)
    lines_of = [(finding.where.file, finding.where.line) for finding in report.findings]

    assert {file for file, _ in lines_of} == {"tests/contracts/proof/test_open_columns.py"}
    assert all(line for _, line in lines_of)


# --- one configuration ------------------------------------------------------------------------------------------------


class Load(StageSchema):
    class Writes(BatchSchema):
        extra: Columns[Float32[Tensor, "batch response"]] = named_by(config("data.extra"))


class One(StageSchema):
    class Reads(BatchSchema):
        mask: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        y: PerRow


def lines_with(
    names: object, *stages: type[StageSchema], inputs: type[BatchSchema] = Prompts, outputs: tuple[str, ...] = ("y",)
) -> list[str]:
    report = Pipeline("plan", inputs=inputs, stages=stages, outputs=outputs).check({"data": {"extra": names}})
    return [line.strip() for line in str(report).splitlines()[2:]]


def test_a_configuration_says_which_columns_there_are() -> None:
    assert lines_with(["mask", "weight"], Load, One) == []
    assert lines_with(["mask"], Load, Tokens) == []
    assert [line.partition("  declared")[0] for line in lines_with(["weight"], Load, One)] == [
        "BP001 missing  one: mask"
    ]


def test_a_field_of_that_name_is_one_of_the_columns() -> None:
    class Masked(BatchSchema):
        mask: Float32[Tensor, "batch response"]

    class Short(BatchSchema):
        mask: PerRow

    assert lines_with(["mask"], Tokens, inputs=Masked) == []
    assert lines_with(["mask"], Tokens, inputs=Short) == [
        'BP011 rank  tokens: mask  the inputs hold f32 "batch", declared "batch response"'
    ]


def test_a_named_column_that_nobody_writes_is_missing_and_told_by_whom_it_would_be() -> None:
    (lacking,) = lines_with(["mask", "x"], Tokens, Load, outputs=("y",))[:1]

    assert lacking == (
        'BP001 missing  tokens: mask  declared f32 "batch response", named by configuration data.extra; '
        "nothing before writes it; 'load' writes it, and comes later"
    )


def test_no_names_are_no_columns() -> None:
    assert lines_with([], Tokens) == []


def test_names_that_are_none_are_told_where_the_columns_are_declared() -> None:
    assert lines_with("mask", Load, One)[:1] == [
        "BP056 columns  load: extra  configuration data.extra is str; a list of names; write ['mask']"
    ]
    assert [line.partition("  configuration")[0] for line in lines_with(None, Tokens)] == [
        "BP056 columns  tokens: tokens"
    ]


def test_names_are_not_asked_for_where_the_columns_are_off() -> None:
    class Sometimes(StageSchema):
        class Reads(BatchSchema):
            x: PerRow
            tokens: Annotated[Columns[PerRow], When(config("data.on"))] = named_by(config("data.extra"))

        class Writes(BatchSchema):
            y: PerRow

    assert lines_with(None, Sometimes) == []


def test_columns_of_a_configuration_are_wanted_by_whoever_names_them() -> None:
    assert lines_with(["mask"], Load, outputs=("x",)) == []


def test_one_configuration_is_shown_by_the_columns_that_it_names() -> None:
    pipeline = Pipeline("plan", inputs=Prompts, stages=[Load, One, Tokens])

    assert show([pipeline], "extra", {"data": {"extra": ["mask"]}}).splitlines()[1:] == [
        "  writes  'load'  f32 \"batch response\", named by configuration data.extra; read by 'one' and 'tokens'"
    ]
