"""The example scripts run, and print what they promise."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fill_gaps", "51 of 458 weeks have no value"),
        ("several_series", "level_q50"),
        ("samples_and_scores", "inside the 90 % band"),
    ],
)
def test_an_example_runs(name, text, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert text in capsys.readouterr().out


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "fill_gaps",
        "several_series",
        "samples_and_scores",
    }
