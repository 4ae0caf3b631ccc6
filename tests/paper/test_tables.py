"""Tables: built from result files, beside the paper's numbers, and never stale."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tools.update_tables import image_budgets_table, updated

from convcnp.errors import ResultError
from convcnp.paper.tables import LAYOUTS, build_table, layouts
from convcnp.training.experiment import Experiment

ROOT = Path(__file__).parents[2]
# Results that no experiment file asks for.
COMPARED = ("real-series", "real-series-errors", "plane", "photographs")
PAPER = """
title = "A table"
columns = { eq = "EQ", eq-printed = "EQ as printed", saw = "Sawtooth" }
rows = { cnp = "CNP", convcnp = "ConvCNP" }
[parameters]
cnp = 66818
convcnp = 6537
[values]
eq = { cnp = [-0.86, 3e-3], convcnp = [0.70, 5e-3] }
saw = { convcnp = [1.43, 4e-3] }
"""


@pytest.fixture
def folders(tmp_path):
    experiments, results = tmp_path / "experiments", tmp_path / "results"
    for folder in (experiments / "demo", results / "demo"):
        folder.mkdir(parents=True)
    (experiments / "demo/paper.toml").write_text(PAPER)
    return experiments, results


def write_cell(results, name, value, data, exact=None, start=None):
    cell = {
        "log_likelihood": value,
        "standard_error": 0.0234,
        "parameters": 6516,
        "experiment": {"data": {"name": data}},
    }
    if exact is not None:
        cell["exact_gp"] = {"log_likelihood": exact, "standard_error": 0.1}
    if start is not None:
        cell["start"] = {"name": start, "steps": 10}
    (results / "demo" / f"{name}.json").write_text(json.dumps(cell))


def test_ours_stands_above_the_papers_and_the_ceiling_below(folders):
    experiments, results = folders
    write_cell(results, "eq-convcnp", 0.756, "eq", exact=3.8)
    table = build_table("demo", experiments, results)
    assert table.header == ["Model", "Parameters", "EQ", "Sawtooth"]
    assert table.rows == [
        ["CNP", "", "—", "—"],
        ["CNP, paper", "66,818", "-0.86", ""],
        ["ConvCNP", "6,516", "0.76 ± 0.02", "—"],
        ["ConvCNP, paper", "6,537", "0.70", "1.43"],
        ["Exact GP", "", "3.80 ± 0.10", "—"],
    ]


def test_a_training_that_went_on_stands_for_the_one_that_it_began_with(folders):
    experiments, results = folders
    write_cell(results, "eq-convcnp", 0.7, "eq")
    write_cell(results, "eq-convcnp-longer", 0.9, "eq", start="eq-convcnp")
    table = build_table("demo", experiments, results)
    assert [row[2] for row in table.rows if row[0] == "ConvCNP"] == ["0.90 ± 0.02"]
    write_cell(results, "eq-convcnp-longest", 1.1, "eq", start="eq-convcnp-longer")
    table = build_table("demo", experiments, results)
    assert [row[2] for row in table.rows if row[0] == "ConvCNP"] == ["1.10 ± 0.02"]


def test_a_training_that_went_on_to_other_data_does_not(folders):
    experiments, results = folders
    write_cell(results, "eq-convcnp", 0.7, "eq")
    write_cell(results, "saw-convcnp", 1.2, "sawtooth", start="eq-convcnp")
    table = build_table("demo", experiments, results)
    ours = [row[2:] for row in table.rows if row[0] == "ConvCNP"]
    assert ours == [["0.70 ± 0.02", "1.20 ± 0.02"]]


def test_a_column_beyond_the_papers_appears_once_it_has_a_number(folders):
    experiments, results = folders
    write_cell(results, "eq-printed-convcnp", 1.0, "eq-printed", exact=2.0)
    table = build_table("demo", experiments, results)
    assert table.header[3] == "EQ as printed"
    assert [row[2] for row in table.rows if row[0] == "ConvCNP"] == ["—"]


def test_markdown_and_csv_hold_the_same_cells(folders):
    experiments, results = folders
    write_cell(results, "eq-convcnp", 0.756, "eq")
    table = build_table("demo", experiments, results)
    lines = table.markdown().splitlines()
    from_markdown = [line.strip("| ").split(" | ") for line in (lines[0], lines[4])]
    from_csv = list(csv.reader(io.StringIO(table.csv())))
    assert from_markdown == [from_csv[0], from_csv[3]]


LISTING = """
title = "A listing"
columns = [
  { label = "Score", value = "{at}log_likelihood", error = "{at}standard_error" },
  { label = "Interval", value = "{at}real.interval", digits = 3 },
]
[[rows]]
label = "Ours"
cell = "eq-convcnp"
at = ""
paper = ["0.70", ""]
[[rows]]
label = "Others"
cell = "eq-convcnp"
at = "others."
[[rows]]
label = "Not trained"
cell = "eq-cnp"
at = ""
"""


def test_a_listing_takes_its_numbers_from_where_its_columns_say(folders):
    experiments, results = folders
    (experiments / "demo/paper.toml").write_text(LISTING)
    cell = {
        "log_likelihood": 0.756,
        "standard_error": 0.0234,
        "real": {"interval": -4.2},
        "others": {"real": {"interval": -5}},
    }
    (results / "demo/eq-convcnp.json").write_text(json.dumps(cell))
    table = build_table("demo", experiments, results)
    assert table.header == ["Model", "Score", "Interval"]
    assert table.rows == [
        ["Ours", "0.76 ± 0.02", "-4.200"],
        ["Ours, paper", "0.70", ""],
        ["Others", "—", "-5.000"],
        ["Not trained", "—", "—"],
    ]


@pytest.mark.parametrize("name", ["table2", "figure3"])
def test_the_tables_of_series_are_laid_out(name):
    table = build_table(name, ROOT / "experiments", ROOT / "results")
    assert all(len(row) == len(table.header) for row in table.rows)
    assert any("ConvCNP" in row[0] for row in table.rows)


def test_an_unknown_table_and_a_broken_result_are_named(folders):
    experiments, results = folders
    with pytest.raises(ResultError, match=r"one of \['demo', .*'real-series', .*\], got 'table9'"):
        build_table("table9", experiments, results)
    (results / "demo/eq-cnp.json").write_text("{")
    with pytest.raises(ResultError, match=r"eq-cnp\.json must be a result file in JSON"):
        build_table("demo", experiments, results)


def test_the_tables_of_readme_and_docs_are_not_stale():
    command = [sys.executable, str(ROOT / "tools/update_tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_budgets_of_images_are_those_of_the_numbers_in_the_table():
    rows = image_budgets_table().splitlines()[2:]
    for name in ("CelebA64, ConvCNPXL", "SVHN, ConvCNPXL", "CelebA64, ConvCNP", "ZSMM, ConvCNP"):
        (row,) = (row for row in rows if row.startswith(f"| {name} trained longer |"))
        ending = name.lower().replace(", ", "-")
        found = [json.loads(p.read_text()) for p in ROOT.glob(f"results/table3/{ending}-*.json")]
        steps = [cell["steps"] + cell.get("start", {}).get("steps", 0) for cell in found]
        assert f"| {max(steps):,} |" in row


def test_a_table_with_a_hyphen_in_its_name_is_written_between_its_marks():
    text = updated("before\n<!-- real-series -->\nold\n<!-- /real-series -->\nafter\n")
    assert text.startswith("before\n<!-- real-series -->\n| Series | Points | Removed |")
    assert text.endswith("|\n<!-- /real-series -->\nafter\n")


def test_every_result_file_belongs_to_an_experiment_and_was_not_a_smoke_run():
    paths = [p for p in (ROOT / "results").glob("*/*.json") if p.parent.name not in COMPARED]
    assert len(paths) > 50
    for path in paths:
        result = json.loads(path.read_text())
        experiment = ROOT / "experiments" / path.parent.name / f"{path.stem}.toml"
        assert experiment.exists(), path
        assert result["name"] == f"{path.parent.name}/{path.stem}"
        wanted = Experiment.load(experiment).training.steps
        assert result["experiment"]["training"]["steps"] == wanted, path
        assert result["steps"] >= 100 or not result["parameters"]
        assert result["num_tasks"] >= 1000


def test_a_table_of_our_own_is_laid_out_by_a_file_of_its_own():
    found = layouts(ROOT / "experiments")
    assert found["table1"].name == "paper.toml"
    assert found["ablation"].name == "layout.toml"
    assert "the paper has no such numbers" in found["ablation"].read_text()
    for name, path in found.items():
        assert build_table(name, ROOT / "experiments", ROOT / "results").title
        assert sum((path.parent / layout).exists() for layout in LAYOUTS) == 1
