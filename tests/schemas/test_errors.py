"""Errors: one tree, whole texts, and a trip through a pickle."""

import copy
import pickle
import re

import pytest

from batchpact.schemas import (
    BatchError,
    BatchSchema,
    ContractError,
    DeclarationError,
    DimSizes,
    Meta,
    MissingFieldError,
    SettingError,
    UndeclaredReadError,
    Violation,
    Where,
    errors,
)
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.errors import contract_error

from .support import floats, stores

KINDS = [ContractError, MissingFieldError, UndeclaredReadError, BatchError, DeclarationError, SettingError]
MISSING = Violation(code="BP001", field="scores", placement="tensor", expected='f32 "batch"', hint="no name is close")
DTYPE = Violation(
    code="BP005",
    field="values",
    actual="f64",
    expected="f32",
    where=Where(stage="critic", boundary="reads", rank=3, part=1, step=7),
    severity="warning",
)
DIMS = [DimSizes(name="batch", sizes=((8, ("values",)), (7, ("scores", "mask"))))]
TEXT = (
    "2 problems where stage 'critic' reads its batch\n"
    "\n"
    '  BP001 missing  scores  declared f32 "batch"; no name is close\n'
    "  BP005 dtype    values  f64, declared f32\n"
    "\n"
    "  dims  batch=8 (values) 7 (scores, mask)"
)


def make(kind: type[ContractError] = ContractError) -> ContractError:
    return kind("where stage 'critic' reads its batch", [MISSING, DTYPE], DIMS)


# --- the tree ---------------------------------------------------------------------------------------------------------


def test_the_tree_is_the_one_that_the_module_draws() -> None:
    assert {kind: kind.__bases__ for kind in KINDS} == {
        ContractError: (ValueError,),
        MissingFieldError: (ContractError, KeyError),
        UndeclaredReadError: (MissingFieldError,),
        BatchError: (ContractError,),
        DeclarationError: (ContractError, TypeError),
        SettingError: (ContractError,),
    }


def test_the_drawing_names_every_error_of_the_module() -> None:
    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    defined = {name for name, value in classes.items() if issubclass(value, ContractError)}

    assert set(re.findall(r"\+-- (\w+)", errors.__doc__ or "")) == defined == {kind.__name__ for kind in KINDS}


def test_a_missing_name_can_be_caught_as_a_key_error() -> None:
    for kind in (MissingFieldError, UndeclaredReadError):
        with pytest.raises(KeyError):
            raise make(kind)


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_prints_the_whole_message(kind: type[ContractError]) -> None:
    """A plain KeyError would print the repr of its argument."""
    assert str(make(kind)) == TEXT


def test_an_error_holds_its_violations_as_data() -> None:
    error = make()

    assert error.subject == "where stage 'critic' reads its batch"
    assert error.violations == (MISSING, DTYPE)
    assert error.dims == tuple(DIMS)


def test_missing_names_alone_are_a_missing_field_error() -> None:
    assert type(contract_error("here", [MISSING, MISSING])) is MissingFieldError
    assert type(contract_error("here", [MISSING, DTYPE])) is ContractError
    assert type(contract_error("here", [DTYPE])) is ContractError


# --- pickles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_a_pickle_whole(kind: type[ContractError], protocol: int) -> None:
    error = make(kind)
    again = pickle.loads(pickle.dumps(error, protocol))

    assert type(again) is kind
    assert str(again) == str(error)
    assert (again.subject, again.violations, again.dims) == (error.subject, error.violations, error.dims)
    assert again.violations[1].where.rank == 3


def test_an_error_can_be_copied() -> None:
    assert str(copy.deepcopy(make())) == str(copy.copy(make())) == TEXT


def test_an_error_is_small_and_holds_no_part_of_the_batch() -> None:
    names = [f"field_{at}" for at in range(50)]
    schema = type(BatchSchema)(
        "Wide", (BatchSchema,), {"__annotations__": dict.fromkeys(names, Meta[float]), "__module__": __name__}
    )
    batch = stores({name: floats(100, 100) for name in names})
    found = diagnose(schema.__batchpact__.plan, batch)
    data = pickle.dumps(contract_error("here", found.violations, found.dims))

    assert len(found.violations) == 50
    assert len(data) < 10_000
    assert b"torch" not in data


def test_the_message_of_a_wide_schema_is_cut() -> None:
    error = ContractError("here", [MISSING] * 1000, [DimSizes(name="batch", sizes=((8, ("x",) * 1000),))])

    assert len(str(error).splitlines()) == 2 + 40 + 1 + 2
    assert len(str(error)) < 4000
    assert len(error.violations) == 1000
