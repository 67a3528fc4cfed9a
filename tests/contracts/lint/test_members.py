"""`self`: methods of the same class and of its bases, and its constants."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, undeclared

CLASS = """
    class Base:
        BASE_KEYS = ("x", "b")
        default = "x"

        def from_base(self, data):
            return data.batch["base"]

        def finish(self, x):
            return DataProto.from_dict({{"y": x}})

    class Worker(Base):
        KEYS = ["x", "k"]
        LIMIT: int = 3
        changed = "x"

        def __init__(self):
            self.changed = compute_key()

        @stage(One)
        def compute(self, data):
            {body}
            return self.finish(data.batch["x"])

        def take(self, data, key="x"):
            return data.batch[key]

        @staticmethod
        def take_static(data):
            return data.batch["static"]

        @classmethod
        def take_class(cls, data):
            return [data.batch[key] for key in cls.KEYS]

        @property
        def key(self):
            return "z"

        def finish(self, x):
            return super().finish(x)
"""
LOCAL = f"def make():{CLASS.replace(chr(10), chr(10) + '    ')}\nmake()\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('self.take(data, "z")', ["25:27", "z"]),
        ("self.take(data)", []),
        ("self.take_static(data)", ["29:27", "static"]),
        ("self.take_class(data)", ["33:28", "k"]),
        ("[data.batch[key] for key in self.KEYS]", ["21:21", "k"]),
        ("[data.batch[key] for key in self.BASE_KEYS]", ["21:21", "b"]),
        ('data.batch[getattr(self, "KEYS")[1]]', ["21:20", "k"]),
        ("data.batch[type(self).KEYS[1]]", ["21:20", "k"]),
        ("data.batch[self.default]", []),
        ("self.from_base(data)", ["6:27", "base"]),
        ("super().from_base(data)", ["6:27", "base"]),
        ("data.batch[self.changed]", []),
        ("data.batch[self.key]", []),
        ("data.batch[self.nowhere]", []),
    ],
)
def test_a_method_sees_the_rest_of_its_class(body: str, expected: list[str], tmp_path: Path) -> None:
    lines = [undeclared(expected[0], "read from batch", expected[1])] if expected else []

    assert found(CLASS.format(body=body), tmp_path) == lines


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('self.take(data, "z")', [undeclared("26:35", "read from batch")]),
        ("self.take_static(data)", [undeclared("30:35", "read from batch", "static")]),
        ("[data.batch[key] for key in self.KEYS]", [undeclared("22:29", "read from batch", "k")]),
        ("data.batch[self.changed]", []),
        ("self.from_base(data)", []),
    ],
)
def test_of_a_class_inside_a_function_its_source_is_known(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(LOCAL.format(body=body), tmp_path) == expected
