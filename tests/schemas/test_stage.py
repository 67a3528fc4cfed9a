"""A stage: its facts, its two schemas, and what can be wrong with them."""

from typing import Annotated, Any

import pytest
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Jagged, Repeat, RowsSpec, StageSchema
from batchpact.schemas.stage import NoFields, reads_of, snake_case, writes_of

from .support import refused

Scores = Float32[Tensor, "batch response"]


class KlInReward(StageSchema):
    """Subtract the KL penalty
    from the scores.

    More words.
    """

    class Reads(BatchSchema):
        scores: Scores

    class Writes(BatchSchema):
        rewards: Scores


# --- the record -------------------------------------------------------------------------------------------------------


def test_a_stage_that_says_nothing_keeps_its_rows() -> None:
    spec = KlInReward.__batchpact__

    assert (spec.name, spec.qualname) == ("kl_in_reward", f"{__name__}.KlInReward")
    assert spec.description == "Subtract the KL penalty from the scores."
    assert spec.reads == KlInReward.Reads.__batchpact__.spec
    assert spec.writes == KlInReward.Writes.__batchpact__.spec
    assert spec.rows == RowsSpec(kind="same")
    assert (spec.drops, spec.pad_safe, spec.graph, spec.layouts) == ((), False, "refuse", ("dense", "jagged"))


def test_a_stage_states_its_facts() -> None:
    class Update(StageSchema):
        rows = "permute"
        drops = ("timing",)
        pad_safe = True
        graph = "allow"
        layouts = ("dense",)

    spec = Update.__batchpact__
    assert spec.rows == RowsSpec(kind="permute")
    assert (spec.drops, spec.pad_safe, spec.graph, spec.layouts) == (("timing",), True, "allow", ("dense",))


@pytest.mark.parametrize("times", [4, "rollout.n"])
def test_rows_may_be_repeated_by_a_number_or_by_the_configuration(times: int | str) -> None:
    class Generate(StageSchema):
        rows = Repeat(times)

    assert Generate.__batchpact__.rows == RowsSpec(kind="repeat", times=times)
    assert str(Generate.__batchpact__.rows) == f"repeat({times})"


@pytest.mark.parametrize("kind", ["same", "permute", "select", "new"])
def test_rows_print_as_they_are_written(kind: Any) -> None:
    class Choose(StageSchema):
        rows = kind

    assert str(Choose.__batchpact__.rows) == kind


def test_a_stage_may_lack_reads_or_writes() -> None:
    class Silent(StageSchema):
        pass

    assert reads_of(Silent) is writes_of(Silent) is NoFields
    assert Silent.__batchpact__.reads.fields == Silent.__batchpact__.writes.fields == ()
    assert reads_of(KlInReward) is KlInReward.Reads
    assert writes_of(KlInReward) is KlInReward.Writes


def test_a_stage_inherits_its_facts_and_schemas() -> None:
    class Child(KlInReward):
        pad_safe = True

        class Writes(BatchSchema):
            penalties: Scores

    spec = Child.__batchpact__
    assert spec.reads.fields == KlInReward.__batchpact__.reads.fields
    assert [field.key for field in spec.writes.fields] == ["penalties"]
    assert (spec.pad_safe, KlInReward.__batchpact__.pad_safe) == (True, False)
    assert spec.description == ""


def test_a_stage_is_never_instantiated() -> None:
    with pytest.raises(TypeError) as caught:
        KlInReward()

    assert str(caught.value) == "KlInReward is a declaration; @stage(KlInReward) makes a stage of it"


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("KlInReward", "kl_in_reward"),
        ("Gae", "gae"),
        ("GAE", "gae"),
        ("ComputeGAEAdvantage", "compute_gae_advantage"),
        ("PPO2Update", "ppo2_update"),
        ("score", "score"),
    ],
)
def test_the_name_of_a_stage_is_that_of_its_class_as_a_function_would_have_it(name: str, snake: str) -> None:
    assert snake_case(name) == snake


# --- wrong facts ------------------------------------------------------------------------------------------------------

WRONG_FACTS: dict[str, tuple[str, Any, str]] = {
    "a class for an instance": (
        "rows",
        Repeat,
        "Repeat is a class where an instance belongs: Repeat(4) or Repeat('rollout.n')",
    ),
    "a trailing comma": ("rows", ("permute",), "a tuple where one value belongs, ('permute',): a trailing comma?"),
    "no rows": ("rows", Repeat(0), "Repeat(0) gives no rows; times is 1 or more"),
    "half rows": ("rows", Repeat(2.5), "Repeat(2.5): times is a number of rows or a path into the configuration"),  # type: ignore[arg-type]
    "a truth": ("rows", Repeat(True), "Repeat(True): times is a number of rows or a path into the configuration"),
    "a misspelt word": (
        "rows",
        "permuted",
        "'permuted' is not known; 'same', 'permute', 'select', 'new' and Repeat(n) are",
    ),
    "a string for a tuple": ("drops", "timing", "a string where a tuple belongs: drops = ('timing',) has a comma"),
    "a list for a tuple": ("drops", ["timing"], "it is a tuple of keys"),
    "no keys": ("drops", (1,), "it is a tuple of keys"),
    "a word for a bool": ("pad_safe", "yes", "'yes' is no bool"),
    "a bool for a word": ("graph", True, "True is not known; 'refuse' and 'allow' are"),
    "an unknown layout": ("layouts", ("sparse",), "it is a tuple of 'dense' and 'jagged'"),
    "a string of layouts": ("layouts", "dense", "it is a tuple of 'dense' and 'jagged'"),
    "no layout": ("layouts", (), "it is a tuple of 'dense' and 'jagged'"),
}


