"""The command line."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from convcnp import __version__
from convcnp.cli import complete, experiments, fill, own, page, paper, predict
from convcnp.cli.console import complain, say
from convcnp.errors import ConvCNPError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


_OUT_OF_MEMORY = (
    "Expected this to fit into memory, but there is not enough{}; ask for fewer rows, times, "
    "samples or pixels at once, or use a machine with more."
)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Tell torch's complaints that there is no room from others."""
    text = str(error)
    return any(part in text for part in ("can't allocate memory", "out of memory", "overflow"))


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


def stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Say that a command was stopped by Ctrl-C, of which typer says nothing."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except KeyboardInterrupt:
            say("Stopped.")
            raise typer.Exit(130) from None

    return run


for _command in (
    *(predict.predict, fill.fill, complete.complete, page.app),  # what most people come for
    *(own.train, own.check, experiments.models),
    *(experiments.run, experiments.evaluate, paper.table, paper.figure),
    *(paper.compare, paper.compare_plane, paper.compare_photographs),
):
    app.command()(stoppable(_command))
app.command(hidden=True)(stoppable(experiments.publish))


def main() -> None:
    """Run the command line; an error a user can cause is a sentence and exit code 2."""
    try:
        app()
    except ConvCNPError as error:
        complain(str(error))
    except MemoryError as error:
        complain(_OUT_OF_MEMORY.format(f" ({error})" if str(error) else ""))
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        complain(_OUT_OF_MEMORY.format(""))
    except OSError as error:
        complain(
            f"Expected files that can be read and written, but {error.filename or 'one'} cannot be "
            f"({error.strerror or error}); check the path, its permissions and the space left."
        )
    else:
        return
    sys.exit(2)
