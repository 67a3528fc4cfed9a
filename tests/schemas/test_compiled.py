"""A schema as a whole: its batch axis, its keys, its name and its words."""

from typing import Annotated

from jaxtyping import Float32, Int64
from pydantic import ConfigDict
from torch import Tensor

from batchpact.schemas import BatchSchema, Meta, Name, NonTensor

from .support import refused


class Base(BatchSchema):
    """Fields that several stages read.

    Only the first paragraph is the description.
    """

    scores: Float32[Tensor, "batch response"]
    uid: NonTensor[str]


def test_the_record_names_the_class_and_its_words() -> None:
    spec = Base.__batchpact__.spec

    assert (spec.name, spec.qualname) == ("Base", f"{__name__}.Base")
    assert spec.description == "Fields that several stages read."


def test_a_schema_without_words_has_no_description() -> None:
    class Silent(Base):
        pass

    assert Silent.__batchpact__.spec.description == ""
    assert Silent.__batchpact__.spec.qualname.endswith("test_a_schema_without_words_has_no_description.Silent")


def test_the_batch_axis_is_the_first_dim_of_every_tensor() -> None:
    class Rows(BatchSchema):
        uid: NonTensor[str]
        scores: Float32[Tensor, "rows response"]

    assert Rows.__batchpact__.spec.axis == "rows"


def test_a_schema_without_tensors_has_no_batch_axis() -> None:
    class Columns(BatchSchema):
        uid: NonTensor[str]

    assert Columns.__batchpact__.spec.axis is None


def test_all_fields_share_the_batch_axis() -> None:
    with refused(
        "test_all_fields_share_the_batch_axis.Reads",
        "mask    axis 0 is 'rows' here and 'batch' in scores; all fields share the batch axis",
        "values  axis 0 is 'batch*n' here and 'batch' in scores; all fields share the batch axis",
    ):

        class Reads(BatchSchema):
            scores: Float32[Tensor, "batch response"]
            mask: Int64[Tensor, "rows response"]
            values: Float32[Tensor, "batch*n response"]


def test_two_fields_cannot_have_one_key() -> None:
    with refused("test_two_fields_cannot_have_one_key.Reads", "second  'first' has the same key in the batch, 'first'"):

        class Reads(BatchSchema):
            first: Meta[int]
            second: Annotated[NonTensor[str], Name("first")]


def test_extra_is_forbidden_unless_it_is_allowed() -> None:
    class Allowed(Base):
        model_config = ConfigDict(extra="allow")

    class AlsoAllowed(Base, extra="allow"):
        pass

    assert Base.__batchpact__.spec.extra == "forbid"
    assert Allowed.__batchpact__.spec.extra == AlsoAllowed.__batchpact__.spec.extra == "allow"


def test_extra_knows_no_third_word() -> None:
    with refused(
        "test_extra_knows_no_third_word.Reads", "model_config  extra='ignore' is not known; 'forbid' and 'allow' are"
    ):

        class Reads(BatchSchema, extra="ignore"):
            uid: NonTensor[str]


def test_a_schema_inherits_fields_in_order_and_may_declare_them_anew() -> None:
    class Child(Base):
        scores: Float32[Tensor, "batch"]
        step: Meta[int]

    assert [field.key for field in Child.__batchpact__.spec.fields] == ["scores", "uid", "step"]
    assert Child.__batchpact__.spec.fields[0].places[0].dims == "batch"
    assert Base.__batchpact__.spec.fields[0].places[0].dims == "batch response"


def test_an_inherited_field_is_held_against_the_new_ones() -> None:
    with refused(
        "test_an_inherited_field_is_held_against_the_new_ones.Child",
        "mask  axis 0 is 'rows' here and 'batch' in scores; all fields share the batch axis",
    ):

        class Child(Base):
            mask: Int64[Tensor, "rows response"]


def test_a_schema_may_have_two_parents() -> None:
    class Other(BatchSchema):
        step: Meta[int]

    class Both(Base, Other):
        pass

    assert {field.key for field in Both.__batchpact__.spec.fields} == {"scores", "uid", "step"}
