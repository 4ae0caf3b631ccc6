"""Tables of the comparison on real series: rows, sums, and what the result files must hold."""

import json
from pathlib import Path

import pytest

from convcnp.errors import ResultError
from convcnp.paper.comparison import METHODS
from convcnp.paper.real_series import FIRST_SERIES, SERIES, real_series
from convcnp.paper.real_series_tables import REAL_SERIES, Gain, Row
from convcnp.paper.removals import REMOVALS
from convcnp.paper.tables import build_table

ROOT = Path(__file__).parents[2]
LABELS = [method.label for method in METHODS.values()]


def write_series(folder, name, group="other", forecast=None, **methods):
    """Write a result file; a method has (log-likelihood, CRPS, coverage, seconds) per removal."""

    def seeds(likelihood, crps, coverage, seconds):
        # Means and medians over the seeds are the values given; the mean of the seconds is not.
        return [
            {
                "log_likelihood": likelihood + d,
                "crps": crps + d,
                "coverage90": coverage,
                "seconds": s,
            }
            for d, s in ((-0.5, seconds), (0.0, seconds), (0.5, 100 * seconds))
        ]

    content = {
        "num_points": 91,
        "group": group,
        "methods": {
            method: {"scores": {"random": seeds(*random), "blocks": seeds(*blocks)}}
            for method, (random, blocks) in methods.items()
        },
    }
    for method, scores in (forecast or {}).items():
        content["methods"][method]["scores"]["forecast"] = seeds(*scores)[1:2]
    (folder / f"{name}.json").write_text(json.dumps(content))


def cells(row, *methods):
    """Return the cells of methods in a row that has one for each."""
    return [row[3 + LABELS.index(METHODS[method].label)] for method in methods]


HARE = {
    "general": ((-4.5, 11.0, 0.9, 0.01), (-5.0, 13.0, 0.8, 0.01)),
    "gp": ((-4.6, 10.0, 0.9, 2.0), (-4.9, 12.0, 0.9, 6.0)),
    "celerite": ((-4.5, 5.5, 0.9, 1.0), (-4.9, 6.5, 0.9, 1.0)),
    "linear": ((-4.6, 15.0, 0.9, 0.001), (-9.0, 19.0, 0.4, 0.001)),
}


def test_rows_have_every_method_and_the_sums_count_losses_as_well(tmp_path):
    write_series(tmp_path, "hare", **HARE)
    write_series(tmp_path, "nile", gp=((-6.3, 70.0, 1.0, 3.0), (-6.4, 80.0, 0.9, 5.0)))
    table = REAL_SERIES["real-series"](tmp_path)
    assert table.header == ["Series", "Points", "Removed", *LABELS]
    names = ("general", "gp", "celerite", "linear", "components")
    found = [[*row[:3], *cells(row, *names)] for row in table.rows]
    dashes = ["—"] * 5
    assert found == [
        ["nile", "91", "random", "—", "-6.30", "—", "—", "—"],
        ["nile", "91", "blocks", "—", "-6.40", "—", "—", "—"],
        ["nile", "91", "middle", *dashes],
        ["hare", "91", "random", "-4.50", "-4.60", "-4.50", "-4.60", "—"],
        ["hare", "91", "blocks", "-5.00", "-4.90", "-4.90", "-9.00", "—"],
        ["hare", "91", "middle", *dashes],
        *(
            [label, "", "", *numbers]
            for label, numbers in {
                "Log-likelihood at least the GP's": ["1 of 2", "—", "2 of 2", "1 of 2", "—"],
                "CRPS at most the GP's": ["0 of 2", "—", "2 of 2", "0 of 2", "—"],
                "CRPS over the GP's, geometric mean": ["1.092", "—", "0.546", "1.541", "—"],
                "Coverage of 90 % intervals, mean": ["85%", "92%", "90%", "65%", "—"],
                "Seconds, mean": ["0.01", "4", "1", "0.001", "—"],
                "Times faster than the GP, median": ["400", "—", "4", "4,000", "—"],
            }.items()
        ),
    ]


def test_each_score_has_a_table(tmp_path):
    write_series(tmp_path, "hare", gp=((-4.6, 10.04, 0.91, 2.0), (-4.9, 12.0, 0.9, 6.0)))
    for name, cell in (("crps", "10"), ("coverage", "91%"), ("seconds", "2")):
        rows = REAL_SERIES[f"real-series-{name}"](tmp_path).rows
        assert cells(rows[0], "gp") == [cell]
        assert len(rows) == 3


def test_forecasts_have_a_table_of_their_own(tmp_path):
    forecast = {"general": (-5.0, 9.0, 1.0, 0.01), "gp": (-4.0, 10.0, 0.5, 2.0)}
    write_series(tmp_path, "hare", forecast=forecast, **HARE)
    table = REAL_SERIES["real-series-forecast"](tmp_path)
    assert [row[:3] for row in table.rows[:3]] == [
        ["hare", "91", "log-likelihood"],
        ["hare", "91", "CRPS"],
        ["Log-likelihood at least the GP's", "", ""],
    ]
    found = [cells(row, "general", "gp", "linear") for row in table.rows[:4]]
    assert found == [
        ["-5.00", "-4.00", "—"],
        ["9", "10", "—"],
        ["0 of 1", "—", "—"],
        ["1 of 1", "—", "—"],
    ]
    # And stand in no other.
    assert "forecast" not in str(REAL_SERIES["real-series-crps"](tmp_path).rows)


