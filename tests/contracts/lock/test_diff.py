"""Diffs of whole projects: what is a version of what, what counts as a change, and that nothing is missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batchpact.contracts.lock.diff import changes, compare
from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.lock.text import render
from batchpact.schemas import (
    ConditionSpec,
    FieldSpec,
    FillSpec,
    MergeSpec,
    PadSpec,
    PipelineSpec,
    PlaceSpec,
    RowRuleSpec,
    RowsSpec,
    RuleSpec,
    SchemaSpec,
    SettingError,
    StageSpec,
    config,
    meta,
)
from batchpact.schemas.record import Record
from tests.contracts.lock.versions import contracts_of
from tests.contracts.stages import refusal

# --- the record as a whole --------------------------------------------------------------------------------------------

TENSOR = PlaceSpec(placement="tensor", dtype="float32", dtypes=("float32",), dims="batch length", layout="dense")
FIELD = FieldSpec(
    name="x",
    key="x",
    places=(TENSOR, PlaceSpec(placement="meta", type="float")),
    rules=(RuleSpec(kind="ge", value=0),),
    merge=MergeSpec(how="close", rtol=0.1),
    pad=PadSpec(value=0),
    fill=FillSpec(value=0),
)
TWIN = FieldSpec(name="twin", key="twin", places=(TENSOR,))
COLUMNS = FieldSpec(name="scores", key="scores[*]", places=(TENSOR,), named_by=meta("names").subject)
RULE = RowRuleSpec(name="rises", qualname="trainer.rules.rises", description="the values rise")
SCHEMA = SchemaSpec(name="Reads", qualname="trainer.Score.Reads", fields=(FIELD, TWIN), rules=(RULE,), axis="batch")
WRITES = SchemaSpec(name="Writes", qualname="trainer.Score.Writes")
STAGE = StageSpec(
    name="score", qualname="trainer.Score", reads=SCHEMA, writes=WRITES, rows=RowsSpec(kind="repeat", times=2)
)
KL: ConditionSpec = config("algorithm.use_kl").spec
PIPELINE = PipelineSpec(name="ppo", inputs=SCHEMA, stages=(STAGE,))


def jagged(**more: object) -> dict[str, object]:
    return {"layout": "jagged", "ragged": "length", **more}


OTHER: dict[type[Record], dict[str, dict[str, Any]]] = {
    PlaceSpec: {
        "placement": {"placement": "arg", "type": "float", "dtype": None, "dtypes": (), "dims": None, "layout": None},
        "dtype": {"dtype": "any", "dtypes": ()},
        "dtypes": {"dtype": "half", "dtypes": ("float16", "bfloat16")},
        "dims": {"dims": "batch 4"},
        "layout": jagged(),
        "ragged": jagged(),
        "type": {"placement": "non_tensor", "type": "str", "dtype": None, "dtypes": (), "dims": None, "layout": None},
    },
    RuleSpec: {"kind": {"kind": "gt"}, "value": {"value": 1}},
    MergeSpec: {
        "how": {"how": "mean"},
        "rtol": {"rtol": 0.2},
        "atol": {"atol": 0.2},
        "policy_of": {"policy_of": "trainer.policy"},
    },
    PadSpec: {"value": {"value": 1}, "side": {"side": "left"}},
    FillSpec: {"value": {"value": 1}},
    FieldSpec: {
        "name": {"name": "y"},
        "key": {"key": "y"},
        "places": {"places": (TENSOR,)},
        "required": {"required": False},
        "nullable": {"nullable": True},
        "default": {"required": False, "default": 0.5},
        "description": {"description": "the score"},
        "rules": {"rules": ()},
        "source": {"source": "algorithm.x"},
        "when": {"when": KL},
        "merge": {"merge": None},
        "pad": {"pad": None},
        "fill": {"fill": None},
        "role": {"role": "key"},
        "same_as": {"same_as": "twin"},
        "named_by": {"named_by": meta("names").subject},
    },
    RowRuleSpec: {
        "name": {"name": "falls"},
        "qualname": {"qualname": "trainer.rules.falls"},
        "description": {"description": "the values fall"},
    },
    SchemaSpec: {
        "qualname": {"qualname": "trainer.Rate.Reads"},
        "description": {"description": "what comes in"},
        "fields": {"fields": (FIELD,)},
        "columns": {"columns": (COLUMNS,)},
        "rules": {"rules": ()},
        "extra": {"extra": "allow"},
    },
    RowsSpec: {"kind": {"kind": "new", "times": None}, "times": {"times": 3}},
    StageSpec: {
        "name": {"name": "rate"},
        "qualname": {"qualname": "trainer.Rate"},
        "description": {"description": "Score."},
        "reads": {"reads": SCHEMA.model_copy(update={"fields": (FIELD,)})},
        "writes": {"writes": WRITES.model_copy(update={"fields": (FIELD,)})},
        "rows": {"rows": RowsSpec(kind="new")},
        "drops": {"drops": ("timing",)},
        "pad_safe": {"pad_safe": True},
        "graph": {"graph": "allow"},
        "layouts": {"layouts": ("dense",)},
    },
    PipelineSpec: {
        "name": {"name": "grpo"},
        "inputs": {"inputs": SCHEMA.model_copy(update={"fields": (FIELD,)})},
        "outputs": {"outputs": ("x",)},
        "stages": {"stages": ()},
        "always": {"always": (KL,)},
    },
}
"""For each part of each record, another value of it, with what has to change along."""
FOLLOWS = {
    SchemaSpec: {"name", "axis"},
    StageSpec: {"when"},
}
"""What follows from other parts, or belongs to the place of a stage in a pipeline."""


@pytest.mark.parametrize("record", OTHER, ids=lambda record: record.__name__)
def test_every_part_of_the_record_is_looked_at(record: type[Record]) -> None:
    """A part that is added to a record needs a rule that says what its changes mean, and an entry above."""
    assert set(record.model_fields) - FOLLOWS.get(record, set()) == set(OTHER[record])


@pytest.mark.parametrize(
    ("record", "part"), [(record, part) for record, parts in OTHER.items() for part in parts], ids=str
)
def test_a_change_of_any_part_is_a_change(record: type[Record], part: str) -> None:
    old, new = whole(), whole(record, OTHER[record][part])

    assert changes(old, old) == changes(new, new) == ()
    assert changes(old, new) != ()
    assert changes(new, old) != ()


def test_a_stage_that_runs_under_another_condition() -> None:
    under = PIPELINE.model_copy(update={"stages": (STAGE.model_copy(update={"when": KL}),)})
    new = Contracts(whole().stages, {}, {"ppo": under})

    assert [found.rule for found in changes(whole(), new)] == ["pipeline-condition-changed"]


def whole(record: type[Record] | None = None, update: dict[str, Any] | None = None) -> Contracts:
    """One contract of each kind, one record in it with another value."""

    def made(spec: Any, **parts: Any) -> Any:
        changed = spec.model_copy(update=parts)
        return changed.model_copy(update=update) if type(spec) is record and update is not None else changed

    field = made(
        FIELD,
        places=(made(TENSOR), FIELD.places[1]),
        rules=tuple(map(made, FIELD.rules)),
        merge=made(FIELD.merge),
        pad=made(FIELD.pad),
        fill=made(FIELD.fill),
    )
    schema = made(SCHEMA, fields=(field, TWIN), rules=(made(RULE),))
    stage = made(STAGE, reads=schema, rows=made(STAGE.rows))
    plain = Contracts({stage.qualname: stage}, {}, {})
    pipeline = made(PIPELINE, inputs=SCHEMA, stages=(STAGE,)) if record is PipelineSpec else PIPELINE
    if record not in (None, PipelineSpec):
        return plain if record is not SchemaSpec else Contracts(plain.stages, {}, {})
    return Contracts({STAGE.qualname: STAGE}, {}, {pipeline.name: pipeline})


# --- what is a version of what ----------------------------------------------------------------------------------------

HEAD = """
    from typing import Annotated
    from jaxtyping import Float32
    from torch import Tensor
    from batchpact.contracts import Pipeline, stage, when
    from batchpact.schemas import Arg, BatchSchema, From, Meta, StageSchema, When, arg, config
