"""What names of columns say of them."""

import pandas as pd

from convcnp.frames.names import counts_rows, listed


def test_names_are_listed_and_rows_counted():
    assert listed(list("abc"), most=2) == "'a', 'b' and 1 more"
    assert counts_rows(pd.Series([3, 4, 5], name="Index"))
    assert not counts_rows(pd.Series([3, 4, 6], name="Index"))