def test_the_summary_counts_by_removal_and_group(tmp_path):
    write_series(tmp_path, "hare", group="positive", **HARE)
    write_series(
        *(tmp_path, "presidents"),
        general=((-5.0, 20.0, 1.0, 0.01), (-5.0, 20.0, 1.0, 0.01)),
        gp=((-5.0, 10.0, 1.0, 1.0), (-5.0, 40.0, 1.0, 1.0)),
    )
    table = REAL_SERIES["real-series-summary"](tmp_path)
    assert all(len(row) == len(table.header) for row in table.rows)
    found = {tuple(row[:2]): row[2:] for row in table.rows}
    general = "General model"
    assert found["all gaps", general] == [
        *("4", "3 of 4", "1 of 4", "1.045", "2.000", "92%", "150")
    ]
    assert found["random", general] == ["2", "2 of 2", "0 of 2", "1.483", "2.000", "95%", "150"]
    assert found["positive series", "celerite2"][:5] == ["2", "2 of 2", "2 of 2", "0.546", "—"]
    assert found["other series", general][4] == "—"  # celerite2 was not run there
    assert found["further series", general][:4] == ["2", "2 of 2", "1 of 2", "1.000"]
    first = "first series, random and blocks"
    assert found[first, "Fitted GP"] == ["2", "—", "—", "—", "1.832", "90%", "—"]
    assert found["middle", general] == ["0", "—", "—", "—", "—", "—", "—"]


def test_models_stand_beside_themselves_told_the_errors(tmp_path):
    told = {
        "general-errors": ((-4.4, 12.0, 0.9, 0.02), (-5.1, 12.0, 0.8, 0.02)),
        "dictionary-errors": ((-4.0, 9.0, 0.9, 0.02), (-4.0, 9.0, 0.8, 0.02)),
        "dictionary": ((-5.0, 9.5, 0.9, 0.02), (-5.0, 9.5, 0.8, 0.02)),
    }
    write_series(tmp_path, "hare", **HARE, **told)
    write_series(tmp_path, "lynx", **HARE)
    table = REAL_SERIES["real-series-errors"](tmp_path)
    assert [row[:4] for row in table.rows] == [
        ["hare", "91", "random", "3"],
        ["hare", "91", "blocks", "3"],
        ["Mean", "", "", ""],
    ]
    # The made-up scores of all methods move together from one time to the next.
    assert table.rows[0][4:] == ["-4.50", "-4.40", "+0.10", "-5.00", "-4.00", "+1.00"]
    assert table.rows[2][4:7] == ["-4.75", "-4.75", "+0.00"]


def test_a_gain_has_the_error_of_its_pairs():
    def scores(*values):
        return [{"log_likelihood": value} for value in values]

    row = Row(
        *("hare", "other", 91, "random"),
        {"general": scores(1.0, 2.0, 9.0), "general-errors": scores(2.0, 2.0, 11.0)},
    )
    gain = Gain.of(row, "general-errors")
    assert gain == pytest.approx((1.0, 3**-0.5))
    assert Gain.mean([gain, Gain(0.0, 0.0)]) == pytest.approx((0.5, 3**-0.5 / 2))
    assert str(gain) == "+1.00 ± 0.58"


def test_a_table_without_results_says_how_to_make_them(tmp_path):
    for name in REAL_SERIES:
        with pytest.raises(ResultError, match="got none; run `convcnp compare`"):
            build_table(name, tmp_path, tmp_path)


@pytest.mark.parametrize("name", SERIES)
def test_every_series_has_results_of_the_methods_that_can_take_it_from_commits(name):
    result = json.loads((ROOT / f"results/real-series/{name}.json").read_text())
    series = real_series(name)
    assert result["name"] == f"real-series/{name}"
    assert (result["group"], result["num_points"]) == (series.group, series.num_points)
    cannot = set() if series.step else {"components"}
    assert set(METHODS) - cannot - {"gp"} <= set(result["methods"])  # the GP takes its time
    for key, method in result["methods"].items():
        told = [removal for origin in method["origins"] for removal in origin["removals"]]
        assert sorted(told) == sorted(method["scores"])
        assert all("dirty" not in origin["commit"] for origin in method["origins"])
        assert key == "gp" or list(method["scores"]) == list(REMOVALS)
        for removal, scores in method["scores"].items():
            assert tuple(score["seed"] for score in scores) == REMOVALS[removal].seeds


def test_the_fitted_gp_has_all_rows_of_the_first_series():
    for name in FIRST_SERIES:
        found = json.loads((ROOT / f"results/real-series/{name}.json").read_text())["methods"]
        assert {"random", "blocks"} <= set(found["gp"]["scores"])