"""
SCORE = """
    class Score(StageSchema):
        class Reads(BatchSchema):
            x: Float32[Tensor, "batch"]
        class Writes(BatchSchema):
            y: Float32[Tensor, "batch"]
"""
FUNCTION = """
    @stage
    def score(batch: Score.Reads) -> Score.Writes:
        return Score.Writes(y=batch.x)
"""


class Versions:
    """Diffs of sources of the module `trainer`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._folder = folder

    def of(self, source: str) -> Contracts:
        return contracts_of(HEAD + source, self._monkeypatch, self._folder)

    def lines(self, old: str, new: str) -> list[str]:
        """Each change as its rule and its subject."""
        return [f"{found.rule}: {found.subject}" for found in changes(self.of(old), self.of(new))]


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Versions:
    return Versions(monkeypatch, tmp_path)


def test_a_contract_that_gets_a_function_is_the_same_contract(versions: Versions) -> None:
    assert versions.lines(SCORE, SCORE + FUNCTION) == ["contract-moved: stage 'score'"]


def test_a_stage_under_another_name_is_known_by_its_fields(versions: Versions) -> None:
    renamed = (
        SCORE.replace("class Score", "class Rate")
        .replace("y: Float32", "y: Annotated[Float32")
        .replace('Annotated[Float32[Tensor, "batch"]', 'Annotated[Float32[Tensor, "batch"], When(config("a"))]')
    )

    assert versions.lines(SCORE, SCORE.replace("class Score", "class Rate")) == [
        "contract-moved: stage 'rate'",
        "stage-renamed: stage 'rate'",
    ]
    assert versions.lines(SCORE, renamed) == ["stage-removed: stage 'score'", "stage-added: stage 'rate'"]


