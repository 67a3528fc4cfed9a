"""`batchpact replay` and `batchpact inspect` of a dump: texts and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from batchpact.contracts import checking, use_config
from batchpact.contracts.cli import app
from batchpact.contracts.dump import saving
from batchpact.contracts.dump.record import RECORD
from batchpact.contracts.targets import resolve
from batchpact.dataproto import DataProto
from tests.contracts.dump.support import broken, files

SOURCE = """
    import torch
    from jaxtyping import Float32
    from tensordict import TensorDict
    from torch import Tensor
    from typing import Annotated
    from batchpact.contracts import stage
    from batchpact.dataproto import DataProto
    from batchpact.schemas import Arg, BatchSchema, Finite, From, Meta, StageSchema, When, config

    WIDTH = 5

    class Returns(StageSchema):
        class Reads(BatchSchema):
            rewards: Annotated[Float32[Tensor, "batch response"], Finite()]
            gamma: Annotated[Meta[float], From("algorithm.gamma")]
            scale: Arg[float] = 1.0
            bonus: Annotated[Float32[Tensor, "batch"], When(config("use_bonus") == True)]
        class Writes(BatchSchema):
            returns: Float32[Tensor, "batch response"]

    @stage(Returns)
    def returns(data: DataProto) -> DataProto:
        made = torch.zeros(len(data), WIDTH) + data.meta_info["gamma"]
        return DataProto.from_dict({"returns": made})

    @stage(Returns, name="returns")
    def mended(data: DataProto, scale: float) -> DataProto:
        return DataProto.from_dict({"returns": data.batch["rewards"] * data.meta_info["gamma"] * scale})

    @stage(Returns)
    async def later(data: DataProto) -> DataProto:
        return DataProto.from_dict({"returns": data.batch["rewards"]})

    @stage(Returns)
    def of_a_tensordict(data: TensorDict) -> TensorDict:
        return TensorDict({"returns": torch.zeros(len(data), WIDTH)}, batch_size=data.batch_size)

    @stage(Returns)
    def fails(data: DataProto) -> DataProto:
        raise RuntimeError("no GPU")

    class Trainer:
        @stage(Returns)
        def returns(self, data: DataProto) -> DataProto:
            return DataProto.from_dict({"returns": data.batch["rewards"]})

    trainer = Trainer()
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module, which is also the working directory."""
    (tmp_path / "trainer_of_dumps.py").write_text(dedent(SOURCE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(saving, "_saved", type(saving._saved)())
    monkeypatch.delenv("RANK", raising=False)
    yield tmp_path
    sys.modules.pop("trainer_of_dumps", None)


def batch_of(**more: torch.Tensor) -> DataProto:
    return DataProto.from_dict({"rewards": torch.ones(2, 3), **more}, meta_info={"global_steps": 9, "gamma": 0.5})


def dumped(name: str, batch: Any, **kwargs: Any) -> str:
    """The dump of a call that breaks its contract."""
    _, _, function = resolve(f"trainer_of_dumps:{name}")
    with checking(dump="dumps"):
        broken(lambda: function(batch, **kwargs))  # type: ignore[operator]
    (path,) = files(Path("dumps"))
    return str(path)


def batchpact(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


class TestTheErrorAgain:
    def test_it_is_shown_as_it_was_with_its_place(self) -> None:
        path = dumped("returns", batch_of())
        sys.modules.pop("trainer_of_dumps")

        code, output = batchpact("replay", path)

        error, _, about = output.partition("\n\n  where")
        assert (code, error) == (1, str(broken_again()))
        lines = [line.split(None, 1) for line in f"where{about}".splitlines()]
        assert [line[0] for line in lines] == ["where", "when", "returned", "saved", "again"]
        assert lines[0][1].startswith("trainer_of_dumps.returns, step 9, node ")
        assert lines[1][1].endswith(", level structure")
        assert [line[1] for line in lines[2:]] == [
            "returns f32[2, 5]",
            "3 fields of a DataProto with 2 rows",
            "the record finds the same in the saved batch",
        ]

    def test_nothing_is_imported(self) -> None:
        path = dumped("returns", batch_of())
        sys.modules.pop("trainer_of_dumps")

        batchpact("replay", path)

        assert "trainer_of_dumps" not in sys.modules

    def test_what_the_record_cannot_see_is_said(self) -> None:
        rewards = torch.full((2, 3), torch.nan)
        with checking("values"):
            path = dumped("returns", batch_of(rewards=rewards))

        code, output = batchpact("replay", path)

        assert code == 1
        assert output.splitlines()[-1] == (
            "  again     the record finds 0 of 1 problem in the saved batch; BP021 needs the stage: --stage module:name"
        )

    def test_a_field_that_was_left_out_is_named(self) -> None:
        batch = batch_of()
        batch.meta_info["tool"] = object()

        _, output = batchpact("replay", dumped("returns", batch))

        assert "\n  left out  tool (read, meta): object\n" in output


class TestTheStageAgain:
    def test_that_is_broken_still_exits_with_1(self) -> None:
        path = dumped("returns", batch_of())

        code, output = batchpact("replay", path, "--stage", "trainer_of_dumps:returns")

        assert code == 1
        assert output.endswith(f"\nrun again, trainer_of_dumps:returns:\n\n{broken_again()}\n")

    @pytest.mark.parametrize("name", ["mended", "later", "trainer.returns"])
    def test_that_is_healthy_now_exits_with_0(self, name: str) -> None:
        path = dumped("returns", batch_of())

        code, output = batchpact("replay", path, "--stage", f"trainer_of_dumps:{name}")

        assert (code, output.splitlines()[-1]) == (0, f"run again, trainer_of_dumps:{name}: healthy now")

    def test_that_the_dump_names_is_found(self) -> None:
        path = dumped("returns", batch_of())
        sys.modules.pop("trainer_of_dumps")
        source = Path("trainer_of_dumps.py")
        source.write_text(source.read_text().replace("WIDTH = 5", "WIDTH = 3"))

        code, output = batchpact("replay", path, "--run")

        assert (code, output.splitlines()[-1]) == (0, "run again, trainer_of_dumps:returns: healthy now")

    def test_it_is_given_the_arguments_of_the_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        path = dumped("returns", batch_of(), scale=4.0)
        module, _, _ = resolve("trainer_of_dumps:mended")
        seen: list[float] = []
        monkeypatch.setattr(
            module, "mended", module.stage(module.Returns)(lambda data: seen.append(data.meta_info["scale"]))
        )

        assert batchpact("replay", path, "--stage", "trainer_of_dumps:mended")[0] == 0
        assert seen == [4.0]

    def test_it_is_given_what_the_configuration_filled(self) -> None:
        batch = batch_of()
        batch.meta_info.pop("gamma")
        with use_config({"algorithm": {"gamma": 0.25}}):
            path = dumped("returns", batch)

        assert batchpact("replay", path, "--stage", "trainer_of_dumps:mended")[0] == 0

    def test_it_runs_under_a_configuration(self) -> None:
        with use_config({"use_bonus": True}):
            path = dumped("returns", batch_of())  # no bonus
        Path("with.yaml").write_text("use_bonus: true\n")
        Path("without.yaml").write_text("use_bonus: false\n")
        again = ("replay", path, "--stage", "trainer_of_dumps:mended", "--config")

        assert (batchpact(*again, "with.yaml")[0], batchpact(*again, "without.yaml")[0]) == (1, 0)

    def test_it_is_given_the_kind_of_batch_that_the_call_had(self) -> None:
        path = dumped("of_a_tensordict", batch_of().to_tensordict())

        code, output = batchpact("replay", path, "--run")

        assert code == 1
        assert output.count("BP012 shape  returns  f32[2, 5]") == 2

    def test_an_error_of_its_own_is_shown_with_its_traceback(self) -> None:
        path = dumped("returns", batch_of())

        code, output = batchpact("replay", path, "--stage", "trainer_of_dumps:fails")

        assert code == 1
        assert "RuntimeError: no GPU" in output
        assert output.endswith("run again, trainer_of_dumps:fails raises an error of its own\n")

    def test_it_saves_no_second_dump(self, monkeypatch: pytest.MonkeyPatch) -> None:
        path = dumped("returns", batch_of())

        with checking(dump="dumps"):
            batchpact("replay", path, "--run")

        assert len(files(Path("dumps"))) == 1

    @pytest.mark.parametrize(
        ("target", "told"),
        [
            ("trainer_of_dumps:WIDTH", "WIDTH is int 5; a stage: module:name"),
            (
                "trainer_of_dumps:Trainer.returns",
                "Trainer.returns is a method, and needs its object; module:object.method, of an object there",
            ),
            ("nowhere_at_all:f", "there is no module nowhere_at_all; an importable module, or path.py:name"),
        ],
    )
    def test_a_target_that_cannot_be_used_exits_with_2(self, target: str, told: str) -> None:
        path = dumped("returns", batch_of())

        code, output = batchpact("replay", path, "--stage", target)

        assert (code, output.splitlines()[-1]) == (2, f"  BP052 setting  target  {told}")

    def test_a_name_that_cannot_be_imported_exits_with_2(self) -> None:
        path = dumped("returns", batch_of())
        sys.modules.pop("trainer_of_dumps")
        Path("trainer_of_dumps.py").unlink()

        code, output = batchpact("replay", path, "--run")

        assert code == 2
        assert output.splitlines()[-1].startswith("  BP052 setting  target  nothing of this name can be imported here")


class TestAFile:
    def test_that_is_not_there_exits_with_2(self) -> None:
        assert batchpact("replay", "nothing")[0] == 2

    def test_that_is_no_dump_exits_with_2(self) -> None:
        batch_of().save_to_disk("batch")

        assert batchpact("replay", "batch") == (
            2,
            "1 problem in the dump batch\n\n  BP052 setting  dump  a saved batch, and nothing says what was wrong "
            "with it; a file that BATCHPACT_DUMP made\n",
        )

    @pytest.mark.parametrize("text", ["{}", "no JSON", 3, '{"version": 2}'])
    def test_with_another_record_exits_with_2(self, text: object) -> None:
        batch = batch_of()
        batch.meta_info[RECORD] = text
        batch.save_to_disk("batch")

        code, output = batchpact("replay", "batch")

        assert code == 2
        assert output.startswith("1 problem in the dump batch\n\n  BP052 setting  dump  ")

    @pytest.mark.parametrize(
        ("part", "told"),
        [
            (
                lambda record: record["violations"][0].update(code="BP999"),
                "Value error, BP999 is not known; the form of",
            ),
            (lambda record: record["stage"]["writes"]["fields"][0].update(places=[], required=True), "its record: "),
        ],
    )
    def test_whose_record_has_a_part_that_this_version_does_not_know_exits_with_2(
        self, part: Callable[[dict[str, Any]], None], told: str
    ) -> None:
        path = Path(dumped("returns", batch_of()))
        batch = DataProto.load_from_disk(path)
        record = json.loads(batch.meta_info[RECORD])
        part(record)
        batch.meta_info[RECORD] = json.dumps(record)
        path.unlink()
        batch.save_to_disk(path)

        code, output = batchpact("replay", str(path))

        assert code == 2
        assert told in output

    def test_with_what_no_terminal_should_print_is_shown_without_it(self) -> None:
        batch = batch_of()
        batch.meta_info["evil\x1b[2J"] = object()

        code, output = batchpact("replay", dumped("returns", batch))

        assert (code, "\x1b" in output, "evil\\x1b[2J (read, meta)" in output) == (1, False, True)


class TestInspect:
    def test_it_shows_the_batch_and_what_was_wrong(self) -> None:
        path = dumped("returns", batch_of())

        code, output = batchpact("inspect", path)

        assert code == 0
        assert RECORD not in output
        head, _, told = output.partition("\n\n")
        assert "2 rows, 3 fields" in head
        assert told.splitlines()[0] == (
            "saved where stage 'returns' returns its result: BP012; batchpact replay shows it again"
        )

    def test_as_json_it_has_the_record(self) -> None:
        path = dumped("returns", batch_of())

        found = json.loads(batchpact("inspect", path, "--json")[1])

        assert [field["key"] for field in found["fields"]] == ["rewards", "global_steps", "gamma"]
        assert found["dump"]["violations"][0]["code"] == "BP012"


def broken_again() -> str:
    """The message of the healthy call's error, without a dump."""
    _, _, function = resolve("trainer_of_dumps:returns")
    return str(broken(lambda: function(batch_of())))  # type: ignore[operator]
