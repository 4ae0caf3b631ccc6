"""Everything we raise on purpose: each message says what was expected, what came, what to do."""

from __future__ import annotations

import difflib
import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


class ConvCNPError(Exception):
    """Base of every error a user can cause."""


class ShapeError(ConvCNPError, ValueError):
    """Raise when tensors do not fit together, or do not fit the model."""


class NonFiniteError(ConvCNPError, ValueError):
    """Raise when NaN or infinity stands where a value was said to be observed."""


class SettingError(ConvCNPError, ValueError):
    """Raise when a setting is outside its range."""


class GridTooLargeError(ConvCNPError, MemoryError):
    """Raise when the grid that covers a task would not fit in memory."""


class CheckpointError(ConvCNPError, ValueError):
    """Raise when stored weights or a stored run cannot be read or do not fit."""


class DivergedError(ConvCNPError, ArithmeticError):
    """Raise when training produces a loss that is not finite."""


class ExperimentError(ConvCNPError, ValueError):
    """Raise when an experiment file has a wrong key, type or value."""


class ModelNotFoundError(ConvCNPError, LookupError):
    """Raise when there is no trained model of that name."""


class DataError(ConvCNPError, OSError):
    """Raise when a file of a data set is missing, cut short, or not what it should be."""


class ResultError(ConvCNPError, ValueError):
    """Raise when result files are missing or cannot be read."""


class TableError(ConvCNPError, ValueError):
    """Raise when a user's table cannot be read, or does not hold what was asked for."""


class OutputError(ConvCNPError, OSError):
    """Raise when a result cannot be written where it should be."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End a sentence about a name that is not known with the nearest that is."""
    near = difflib.get_close_matches(name, list(known), 1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else "; check the name."


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Say which directory cannot be written, where something within fails to be."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"Expected a directory that can be written, but {directory} cannot "
            f"({error.strerror or error}); choose another."
        ) from error


class ConvCNPWarning(UserWarning):
    """Warn of data that a prediction should be trusted less for."""


@contextmanager
def warnings_said(say: Callable[[str], None]) -> Iterator[None]:
    """Pass our warnings on as sentences, each once; others stay what they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvCNPWarning)
        try:
            yield
        finally:
            ours = [w for w in caught if issubclass(w.category, ConvCNPWarning)]
            for text in dict.fromkeys(str(w.message) for w in ours):
                say(text)
    for other in caught:
        if other not in ours:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)


class MissingExtraError(ConvCNPError, ImportError):
    """Raise when an optional dependency is needed and not installed."""


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a module that comes with one of the package's extras."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"This needs {error.name}, which is not installed; pip install 'convcnp[{extra}]'."
        ) from error


def check_positive(name: str, value: float) -> None:
    """Refuse a setting that is not a positive, finite number."""
    if not 0 < value < float("inf"):
        raise SettingError(f"{name} must be a positive number, got {value}; choose one above zero.")


def check_not_negative(name: str, value: float) -> None:
    """Refuse a setting that is not zero or a positive, finite number."""
    if not 0 <= value < float("inf"):
        raise SettingError(f"{name} must be zero or positive, got {value}; leave it out if unsure.")
