"""A table of text: the same cells in both forms."""

import csv
import io

from convcnp.paper.table import Table

TABLE = Table("Sizes", ["Name", "Size", "Weight"], [["a", "1,000", "—"], ["b", "2", "3 ± 1"]])


def test_markdown_aligns_names_to_the_left_and_numbers_to_the_right():
    assert TABLE.markdown().splitlines() == [
        "| Name | Size | Weight |",
        "| :-- | --: | --: |",
        "| a | 1,000 | — |",
        "| b | 2 | 3 ± 1 |",
    ]
    assert TABLE.markdown().endswith("|\n")


def test_csv_can_be_read_back_whatever_a_cell_holds():
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [TABLE.header, *TABLE.rows]
