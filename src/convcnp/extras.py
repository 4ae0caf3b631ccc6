"""Modules that are imported when they are needed: optional ones, and those behind a front door."""

from __future__ import annotations

import importlib
import sys

from convcnp.errors import TYPE_CHECKING, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import ModuleType
    from typing import Any


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a module that comes with one of the package's extras."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(missing_extra(str(error.name), extra)) from error


def missing_extra(module: str, extra: str) -> str:
    """Say that a module is not installed, and how to get it: with the package, or a checkout.

    Example:
        >>> missing_extra("openpyxl", "excel").startswith("This needs openpyxl, which is not in")
        True
    """
    from pathlib import Path

    root = Path(__file__).parents[2]
    is_checkout = (root / "pyproject.toml").is_file() and (root / "src").is_dir()
    what = f"-e '{_shortest(root)}[{extra}]'" if is_checkout else f"'convcnp[{extra}]'"
    return f"This needs {module}, which is not installed; pip install {what}."


def _shortest(path: Path) -> str:
    return "." if path == path.cwd() else str(path)


def imported_when_used(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that offers names of its modules.

    A name is imported when it is first asked for (PEP 562): who takes one does not wait for the
    rest. Type checkers see the same names by imports below `if TYPE_CHECKING`.

    Args:
        package: The package's `__name__`.
        homes: The module of each name, within the package.
    """

    def get(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # found without us the next time
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
