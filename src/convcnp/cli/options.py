"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[Path, typer.Option(help="Folder of the result files.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue a run that was stopped: same result.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a setting, such as training.seed=1. Repeatable."),
]
Threads = Annotated[
    int, typer.Option(min=1, help="CPU threads; one is quickest for small networks.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
