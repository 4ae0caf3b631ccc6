"""Cells that are written once for the rows below them."""

import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.reading import parse_table
from convcnp.frames.written_once import filled_down


@pytest.mark.parametrize(
    ("text", "name", "filled"),
    [
        (
            "site,date,v\nA,01.02.2020,5\n,13.02.2020,6\nB,01.02.2020,7\n,13.02.2020,8\n",
            "site",
            "AABB",
        ),
        ("date,hour,v\n1.1.2020,8:00,5\n,10:00,6\n,11:00,6\n2.1.2020,8:00,7\n", "date", None),
        ("Year,Month,v\n2019,11,5\n,12,6\n2020,1,7\n,2,8\n", "Year", [2019, 2019, 2020, 2020]),
        ("plot,day,v\n7,1,5\n,2,6\n9,1,7\n,2,8\n", "plot", [7, 7, 9, 9]),
    ],
)
def test_what_stands_above_its_rows_is_filled_down_and_said(text, name, filled):
    filled = filled or ["1.1.2020"] * 3 + ["2.1.2020"]
    with pytest.warns(ConvCNPWarning, match=f"'{name}' stands in few rows"):
        frame = parse_table(text.encode(), "t.csv").frame
    assert frame[name].tolist() == list(filled)


def test_what_is_seldom_measured_or_remarked_stays_as_it_is():
    hours = [0, 12, 0, 12]
    for cells in ([5.5, None, 6.5, None], [None, "x", None, "y"], ["a", "b", "a", None]):
        frame = pd.DataFrame({"rain": cells, "hour": hours})
        pd.testing.assert_frame_equal(filled_down(frame), frame)
    growing = pd.DataFrame({"note": ["start", None, "end", None], "hour": [0, 1, 2, 3]})
    pd.testing.assert_frame_equal(filled_down(growing), growing)
