"""Where figures find trained models and results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from convcnp.errors import ResultError
from convcnp.predict.predictor import Predictor
from convcnp.predict.zoo import is_shipped, load
from convcnp.training.checkpoint import BEST


@dataclass(frozen=True)
class Shelf:
    """Trained models and results.

    Args:
        results: Folder with the result files.
        runs: Folder with runs, for models that do not ship.
        method: Name of the method that predicts real series, one of those `compare` knows.
    """

    results: Path
    runs: Path
    method: str = "general"

    def has(self, table: str, cell: str) -> bool:
        """Tell whether a cell of a table ships, or was trained here."""
        return is_shipped(cell) or (self.runs / table / cell / BEST).exists()

    def load(self, table: str, cell: str) -> Predictor:
        """Return the trained model of a cell."""
        return load(cell if is_shipped(cell) else self.runs / table / cell)

    def known(self, table: str, rows: Iterable[str], *needed: str) -> list[str]:
        """Return the rows whose cells, named by patterns such as `eq-{row}`, are all trained."""
        rows = list(rows)
        cells = {row: [pattern.format(row=row) for pattern in needed] for row in rows}
        found = [row for row in rows if all(self.has(table, cell) for cell in cells[row])]
        if not found:
            raise ResultError(
                f"Expected trained models such as {cells[rows[0]][0]} among those that ship or in "
                f"{self.runs / table}, but there are none; train them first."
            )
        return found
