"""Small projects to tell of: one that is as it should be, and one with everything odd that a record may hold."""

from __future__ import annotations

from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.reference.project import Project
from batchpact.schemas.condition_specs import NotSpec, SubjectSpec, TestSpec
from batchpact.schemas.record import (
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
    StageSpec,
)
from tests.contracts.proof.ppo import ppo

ODD_KEYS = ("__num_turns__", "extra.info/x", "extra.info-x", "a|b <i>*c*</i>", "träge", "Uid", "uid")
CRITIC = TestSpec(subject=SubjectSpec(source="config", name="algorithm.adv_estimator"), test="==", value="gae")
VALIDATE = TestSpec(subject=SubjectSpec(source="meta", name="validate"))


def ppo_project() -> Project:
    """PPO as a configuration switches it."""
    pipeline = ppo().spec
    return Project(Contracts({stage.qualname: stage for stage in pipeline.stages}, {}, {pipeline.name: pipeline}))


def odd_project() -> Project:
    """Odd names, odd text, a stage that stands twice, stages of no pipeline, open columns, findings, every policy."""
    start = schema("odd.Start", *(field(key) for key in ODD_KEYS), field("validate", placement="meta", type="bool"))
    first = stage(
        "first",
        reads=[field(key) for key in ODD_KEYS],
        writes=[
            field("scores", description="Scores | of <b>all</b> rows;\nsee [there](nowhere.md).", when=CRITIC),
            field("names"),
        ],
        description="Does `this` and <that>.\n\nMore *of* it.",
        rows=RowsSpec(kind="repeat", times="rollout.n"),
        pad_safe=True,
        graph="allow",
        layouts=("jagged",),
        rules=(RowRuleSpec(name="fits", qualname="odd.fits", description="One | for each."),),
    )
    columns = FieldSpec(
        name="extra",
        key="<extra>",
        places=(PlaceSpec(placement="non_tensor", type="Any"),),
        named_by=SubjectSpec(source="meta", name="names"),
    )
    again = stage("again/inner", reads=[field("scores", required=False)], writes=[], columns=(columns,), drops=("uid",))
    loose = stage("loose", reads=[], writes=[policed()])
    alone = schema("odd.Alone", policed(), field("uid", role="group"))
    placed = (
        first,
        again.model_copy(update={"when": VALIDATE}),
        again.model_copy(update={"when": NotSpec(of=VALIDATE)}),
        stage("unknown start", reads=[field("scores")], writes=[]),
    )
    pipeline = PipelineSpec(
        name="Odd / pipeline", inputs=start, stages=placed, outputs=("scores",), always=(NotSpec(of=VALIDATE),)
    )
    plain = pipeline.model_copy(update={"name": "odd-pipeline", "outputs": (), "always": ()})
    known = {made.qualname: made for made in (first, again, loose)}
    return Project(Contracts(known, {"odd.Alone": alone}, {made.name: made for made in (pipeline, plain)}))


def field(key: str, *, placement: str = "non_tensor", type: str = "str | None", **parts: object) -> FieldSpec:
    place = PlaceSpec.model_validate({"placement": placement, "type": type})
    return FieldSpec.model_validate({"name": key, "key": key, "places": (place,), **parts})


def policed() -> FieldSpec:
    tensor = PlaceSpec(placement="tensor", dtype="float32", dtypes=("float32",), dims="batch n", layout="dense")
    return FieldSpec(
        name="metrics",
        key="metrics",
        places=(tensor,),
        merge=MergeSpec(how="close", rtol=0.1),
        pad=PadSpec(value=0, side="left"),
        fill=FillSpec(value=-1),
        role="key",
        rules=(RuleSpec(kind="finite"), RuleSpec(kind="le", value=3)),
    )


def schema(qualname: str, *fields: FieldSpec) -> SchemaSpec:
    return SchemaSpec(name=qualname.rpartition(".")[2], qualname=qualname, fields=fields)


def stage(
    name: str,
    *,
    reads: list[FieldSpec],
    writes: list[FieldSpec],
    columns: tuple[FieldSpec, ...] = (),
    rules: tuple[RowRuleSpec, ...] = (),
    **parts: object,
) -> StageSpec:
    qualname = f"odd.<locals>.{name.title()}"
    made = schema(f"{qualname}.Reads", *reads).model_copy(update={"columns": columns, "rules": rules})
    return StageSpec.model_validate(
        {"name": name, "qualname": qualname, "reads": made, "writes": schema(f"{qualname}.Writes", *writes), **parts}
    )
