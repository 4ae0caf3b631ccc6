"""Everything we raise on purpose: each message says what was expected, what came, what to do."""

from __future__ import annotations

# As little as possible before the command line takes hold of Ctrl-C: not even typing, which says
# the same.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ConvCNPError(Exception):
    """Base of every error a user can cause.

    Example:
        >>> from convcnp import load
        >>> try:
        ...     load("generel")
        ... except ConvCNPError as error:
        ...     print("'general'" in str(error))  # what was meant
        True
    """


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


class ProcessError(ConvCNPError, ConnectionError):
    """Raise when one of several processes that work together fails or cannot be reached."""


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
    names = {other.lower(): other for other in known}  # of letters, small and large are near
    import difflib

    near = [names[key] for key in difflib.get_close_matches(name.lower(), names, 1, cutoff=0.4)]
    return f"; did you mean {near[0]!r}?" if near else "; check the name."


def shortened(text: str, most: int = 100) -> str:
    """Return the beginning and the end of a text that is too long for a sentence.

    Example:
        >>> shortened(100 * "a", 12)
        'aaaaaa ... aaaaaa'
    """
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"


class ConvCNPWarning(UserWarning):
    """Warn of data that a prediction should be trusted less for."""


class MissingExtraError(ConvCNPError, ImportError):
    """Raise when an optional dependency is needed and not installed."""


def check_positive(name: str, value: float) -> None:
    """Refuse a setting that is not a positive, finite number."""
    if not 0 < value < float("inf"):
        raise SettingError(f"{name} must be a positive number, got {value}; choose one above zero.")


def check_not_negative(name: str, value: float) -> None:
    """Refuse a setting that is not zero or a positive, finite number."""
    if not 0 <= value < float("inf"):
        raise SettingError(f"{name} must be zero or positive, got {value}; leave it out if unsure.")
