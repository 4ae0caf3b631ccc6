"""What the command line says: sentences to standard error, tables to standard output."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from convcnp.errors import ConvCNPWarning, shortened

_LONGEST = 4000  # characters of a sentence
_PARAMETER = re.compile(
    r"""(?<![^\s(])([a-z]+(?:_[a-z]+)*)=(?:True\b|(?=[\s.,;:)]|$)|(?=(['"]))|(?<=(?:lower|upper)=)(?=(-?\d)))"""
)


def in_options(text: str) -> str:
    """Turn the parameters that a sentence names into options: `time=` is --time here."""
    return _PARAMETER.sub(
        lambda m: f"--{m[1].replace('_', '-')}{' ' if m[2] or m[3] else ''}", text
    )


def say(text: str) -> None:
    """Say a sentence on standard error; brackets in it mean nothing."""
    _print(text)


def warn(text: str) -> None:
    """Say a warning."""
    _print(text, "[bold yellow]Warning:[/] ")


def complain(text: str) -> None:
    """Say what went wrong."""
    _print(text, "[bold red]Error:[/] ")


def _print(text: str, markup: str = "") -> None:
    from rich.console import Console
    from rich.markup import escape

    # Some errors quote what was read, and that may be anything.
    line = f"{markup}{escape(shortened(in_options(text), _LONGEST))}"
    try:
        Console(stderr=True, emoji=False).print(line, highlight=False, soft_wrap=True)
    except (OSError, ValueError, AttributeError):  # full, closed, or not there: nobody listens
        silence(sys.stderr)


def silence(stream: Any) -> None:  # noqa: ANN401 - a stream, or what tests put there
    """Drop what is left in a buffer; else it would fail again, loudly, when the program ends."""
    with (
        contextlib.suppress(OSError, ValueError, AttributeError),
        Path(os.devnull).open("w") as nowhere,
    ):
        os.dup2(nowhere.fileno(), stream.fileno())


def show_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    caption: str | None = None,
    whole: Sequence[str] = (),
) -> None:
    """Print a table to standard output.

    Args:
        whole: Headings of columns that are never wrapped.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, caption=caption)
    for heading in header:
        table.add_column(escape(heading), no_wrap=heading in whole)
    for row in rows:
        table.add_row(*map(escape, row))
    Console(emoji=False).print(table)


@contextmanager
def warnings_said(say: Callable[[str], None] = warn) -> Iterator[None]:
    """Pass our warnings on as sentences when they come, each once; others stay what they are."""
    said: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, ConvCNPWarning):
            show_others(message, category, filename, lineno, file, line)
        elif (text := str(message)) not in said:
            said.add(text)
            say(text)

    with warnings.catch_warnings():
        show_others = warnings.showwarning
        warnings.simplefilter("always", ConvCNPWarning)
        warnings.showwarning = show
        yield
