"""What the code sees of the program around it: constants, functions, modules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batchpact.contracts.lint.linter import lint
from batchpact.contracts.lint.stages import stages_of
from tests.contracts.lint.support import found, line, module, undeclared

AROUND = """
    KEY = "z"
    KEYS = ("x", "z")
    NESTED = {{"keys": ["z"], "none": None}}
    BY_NAME = {{"z": 1, 2: 3}}
    LONG = tuple(f"key_{{at}}" for at in range(1000))

    class Keys:
        ONE = "z"
        class Inner:
            TWO = "z"

    class Named(str, enum.Enum):
        ONE = "z"
        OTHER = "x"

    class Valued(enum.Enum):
        ONE = "z"

    keys = Keys()
    keys.own = "z"

    @stage(One)
    def compute(data):
        {body}
        return DataProto.from_dict({{"y": data.batch["x"]}})
"""


@pytest.mark.parametrize(
    ("body", "column"),
    [
        ("data.batch[KEY]", 16),
        ('data.batch[f"{KEY}"]', 16),
        ("[data.batch[key] for key in KEYS]", 17),
        ("data.batch[KEYS[-1]]", 16),
        ("data.select(batch_keys=KEYS)", 17),
        ("data.select(batch_keys=[*KEYS])", 17),
        ('data.select(batch_keys=NESTED["keys"])', 17),
        ('data.batch[NESTED.get("keys")[0]]', 16),
        ("data.batch[Keys.ONE]", 16),
        ("data.batch[Keys.Inner.TWO]", 16),
        ("data.batch[keys.own]", 16),
        ("data.batch[Named.ONE]", 16),
        ("data.batch[Named.ONE.value]", 16),
        ("data.batch[Valued.ONE.value]", 16),
        ("[data.batch[key] for key in Named]", 17),
        ("[data.batch[key.value] for key in Valued]", 17),
        ("data.batch[LONG[0]]", None),
        ("data.batch[BY_NAME]", None),
        ("data.batch[nowhere]", None),
    ],
)
def test_constants_of_the_module_are_known(body: str, column: int | None, tmp_path: Path) -> None:
    expected = [] if column is None else [undeclared(f"24:{column}", "read from batch")]
    lines = [text.replace("selected from", "read from") for text in found(AROUND.format(body=body), tmp_path)]

    assert lines == expected


def test_names_around_a_stage_inside_a_function_are_known(tmp_path: Path) -> None:
    source = """
        def make(key):
            later = lambda: None
            @stage(One)
            def compute(data):
                return DataProto.from_dict({"y": data.batch["x"] + data.batch[key] + later()})
            return compute
        made = make("z")
    """
    assert found(source, tmp_path) == [undeclared("5:71", "read from batch")]


class TestFunctions:
    """Functions of other modules are followed where they stand in the same package or folder."""

    @pytest.fixture
    def helper(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        (tmp_path / "linted_helper.py").write_text("def take(data):\n    return data.batch['z']\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.delitem(sys.modules, "linted_helper", raising=False)
        return "from linted_helper import take"

    SOURCE = """
        {helper}
        @stage(One)
        def compute(data):
            return DataProto.from_dict({{"y": data.batch["x"] + take(data)}})
    """

    def test_one_of_the_same_folder_is_followed(self, helper: str, tmp_path: Path) -> None:
        with module(self.SOURCE.format(helper=helper), tmp_path) as made:
            (finding,) = lint(stages_of(made.__name__)).report.findings

        assert (finding.where.file, line(finding)) == (
            str(tmp_path / "linted_helper.py"),
            undeclared("1:23", "read from batch"),
        )

    def test_one_of_another_folder_is_not_followed(self, helper: str, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()

        assert found(self.SOURCE.format(helper=helper), tmp_path / "elsewhere") == []

    def test_an_import_inside_the_function_is_followed(self, helper: str, tmp_path: Path) -> None:
        source = f"""
            {helper}
            @stage(One)
            def compute(data):
                from linted_helper import take as again
                return DataProto.from_dict({{"y": data.batch["x"] + again(data)}})
        """
        with module(source, tmp_path) as made:
            (finding,) = lint(stages_of(made.__name__)).report.findings

        assert line(finding) == undeclared("1:23", "read from batch")

    def test_a_decorated_one_is_followed_to_its_own_code(self, tmp_path: Path) -> None:
        source = """
            def timed(function):
                @functools.wraps(function)
                def wrapper(*args):
                    return function(*args)
                return wrapper

            @timed
            def take(data):
                return data.batch["z"]

            @stage(One)
            @timed
            def compute(data):
                return DataProto.from_dict({"y": data.batch["x"] + take(data)})
        """
        assert found(source, tmp_path) == [undeclared("9:23", "read from batch")]

    @pytest.mark.parametrize(
        "call",
        ["helper.take(data)", "take(data)", "helper.take_class(data)", "Helper.take_class(data)", "Helper.alone(data)",
         "helper.alone(data)", "helper.own(data)", 'getattr(helper, "take")(data)'],
    )  # fmt: skip
    def test_a_method_of_an_object_of_the_module_is_followed(self, call: str, tmp_path: Path) -> None:
        source = f"""
            class Helper:
                def take(self, data):
                    return data.batch["z"]
                @classmethod
                def take_class(cls, data):
                    return data.batch["z"]
                @staticmethod
                def alone(data):
                    return data.batch["z"]

            helper = Helper()
            helper.own = lambda data: data.batch["z"]
            take = helper.take

            @stage(One)
            def compute(data):
                return DataProto.from_dict({{"y": data.batch["x"] + {call}}})
        """
        (text,) = found(source, tmp_path, undecidable=True)

        assert text.partition(" ")[2] == undeclared("", "read from batch").strip()

    def test_code_that_is_gone_is_not_read(self, tmp_path: Path) -> None:
        with module(self.SOURCE.format(helper="take = None"), tmp_path) as made:
            Path(made.__file__ or "").unlink()
            report = lint(stages_of(made.__name__)).report

        assert str(report) == "the code of 'compute': 0 files, 1 without source, no problems"
