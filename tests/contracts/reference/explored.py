"""A project that has one of everything that the page to explore shows."""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32, Int64
from pydantic import Field
from torch import Tensor

from batchpact.contracts import Pipeline, when
from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.reference.project import Project
from batchpact.schemas import Merge, Meta, NonTensor, Pad, When, config
from tests.contracts.plans import declare, schema

HOSTILE = """</script><script>document.title = "taken over"</script><b>bold</b> & "quoted" <!-- <img src=x>"""

Prompts = Annotated[Int64[Tensor, "batch prompt"], Field(description="The questions, as tokens.")]
Responses = Annotated[Int64[Tensor, "batch response"], Pad(0), Field(description=HOSTILE)]
Scores = Annotated[Float32[Tensor, "batch"], Field(description="What an answer is worth.")]
Values = Annotated[Float32[Tensor, "batch response"], When(config("critic.enable"))]
Metrics = Annotated[Meta[float], Merge("mean")]

Generate = declare("Generate", {"prompts": Prompts}, {"responses": Responses, "values": Values}, __doc__=HOSTILE)
Score = declare("Score", {"responses": Responses}, {"scores": Scores}, __doc__="Ask a model for scores.")
Gae = declare("Gae", {"scores": Scores, "values": Values}, {"advantages": Scores})
Grpo = declare("Grpo", {"scores": Scores}, {"advantages": Scores})
Update = declare("Update", {"advantages": Scores, "uid": NonTensor[str]}, {"metrics": Metrics})
Lonely = declare("Lonely", {"prompts": Prompts}, {"length": Meta[int]}, __doc__="Nobody has a place for it.")
Start = schema("Start", {"prompts": Prompts, "uid": NonTensor[str]})

ESTIMATOR = config("algorithm.estimator")
SCORED = config("reward.enable")

plan = Pipeline(
    "plan",
    inputs=Start,
    stages=[
        Generate,
        when(SCORED.named("scored"), Score),
        when(ESTIMATOR == "gae", Gae),
        when(~(ESTIMATOR == "gae"), Grpo),
        Update,
    ],
    outputs=("metrics",),
    always=(~(SCORED & config("trainer.val_only")),),
)
other = Pipeline("other", inputs=Start, stages=[Generate, Generate])


CRITIC = (config("critic.enable") | (ESTIMATOR == "gae")).named("use_critic")
ComputeValues = declare("ComputeValues", {"responses": Responses}, {"values": Scores})
Fit = declare("Fit", {"values": Scores})
Gdpo = declare("Gdpo", {"scores": Scores})
Late = declare("Late")
together = Pipeline(
    "together",
    inputs=schema("Answered", {"responses": Responses}),
    stages=[
        when(CRITIC, ComputeValues),
        Fit,
        when(ESTIMATOR == "gdpo", Gdpo),
        when((config("trainer.step") < config("trainer.last")) & ~CRITIC, Late),
    ],
)
"""Findings where a condition on two keys does not hold, and where one of these keys decides; two keys are compared."""


def explored() -> Project:
    """The project: two pipelines, a stage in none of them, and a schema of its own."""
    stages = [declared.__batchpact__ for declared in (Generate, Score, Gae, Grpo, Update, Lonely)]
    alone = Start.__batchpact__.spec
    return Project(
        Contracts(
            stages={stage.qualname: stage for stage in stages},
            schemas={alone.qualname: alone},
            pipelines={pipeline.name: pipeline.spec for pipeline in (plan, other)},
        )
    )
