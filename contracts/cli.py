"""The command line: `batchpact`. Torch is imported by the commands that need it, not by `--help`.

Exit codes: 0 nothing found, 1 problems found, 2 a target, a file or an option could not be used.
"""

from __future__ import annotations

from typing import Annotated

import typer

from batchpact.contracts.formats.names import Format

app = typer.Typer(
    name="batchpact",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Data contracts for the batches that travel through an RL post-training loop."""


_Form = Annotated[Format, typer.Option("--format", help="How findings are printed.")]
_Baseline = Annotated[str | None, typer.Option(metavar="FILE", help="Known findings, which are not reported.")]
_WriteBaseline = Annotated[
    bool, typer.Option("--write-baseline", help="Write what is found to the baseline instead of reporting it.")
]
_TARGETS = "; where there are none, those of \\[tool.batchpact] in pyproject.toml."


@app.command()
def check(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Pipelines: module:name or path.py:name; without a name, all of the module" + _TARGETS),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Check this configuration only (YAML or JSON), and show its stages."),
    ] = None,
    baseline: _Baseline = None,
    write_baseline: _WriteBaseline = False,
    form: _Form = Format.TEXT,
) -> None:
    """Check pipelines before anything runs: every read is written before, with the same placement, dtype and shape.

    Exits with 0 where there is no problem, with 1 where there is one, and with 2 where a target or the baseline could
    not be used.
    """
    from batchpact.contracts.check_command import check_targets

    check_targets(targets or (), form, config, baseline=baseline, write=write_baseline)


@app.command()
def lint(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Stages: modules, or module:name and path.py:name of stages, classes, pipelines" + _TARGETS
        ),
    ] = None,
    undecidable: Annotated[bool, typer.Option("--undecidable", help="Report what cannot be told, too.")] = False,
    baseline: _Baseline = None,
    write_baseline: _WriteBaseline = False,
    form: _Form = Format.TEXT,
) -> None:
    """Read the code of stages, without running it: does it read and write what the stage declares?

    `# batchpact: ignore[BP071]` in a line silences a finding there. Exits with 0 where there is no error, with 1 where
    there is one, and with 2 where a target or the baseline could not be used.
    """
    from batchpact.contracts.lint.command import lint_targets

    lint_targets(targets or (), form, undecidable=undecidable, baseline=baseline, write=write_baseline)


@app.command()
def lock(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Modules, or module:name and path.py:name" + _TARGETS),
    ] = None,
    file: Annotated[str, typer.Option(help="The lock file.")] = "batchpact.lock.json",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail where the file is not current.")] = False,
    form: _Form = Format.TEXT,
) -> None:
    """Write down what every contract of a project says, in a file whose changes can be reviewed.

    Exits with 0, with 1 where --check finds that the code declares something else, and with 2 where a target or the
    file could not be used.
    """
    from batchpact.contracts.lock import commands

    commands.lock(targets or (), file, check=check, form=form)


@app.command()
def docs(
    targets: Annotated[list[str] | None, typer.Argument(help="Modules and names, as for lock" + _TARGETS)] = None,
    output: Annotated[str, typer.Option(help="The folder of the pages.")] = "docs/reference",
    page: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the page to explore, one HTML file, and nothing else.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail where a page is not current.")] = False,
    form: _Form = Format.TEXT,
) -> None:
    """Write the reference of a project as Markdown: its fields, stages, pipelines, conditions and errors.

    Exits with 0, with 1 where --check finds pages that are stale, missing or left over, and with 2 where a target or
    the folder could not be used.
    """
    from batchpact.contracts.reference import command

    command.docs(targets or (), output, page=page, check=check, form=form)


@app.command()
def diff(
    old: Annotated[str | None, typer.Argument(help="The old lock file; the project's where there is none.")] = None,
    new: Annotated[str | None, typer.Argument(help="The new lock file; the code where there is none.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="REVISION", help="Take the old lock file as it is in a git revision.")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="A target of the code, as of `lock`; several times.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="A rule whose changes may break somebody; several times.")
    ] = None,
    file: Annotated[str, typer.Option(help="The lock file of the project.")] = "batchpact.lock.json",
    form: _Form = Format.TEXT,
) -> None:
    """Say what changed in the contracts, what that breaks, for whom, and who has to be upgraded first.

    Exits with 0 where nothing breaks, with 1 where something does, and with 2 where something could not be read. Old
    code is never imported.
    """
    from batchpact.contracts.lock import commands

    commands.diff(old, new, against=against, targets=target or (), file=file, allow=allow or (), form=form)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The name of a stage, the key of a field, or a code such as BP001.")],
    targets: Annotated[list[str] | None, typer.Argument(help="Pipelines, as for check" + _TARGETS)] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Show what this configuration (YAML or JSON) switches on.")
    ] = None,
) -> None:
    """Say of a stage or a field where it comes from, who needs it, and under which condition; of a code what it means.

    Exits with 0, and with 2 where nothing has this name, or a target could not be used.
    """
    from batchpact.contracts.show_command import show_name

    show_name(name, targets or (), config)


@app.command()
def inspect(
    file: Annotated[str, typer.Argument(help="A file that DataProto.save_to_disk wrote, or a dump.")],
    rows: Annotated[int, typer.Option(min=0, help="Show the first rows, too. Nothing else of the data is read.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a saved batch holds: fields with type, size and writer, the schema that was bound, the first rows.

    Exits with 0, and with 2 where the file could not be used.
    """
    from rich.console import Console

    from batchpact.contracts.formats.usable import usable
    from batchpact.contracts.inspect import inspected

    with usable():
        found = inspected(file, rows)
    console = Console(highlight=False, soft_wrap=as_json, emoji=False)
    console.print(found.as_json() if as_json else found, markup=False)


@app.command()
def replay(
    file: Annotated[str, typer.Argument(help="A file that was saved where a contract broke: BATCHPACT_DUMP=folder.")],
    stage: Annotated[
        str | None,
        typer.Option(metavar="TARGET", help="Run this stage on the saved batch: module:name or path.py:name."),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run the stage that the file names, from where it is.")] = False,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="The configuration (YAML or JSON) that counts while it runs.")
    ] = None,
) -> None:
    """Show a broken contract again as it was, with its place; and run the stage on the saved batch, for a breakpoint.

    Exits with 0 where the stage runs and keeps to its contract now, with 1 where the problem is shown, and with 2 where
    the file, the stage or the configuration could not be used. Without --stage and --run nothing is imported.
    """
    from batchpact.contracts.dump import command

    command.replay(file, stage, find=run, config=config)


@app.command()
def infer(
    files: Annotated[list[str], typer.Argument(help="Files that DataProto.save_to_disk wrote.")],
    name: Annotated[str, typer.Option(help="The name of the class.")] = "Batch",
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the source to this file instead of printing it.")
    ] = None,
) -> None:
    """Write the source of a schema that saved batches keep to: a draft, with a comment where it is a guess.

    Exits with 0, and with 2 where a file could not be used.
    """
    from batchpact.contracts.infer_command import infer_files

    infer_files(files, name, output)


@app.command(context_settings={"allow_interspersed_args": False})
def trace(
    script: Annotated[str, typer.Argument(help="The script, which is run; what stands behind it are its arguments.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="The arguments of the script.")] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="A module, or module:function, that is watched instead of your own code; several times.",
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="The configuration of the run (YAML or JSON).")
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the pipeline.")] = "traced",
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the source to this file instead of printing it.")
    ] = None,
) -> None:
    """Run a script, and write what its functions read from and write to batches: stages and a pipeline, as a draft.

    Exits with 0, and with 2 where something could not be used, or no call was seen. An error of the script is shown as
    it is; Ctrl-C ends the script, and the draft is of what was seen until then.
    """
    from batchpact.contracts.trace_command import trace_script

    trace_script(script, arguments or (), watch or (), config=config, name=name, output=output)


def main() -> None:
    """Run the command line."""
    app()