@pytest.mark.parametrize(("fact", "value", "text"), WRONG_FACTS.values(), ids=WRONG_FACTS.keys())
def test_a_wrong_fact_is_refused_with_what_to_write(fact: str, value: Any, text: str) -> None:
    with refused("Wrong", f"{fact}  {text}"):
        type("Wrong", (StageSchema,), {fact: value})


def test_every_wrong_fact_is_listed() -> None:
    with refused(
        "test_every_wrong_fact_is_listed.Wrong",
        "rows   'all' is not known; 'same', 'permute', 'select', 'new' and Repeat(n) are",
        "drops  a string where a tuple belongs: drops = ('uid',) has a comma",
        "Reads  it must derive from BatchSchema, as in class Reads(BatchSchema): ...",
    ):

        class Wrong(StageSchema):
            rows = "all"
            drops = "uid"

            class Reads:
                scores: Scores


# --- wrong schemas ----------------------------------------------------------------------------------------------------


def test_an_instance_of_a_schema_is_refused() -> None:
    with refused("test_an_instance_of_a_schema_is_refused.Wrong", "Reads  an instance where a class belongs"):

        class Wrong(StageSchema):
            Reads = NoFields()


@pytest.mark.parametrize("name", ["Read", "reads", "READS", "Write", "writes"])
def test_a_misspelt_schema_is_refused_rather_than_ignored(name: str) -> None:
    with refused("Wrong", f"{name}  a stage has Reads and Writes; a misspelt name would be ignored"):
        type("Wrong", (StageSchema,), {name: KlInReward.Reads})


def test_writes_have_no_arguments() -> None:
    with refused(
        "test_writes_have_no_arguments.Wrong",
        "coef  an argument goes with a call and never enters the batch; Writes cannot have one",
    ):

        class Wrong(StageSchema):
            class Writes(BatchSchema):
                coef: Arg[float]


def test_a_field_is_not_written_and_dropped_at_once() -> None:
    with refused(
        "test_a_field_is_not_written_and_dropped_at_once.Wrong", "drops  'rewards' is written and dropped at once"
    ):

        class Wrong(KlInReward):
            drops = ("scores", "rewards")


def test_another_batch_axis_needs_a_word_about_rows() -> None:
    with refused(
        "test_another_batch_axis_needs_a_word_about_rows.Wrong",
        "Writes  axis 0 is 'batch*n' and 'batch' in Reads, but the rows are the same; say what rows does",
    ):

        class Wrong(StageSchema):
            class Reads(BatchSchema):
                prompts: Int64[Tensor, "batch prompt"]
                n: Arg[int]

            class Writes(BatchSchema):
                responses: Int64[Tensor, "batch*n response"]


def test_another_batch_axis_is_right_where_rows_are_repeated() -> None:
    class Generate(StageSchema):
        rows = Repeat("rollout.n")

        class Reads(BatchSchema):
            prompts: Int64[Tensor, "batch prompt"]
            n: Arg[int]

        class Writes(BatchSchema):
            responses: Int64[Tensor, "batch*n response"]

    assert Generate.__batchpact__.writes.axis == "batch*n"


def test_a_field_has_a_layout_that_the_stage_works_on() -> None:
    with refused(
        "test_a_field_has_a_layout_that_the_stage_works_on.Wrong",
        "ids  it is jagged and the stage's layouts are 'dense'",
    ):

        class Wrong(StageSchema):
            layouts = ("dense",)

            class Reads(BatchSchema):
                ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]


def test_a_stage_that_differs_in_a_fact_has_a_reads_of_its_own() -> None:
    """A signature names a stage by its Reads."""

    class Inherits(KlInReward):
        rows = "select"

    class Borrows(StageSchema):
        drops = ("values",)
        Reads = KlInReward.Reads

    class Same(KlInReward): ...

    assert Same.Reads is KlInReward.Reads
    assert [stage.Reads.__qualname__.rpartition(">.")[2] for stage in (Inherits, Borrows)] == [
        "Inherits.Reads",
        "Borrows.Reads",
    ]
    assert issubclass(Inherits.Reads, KlInReward.Reads) and issubclass(Borrows.Reads, KlInReward.Reads)
    assert Inherits.Writes is KlInReward.Writes


@pytest.mark.parametrize(
    ("name", "value", "fact"), [("row", "select", "rows"), ("drop", ("x",), "drops"), ("padsafe", True, "pad_safe")]
)
def test_a_misspelt_fact_is_refused_rather_than_ignored(name: str, value: Any, fact: str) -> None:
    with refused("Wrong", f"{name}  {fact} belongs there? A misspelt fact would be ignored"):
        type("Wrong", (StageSchema,), {name: value})


def test_a_stage_may_have_names_of_its_own() -> None:
    class Cited(StageSchema):
        paper = "https://arxiv.org/abs/2402.03300"

        @staticmethod
        def row() -> int:
            return 1

    assert Cited.paper.endswith("2402.03300")
