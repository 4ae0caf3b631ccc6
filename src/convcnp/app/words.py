"""What a page shows of a question in other words: the command that answers the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any


def command(name: str, file: str, options: Mapping[str, Any]) -> str:
    """Return a command line with options by their names; a list is an option several times.

    Example:
        >>> command("predict", "my level.csv", {"time": "day", "value": ["a", "b"]})
        "convcnp predict 'my level.csv' --time day --value a --value b"
    """
    words = ["convcnp", name, file]
    for option, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{option}", str(each)]
    return shlex.join(words)
