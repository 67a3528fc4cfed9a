"""The command line: `batchpact`. Torch is imported by the commands that need it, not by `--help`.

Exit codes: 0 nothing found, 1 problems found, 2 the target could not be used.
"""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="batchpact",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()  # without one, typer would make the only command the program itself
def _root() -> None:
    """Data contracts for the batches that travel through an RL post-training loop."""


@app.command()
def check(
    targets: Annotated[
        list[str], typer.Argument(help="Pipelines: module:name or path.py:name; without a name, all of the module.")
    ],
) -> None:
    """Check pipelines before anything runs: every read is written before, with the same placement, dtype and shape.

    Exits with 0 where there is no problem, with 1 where there is one, and with 2 where a target could not be used.
    """
    from rich.console import Console

    from batchpact.schemas.errors import ContractError, SettingError

    console = Console(highlight=False, soft_wrap=True, emoji=False)
    failed = False
    for target in targets:
        try:
            from batchpact.contracts.targets import load  # here, as it may refuse a setting of the environment

            reports = [pipeline.check() for pipeline in load(target)]
        except SettingError as error:
            console.print(str(error), style="red", markup=False)
            raise typer.Exit(2) from None
        except ContractError as error:
            # A declaration that does not hold stops the import; it is as much a finding as any other.
            console.print(str(error), style="red", markup=False)
            failed = True
            continue
        except Exception:
            # The module of the target is somebody's code, and may fail in any way; its own traceback says most.
            console.print_exception(max_frames=20)
            console.print(f"the target {target} could not be imported", style="red", markup=False)
            raise typer.Exit(2) from None
        for report in reports:
            console.print(str(report), style="green" if report.ok else "red", markup=False)
            failed = failed or not report.ok
    if failed:
        raise typer.Exit(1)


@app.command()
def inspect(
    file: Annotated[str, typer.Argument(help="A file that DataProto.save_to_disk wrote.")],
    rows: Annotated[int, typer.Option(min=0, help="Show the first rows, too. Nothing else of the data is read.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a saved batch holds: fields with type, size and writer, the schema that was bound, the first rows.

    Exits with 0, and with 2 where the file could not be used.
    """
    from rich.console import Console

    from batchpact.contracts.inspect import inspected
    from batchpact.schemas.errors import BatchError

    console = Console(highlight=False, soft_wrap=as_json, emoji=False)
    try:
        found = inspected(file, rows)
    except (BatchError, OSError) as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    console.print(found.as_json() if as_json else found, markup=False)


def main() -> None:
    """Run the command line."""
    app()