def test_two_stages_with_the_same_fields_are_not_guessed_at(versions: Versions) -> None:
    rate, judge = (SCORE.replace("class Score", f"class {name}") for name in ("Rate", "Judge"))

    assert versions.lines(SCORE, rate + judge) == [
        "stage-removed: stage 'score'",
        "stage-added: stage 'judge'",
        "stage-added: stage 'rate'",
    ]


def test_what_changed_in_a_class_is_told_for_each_stage_that_keeps_to_it(versions: Versions) -> None:
    """Once where they have one name."""
    wider = SCORE.replace('x: Float32[Tensor, "batch"]', 'x: Float32[Tensor, "batch"] | None = None')
    plan = '\n    plan = Pipeline("plan", inputs=Score.Reads, stages=[Score])\n'
    other = FUNCTION.replace("def score", "def rate")

    assert (
        versions.lines(SCORE + FUNCTION + plan, wider + FUNCTION + plan)
        == [
            "field-became-optional: stage 'score' reads.x",
            "field-became-optional: pipeline 'plan' inputs.x",
            "pipeline-broken: pipeline 'plan'",
        ][:2]
    )
    assert versions.lines(SCORE + FUNCTION + other, wider + FUNCTION + other) == [
        "field-became-optional: stage 'rate' reads.x",
        "field-became-optional: stage 'score' reads.x",
    ]


# --- what counts as a change ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('config("a") == "gae"', 'config("a").isin(["gae"])'),
        ('config("a") & config("b")', '~(~config("b") | ~config("a"))'),
        ('config("a")', 'config("a").named("use_a")'),
        ('arg("clip")', 'config("actor.clip")'),
    ],
)
def test_a_condition_in_other_words_is_no_change(versions: Versions, old: str, new: str) -> None:
    """An argument that the configuration fills is a key of the configuration."""
    source = """
    class Score(StageSchema):
        class Reads(BatchSchema):
            clip: Annotated[Arg[float], From("actor.clip")]
            x: Annotated[Float32[Tensor, "batch"], When({0})]
    """

    assert versions.lines(source.format(old), source.format(new)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Float32[Tensor, "batch 2*n"]', 'Float32[Tensor, "batch n+n"]'),
        ('Float32[Tensor, "batch 4 n"]', 'Float32[Tensor, "batch heads=4  n"]'),
        ("Meta[int | str]", "Meta[str | int]"),
        ("Meta[float] | Float32[Tensor, 'batch n']", "Float32[Tensor, 'batch n'] | Meta[float]"),
    ],
)
def test_a_field_in_other_words_is_no_change(versions: Versions, old: str, new: str) -> None:
    source = """
    class Score(StageSchema):
        class Reads(BatchSchema):
            n: Float32[Tensor, "batch n"]
            x: {0}
    """

    assert versions.lines(source.format(old), source.format(new)) == []


