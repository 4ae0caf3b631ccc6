"""Which standard errors a model is told of: those of a table, if it has a use for them."""

from __future__ import annotations

import warnings

import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.columns import Columns
from convcnp.frames.error_columns import with_errors
from convcnp.frames.names import listed
from convcnp.predict.trained import Trained


def told_errors(
    frame: pd.DataFrame,
    columns: Columns,
    named: Columns,
    trained: Trained,
) -> Columns:
    """Add the columns of standard errors, and warn where a model and a table do not agree on them.

    Args:
        columns: What was chosen without errors.
        named: What a user named.
    """
    learned, name = trained.columns, trained.name
    if trained.model.knows_errors:
        found = with_errors(frame, columns, named, learned)
        if learned.errors and not (found.errors or named.errors):
            expected = listed(list(dict.fromkeys(filter(None, learned.errors))))
            _warn(
                f"{name!r} was trained with standard errors in {expected}, but the table has none; "
                "its values are taken for exact."
            )
        return found
    if any(named.errors):
        _warn(
            f"{name!r} was not trained with errors of measurement; {listed(named.errors)} is "
            "ignored."
        )
    return columns


def _warn(text: str) -> None:
    warnings.warn(text, ConvCNPWarning, stacklevel=5)
