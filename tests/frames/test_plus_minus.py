"""Cells that hold a value and its error."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.plus_minus import split_errors
from convcnp.frames.reading import parse_table


@pytest.mark.parametrize("sign", ["±", " ± ", "+/-", " +- "])
@pytest.mark.parametrize(("comma", "separator"), [(".", ","), (",", ";")])
def test_a_value_and_its_error_get_columns_of_their_own(sign, comma, separator):
    cells = [f"3.2{sign}0.1", f"-2.5{sign}0.25", "", f"4{sign}1"]
    rows = [
        f"{day}{separator}{cell.replace('.', comma)}{separator}7" for day, cell in enumerate(cells)
    ]
    text = "\n".join([separator.join(("day", "conc", "depth")), *rows])
    with pytest.warns(ConvCNPWarning, match="errors, .* the errors are called 'conc_err'"):
        frame = parse_table(text.encode(), "t.csv").frame
    assert list(frame) == ["day", "conc", "conc_err", "depth"]
    np.testing.assert_array_equal(frame["conc"], [3.2, -2.5, np.nan, 4])
    np.testing.assert_array_equal(frame["conc_err"], [0.1, 0.25, np.nan, 1])


def test_other_cells_stay_as_they_are():
    for cells in (["3 to 4", "5 to 6"], ["A ± B"] * 2, ["3 ± 1", "north", "south"]):
        frame = pd.DataFrame({"v": cells})
        pd.testing.assert_frame_equal(split_errors(frame), frame)
    named = pd.DataFrame({"v": ["3 ± 1"], "v_err": [2.0]})
    pd.testing.assert_frame_equal(split_errors(named), named)
