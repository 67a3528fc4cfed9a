"""Open columns: how they are declared, what the record has of them, what their names may be, and how they are held."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    ContractError,
    DeclarationError,
    Fill,
    Finite,
    Key,
    Meta,
    Name,
    NonTensor,
    Tag,
    When,
    arg,
    config,
    meta,
    named_by,
)
from batchpact.schemas.columns import NamedColumns, look_up_names, names_in
from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.configuration import use_config
from batchpact.schemas.instances import instance_stores, make_instance
from batchpact.schemas.narrowing import narrowed
from batchpact.schemas.stores import column
from batchpact.schemas.text import sentence
from batchpact.schemas.violations import Violation


class Reads(BatchSchema):
    x: Float32[Tensor, "batch"]
    scores: Columns[NonTensor[float]] = named_by(meta("keys"))
    extra: Annotated[Columns[Float32[Tensor, "batch n"]], Finite(), Fill(0.0)] = named_by(
        config("data.extra", default=[]), optional=True
    )


def made(**names: tuple[str, ...]) -> type[BatchSchema]:
    return narrowed(Reads, {}, names)


# --- declarations -----------------------------------------------------------------------------------------------------


def test_open_columns_stand_beside_the_fields_of_the_record() -> None:
    spec = Reads.__batchpact__.spec
    scores, extra = spec.columns

    assert [field.key for field in spec.fields] == ["x"]
    assert (scores.name, scores.key, scores.required) == ("scores", "scores[*]", True)
    assert scores.named_by == SubjectSpec(source="meta", name="keys")
    assert [(place.placement, place.type) for place in scores.places] == [("non_tensor", "float")]
    assert (extra.required, extra.rules[0].kind, extra.fill is not None) == (False, "finite", True)
    assert spec.axis == "batch"


def test_the_canonical_record_has_what_names_them() -> None:
    assert '"named_by": {"name": "keys", "source": "meta"}' in Reads.__batchpact__.spec.columns[0].canonical()


def test_policies_and_descriptions_stand_inside_or_around() -> None:
    class Inside(BatchSchema):
        extra: Columns[Annotated[NonTensor[float], Fill(0.0)]] = named_by(meta("keys"), optional=True)

    class Tags(BatchSchema):
        tags: Columns[Tag[int] | NonTensor[int]] = named_by(meta("keys"))

    assert Inside.__batchpact__.spec.columns[0].fill is not None
    assert [place.placement for place in Tags.__batchpact__.spec.columns[0].places] == ["tag", "non_tensor"]


def test_an_heir_has_the_open_columns_of_its_base() -> None:
    class Heir(Reads):
        y: Float32[Tensor, "batch"]

    assert [each.name for each in Heir.__batchpact__.spec.columns] == ["scores", "extra"]


NAMES = "names stand in meta or in the configuration, as named_by"
UNNAMED = 'nothing says what the columns are called; write = named_by(meta("...")) behind it'
WRONG: dict[str, tuple[Any, Any, str]] = {
    "no source": (Columns[NonTensor[float]], ..., UNNAMED),
    "a list": (Columns[NonTensor[float]], [], f"{UNNAMED}, not list of 0"),
    "None": (Columns[NonTensor[float]], None, f"{UNNAMED}, not None"),
    "a bare source": (Columns[NonTensor[float]], meta("a"), f"{UNNAMED}, not meta a by itself"),
    "a trailing comma": (Columns[NonTensor[float]], (named_by(meta("a")),), f"{UNNAMED}, without the trailing comma"),
    "a text": (Columns[NonTensor[float]], named_by("a"), f"named_by('a'): {NAMES}(meta('a')) says"),  # type: ignore[arg-type]
    "an argument": (
        Columns[NonTensor[float]],
        named_by(arg("a")),
        f'named_by of arg a: {NAMES}(meta("...") or config("...")) says',
    ),
    "a condition": (
        Columns[NonTensor[float]],
        named_by(meta("a") == 3),  # type: ignore[arg-type]
        f'named_by of the condition meta a == 3: {NAMES}(meta("...") or config("...")) says',
    ),
    "a function": (
        Columns[NonTensor[float]],
        named_by(meta),  # type: ignore[arg-type]
        f'named_by of function: {NAMES}(meta("...") or config("...")) says',
    ),
    "a default that is no list": (
        Columns[NonTensor[float]],
        named_by(meta("a", default="b")),
        "default='b' is no list of names; without names it is default=[]",
    ),
    "of nothing": (Columns, named_by(meta("a")), "Columns needs what one of them is, as in Columns[NonTensor[float]]"),
    "of a class": (
        Columns[float],
        named_by(meta("a")),
        "Columns[float] says no placement; write Columns[NonTensor[float]]",
    ),
    "of a bare tensor": (
        Columns[Tensor],
        named_by(meta("a")),
        'a bare Tensor has no dtype and shape; write Float32[Tensor, "batch ..."]',
    ),
    "of meta": (
        Columns[Meta[float]],
        named_by(meta("a")),
        "Columns[Meta[...]]: columns have one value per row, in Columns[NonTensor[...]] or a tensor",
    ),
    "of arguments": (
        Columns[Arg[float]],
        named_by(meta("a")),
        "Columns[Arg[...]]: columns have one value per row, in Columns[NonTensor[...]] or a tensor",
    ),
    "of columns": (
        Columns[Columns[NonTensor[float]]],
        named_by(meta("a")),
        "Columns inside Columns: a name says one column",
    ),
    "or None": (
        Columns[NonTensor[float]] | None,
        named_by(meta("a")),
        "Columns[...] stands alone; where there may be none, the list of names is empty, and with named_by(..., "
        "optional=True) those that are named may be absent",
    ),
    "of one or None": (
        Columns[NonTensor[float] | None],  # type: ignore[operator]
        named_by(meta("a")),
        "'| None' inside Columns; named_by(..., optional=True) lets columns be absent",
    ),
    "one field": (
        NonTensor[float],
        named_by(meta("a")),
        "named_by(...) names columns, and this is one field; write Columns[...] around what each of them is",
    ),
    "one name": (
        Annotated[Columns[NonTensor[float]], Name("b")],
        named_by(meta("a")),
        "Name(...) is for one field, and these columns are as many as there are names",
    ),
    "a key": (
        Annotated[Columns[NonTensor[str]], Key()],
        named_by(meta("a")),
        "Key(...) is for one field, and these columns are as many as there are names",
    ),
    "filled and required": (
        Annotated[Columns[NonTensor[float]], Fill(0.0)],
        named_by(meta("a")),
        "Fill(...) is for columns that may be absent: named_by(..., optional=True)",
    ),
    "no condition": (
        Annotated[Columns[NonTensor[float]], When("a")],  # type: ignore[arg-type]
        named_by(meta("a")),
        "When(...) takes a condition, as in When(config('algorithm.use_kl_in_reward'))",
    ),
}


@pytest.mark.parametrize(("annotation", "default", "text"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_is_told_when_the_class_is_made(annotation: Any, default: Any, text: str) -> None:
    namespace: dict[str, Any] = {"__annotations__": {"s": annotation}, "__qualname__": "Wrong", "__module__": __name__}
    if default is not ...:
        namespace["s"] = default
    with pytest.raises(DeclarationError) as caught:
        type(BatchSchema)("Wrong", (BatchSchema,), namespace)

    assert [(wrong.field, sentence(wrong)) for wrong in caught.value.violations] == [("s", text)]


def test_one_source_cannot_name_two_kinds_of_columns_and_all_share_the_batch_axis() -> None:
    with pytest.raises(DeclarationError) as caught:

        class Twice(BatchSchema):
            t: Float32[Tensor, "batch"]
            one: Columns[NonTensor[float]] = named_by(meta("keys"))
            two: Columns[Float32[Tensor, "rows"]] = named_by(meta("keys", default=[]))

    assert [sentence(wrong) for wrong in caught.value.violations] == [
        "meta keys names 'one', too; no name can be both",
        "axis 0 is 'rows' here and 'batch' in t; all fields share the batch axis",
    ]


# --- names ------------------------------------------------------------------------------------------------------------


def names(value: object, schema: type[BatchSchema] = Reads) -> object:
    spec = schema.__batchpact__.spec
    found = names_in(spec, spec.columns[:1], lambda _: value)["scores"]
    return f"{found.code} {found.field} {sentence(found)}" if isinstance(found, Violation) else found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], ()),
        (["b", "a", "b"], ("b", "a")),
        (("a",), ("a",)),
        ({"b", "a"}, ("a", "b")),
        ({"a": 1}.keys(), ("a",)),
        (np.array(["a", "b"]), ("a", "b")),
    ],
)
def test_names_are_any_list_of_texts_each_once(value: object, expected: tuple[str, ...]) -> None:
    assert names(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            None,
            "meta keys is not there; it names these columns; write it before; "
            'named_by(meta("keys", default=[])) is for names that may be missing',
        ),
        ("a", "meta keys is str; a list of names; write ['a']"),
        (3, "meta keys is int 3; a list of names"),
        ({"a": 1}, "meta keys is dict of 1; a list of names"),
        (["a", 3], "meta keys holds int 3; a name is a text"),
        (["a", None], "meta keys holds None; a name is a text"),
        (
            ["a", "x"],
            "meta keys names 'x', and that is the field x; a name is declared once; "
            "take x out of the names, or out of what is declared beside them",
        ),
    ],
)
def test_other_names_are_told_with_their_source(value: object, expected: str) -> None:
    assert names(value) == f"BP056 scores {expected}"


def test_two_open_columns_cannot_have_one_name() -> None:
    spec = Reads.__batchpact__.spec
    found = names_in(spec, spec.columns, lambda _: ["a"])["extra"]

    assert isinstance(found, Violation)
    assert found.actual == "configuration data.extra names 'a', and that is one of the columns scores"


def test_names_are_looked_up_in_meta_in_the_configuration_or_are_the_default() -> None:
    source, other = (each.named_by for each in Reads.__batchpact__.spec.columns)
    assert source is not None and other is not None

    assert look_up_names({"keys": ["a"]}, source) == ["a"]
    assert look_up_names({}, source) is None
    assert look_up_names({"data.extra": ["a"]}, other) == []
    with use_config({"data": {"extra": ["e"]}}):
        assert look_up_names({}, other) == ["e"]


# --- a schema and its instances under names ---------------------------------------------------------------------------


def test_each_name_is_a_field_of_the_narrowed_schema() -> None:
    schema = made(scores=("acc", "f1"))
    spec = schema.__batchpact__.spec

    assert [(field.name, field.key) for field in spec.fields] == [
        ("x", "x"),
        ("scores['acc']", "acc"),
        ("scores['f1']", "f1"),
    ]
    assert [each.name for each in schema.__batchpact__.unnamed] == ["extra"]
    assert made(scores=("acc", "f1")) is schema is not made(scores=("f1", "acc"))
    assert made(extra=("e",)).__batchpact__.policies["e"].fill is not None
    assert narrowed(Reads, {}) is Reads


def test_open_columns_under_a_condition_are_none_where_it_does_not_hold_and_optional_where_nobody_knows() -> None:
    class Conditional(BatchSchema):
        scores: Annotated[Columns[NonTensor[float]], When(config("reward"))] = named_by(meta("keys"))

    off, on, unknown = (narrowed(Conditional, {"scores": known}, {"scores": ("a",)}) for known in (False, True, None))

    assert off.__batchpact__.spec.fields == ()
    assert on.__batchpact__.spec.fields[0].required
    assert not unknown.__batchpact__.spec.fields[0].required


def test_an_instance_gives_its_columns_by_name_and_gets_them_so() -> None:
    acc, values = column([0.5, 1.0]), torch.ones(2)
    instance = Reads(x=values, scores={"acc": acc}, extra={"e": torch.ones(2, 3)})
    stores = instance_stores(instance)
    handed: Any = make_instance(made(scores=("acc",), extra=()), stores, {}, None)

    assert list(stores.tensors) == ["x", "e"]
    assert stores.columns == {"acc": acc}
    assert list(handed.scores) == ["acc"]
    assert handed.scores["acc"].tolist() == [0.5, 1.0]
    assert not handed.scores["acc"].flags.writeable
    assert len(handed.extra) == 0
    assert list(instance_stores(handed).columns) == ["acc"]


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        (torch.ones(2), "it holds f32[2]; a mapping from names to columns"),
        (None, "it holds None; a mapping from names to columns"),
        ({3: column([1.0])}, "it holds the name 3; a name is a text"),
        ({"x": column([1.0])}, "it holds 'x', which is a field of its own; a name is there once"),
    ],
)
def test_an_instance_with_something_else_in_place_of_columns_is_refused(scores: Any, text: str) -> None:
    with pytest.raises(ContractError) as caught:
        instance_stores(Reads(x=torch.ones(1), scores=scores, extra={}))

    assert str(caught.value) == f"1 problem in an instance of Reads\n\n  BP056 columns  scores  {text}"


class Told:
    """Takes down what somebody looked for."""

    def __init__(self) -> None:
        self.names: list[object] = []

    def look(self, name: object) -> object:
        self.names.append(name)
        return None


def test_a_look_at_another_name_is_told_and_misses_as_in_any_mapping() -> None:
    told = Told()
    columns: Mapping[str, Any] = NamedColumns({"a": torch.ones(1)}, told)

    assert (columns["a"].tolist(), columns.get("b"), "c" in columns, "a" in columns) == ([1.0], None, False, True)
    with pytest.raises(KeyError, match="d"):
        columns["d"]
    assert told.names == ["b", "c", "d"]
    assert repr(columns) == "{'a': f32[1]}"
    assert type(pickle.loads(pickle.dumps(columns))) is dict
