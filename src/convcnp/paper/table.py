"""A table of text, and the forms it is printed in."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A title, a header, and rows of text.

    Example:
        >>> print(Table("Sizes", ["Name", "Size"], [["a", "1"]]).csv(), end="")
        Name,Size
        a,1
    """

    title: str
    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.header, [":--"] + ["--:"] * (len(self.header) - 1), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()
