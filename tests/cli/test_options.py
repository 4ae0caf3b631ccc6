"""Options that several commands have."""

from convcnp.cli.options import columns_among
from convcnp.frames.columns import Columns


def test_columns_are_found_among_the_options_of_a_command():
    options = {"file": "t.csv", "time": "day", "value": ["a", "b"], "error": None, "lower": 0.0}
    assert columns_among(options) == Columns(("a", "b"), time="day")