def test_the_dims_of_what_is_written_mean_what_they_mean_in_what_is_read(versions: Versions) -> None:
    """Alone, the name in Writes would be free."""
    source = """
    class Score(StageSchema):
        class Reads(BatchSchema):
            x: Float32[Tensor, "batch response"]
        class Writes(BatchSchema):
            y: Float32[Tensor, "batch {0}"]
    """

    assert versions.lines(source.format("response"), source.format("length")) == [
        "dims-widened: stage 'score' writes.y"
    ]


def test_a_sub_pipeline_may_want_more_at_its_start(versions: Versions) -> None:
    source = """
    from batchpact.schemas import BatchSchema as B
    class Start(B):
        x: Float32[Tensor, "batch"]
        z: Float32[Tensor, "batch"] | None = None
    def inner(fields):
        made = type("Inner", (B,), {{"__annotations__": fields, "__module__": "elsewhere"}})
        return Pipeline("inner", inputs=made, stages=[])
    outer = Pipeline("outer", inputs=Start, stages=[inner({0})])
    """
    one, two = '{"x": Float32[Tensor, "batch"]}', '{"x": Float32[Tensor, "batch"], "z": Float32[Tensor, "batch"]}'

    assert versions.lines(source.format(one), source.format(two)) == [
        "field-added: pipeline 'outer' inner/inputs.z",
        "pipeline-broken: pipeline 'outer'",
    ]


# --- whole diffs ------------------------------------------------------------------------------------------------------

UPDATE = """
    class Update(StageSchema):
        class Reads(BatchSchema):
            y: Float32[Tensor, "batch"]

    plan = Pipeline("plan", inputs=Score.Reads, stages=[Score, Update])
"""


def test_a_diff_says_whom_it_breaks_and_that_a_pipeline_upgraded_as_one_is_safe(versions: Versions) -> None:
    old, new = (
        SCORE + UPDATE,
        (SCORE + UPDATE)
        .replace("y: Float32", "reward: Float32")
        .replace("class Score(StageSchema):", 'class Score(StageSchema):\n        """Score."""\n'),
    )
    found = compare(versions.of(old), versions.of(new), names=("a.json", "the code"), allow=["field-removed"])

    assert (found.ok, [change.rule for change in found.breaking]) == (False, ["field-added"])
    assert render(found) == DIFF.strip()


DIFF = """
5 changes from a.json to the code, 1 of them breaking

  breaking
    field-added  stage 'update' reads.reward  f32 "batch"
                 breaks old data with new readers: what old writers wrote does not hold it; upgrade writers first

  breaking, and allowed
    field-removed  stage 'score' writes.y  was f32 "batch"
                   breaks new data with old readers: old readers that need it do not find it; upgrade readers first

  harmless
    description-changed  stage 'score'  Score.
    field-added          stage 'score' writes.reward  f32 "batch"
    field-removed        stage 'update' reads.y  was f32 "batch"

  pipeline 'plan' passes its check: upgraded as one, nothing in it breaks
"""


def test_no_changes(versions: Versions) -> None:
    found = compare(versions.of(SCORE), versions.of(SCORE), names=("a.json", "the code"))

    assert found.ok
    assert render(found) == "no changes from a.json to the code"


def test_long_texts_are_cut(versions: Versions) -> None:
    long = SCORE.replace("class Score(StageSchema):", f'class Score(StageSchema):\n        """{"Score. " * 40}"""\n')
    line = render(compare(versions.of(SCORE), versions.of(long), names=("a", "b"))).splitlines()[-1]

    assert line == "    description-changed  stage 'score'  " + ("Score. " * 40)[:77] + "..."


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("field-remove", "there is no rule 'field-remove'; closest name: 'field-removed'"),
        ("BP001", "there is no rule 'BP001'; `batchpact diff` prints the rule of each change"),
    ],
)
def test_a_rule_that_is_not_there_cannot_be_allowed(rule: str, problem: str) -> None:
    assert refusal(lambda: compare(Contracts(), Contracts(), names=("a", "b"), allow=[rule]), SettingError) == (
        f"1 problem in the options\n\n  BP052 setting  --allow  {problem}"
    )
