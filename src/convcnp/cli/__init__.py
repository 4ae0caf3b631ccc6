"""The command line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from convcnp import __version__
from convcnp.cli import complete, experiments, own, paper, predict
from convcnp.cli.console import complain
from convcnp.errors import ConvCNPError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> bool:
    if wanted:
        print(f"convcnp {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def convcnp(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Predictions with honest uncertainty from irregular series and scattered points."""


for _command in (
    *(experiments.run, own.train, predict.predict, own.check, experiments.evaluate),
    *(experiments.models, paper.table, paper.compare, paper.figure, complete.complete),
):
    app.command()(_command)
app.command(hidden=True)(experiments.publish)


def main() -> None:
    """Run the command line; an error of ours, or of a file, is a sentence and exit code 2."""
    try:
        app()
    except ConvCNPError as error:
        complain(str(error))
    except OSError as error:
        complain(
            f"Expected files that can be read and written, but {error.filename or 'one'} cannot be "
            f"({error.strerror or error}); check the path, its permissions and the space left."
        )
    else:
        return
    sys.exit(2)
