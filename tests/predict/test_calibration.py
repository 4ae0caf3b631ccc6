"""How far to trust a model: scores of values that were hidden."""

import json
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import convcnp
from convcnp import Predictor
from convcnp.cli import app
from convcnp.core.log_mixture import LogMixturePredictive
from convcnp.errors import ConvCNPWarning, ShapeError, TableError
from convcnp.frames.columns import Columns
from convcnp.frames.reading import TableFile, read_table
from convcnp.predict import calibration
from convcnp.predict.calibration import Calibration, calibrations, held_out_images, held_out_source
from helpers import (
    TINY_IMAGES,
    long_frame,
    picture,
    points_frame,
    saved,
    series_frame,
    write_pictures,
    write_untrained,
)


def test_coverage_is_the_share_of_values_inside_the_central_interval():
    below = np.array([0.01, 0.2, 0.4, 0.6, 0.9])
    found = Calibration(below, *np.zeros((3, 5)))
    assert [found.coverage(level) for level in (0.5, 0.8, 0.9, 0.95)] == [0.4, 0.8, 0.8, 0.8]
    assert found.summary["coverage80"] == 0.8
    assert found.summary["values"] == 5
    assert found.verdict.startswith("too narrow: 90 % intervals hold 80%")
    even = (np.arange(100) + 0.5) / 100
    assert Calibration(even, even, even, even).verdict.startswith("about right")
    assert Calibration(0 * even + 0.5, even, even, even).verdict.startswith("wider than needed")


def test_skill_is_told_beside_what_needs_no_model():
    error = np.array([1.0, 1.0, 1.0, 5.0])

    def skill(**others):
        named = {"a line": others["line"]} | (
            {"the season repeated": others["season"]} if "season" in others else {}
        )
        others = {name: np.array(errors) for name, errors in named.items()}
        return Calibration(*[error] * 4, others=others).skill

    # Where another says nothing, nothing is compared.
    assert "off by 1 on average, a line by 0.5: it is worse than a line, so better not" in skill(
        line=[0.5, 0.5, 0.5, np.nan]
    )
    assert skill(line=[2.0, 2, 2, 2.1]).endswith("about as good as a line")
    assert skill(line=[9.0] * 4, season=[4.0] * 4).endswith("better than the season repeated")
    assert Calibration(*[error] * 4).skill == "its median is off by 2 on average"
    scores = Calibration(*[error] * 4, others={"a line": error + 1}).summary
    assert (scores["error"], scores["error of a line"]) == (2.0, 3.0)


def test_only_held_out_series_of_the_training_table_are_used(own_series):
    predictor = convcnp.load(own_series / "model")
    table = read_table(own_series / "table.csv")
    trained = predictor.experiment.source()
    own = held_out_source(predictor, table, Columns())
    assert set(own.own.x[:, 0]) == set(trained.held_out("test").own.x[:, 0])
    other = held_out_source(predictor, TableFile(table.frame, "another"), Columns())
    assert len(other.own.x) == len(table.frame)
    for names in ({"value": ["v"]}, {"time": "t"}, {"group": "id"}):
        assert held_out_source(predictor, table, Columns.named(**names)).part == "test"
    assert held_out_source(predictor, table, Columns.named(group="")).part == "all"


def test_a_training_table_that_has_changed_is_warned_of(own_series, tmp_path):
    for name in ("table.csv", "model"):
        copy = shutil.copytree if (own_series / name).is_dir() else shutil.copy
        copy(own_series / name, tmp_path / name)
    table, described = tmp_path / "table.csv", tmp_path / "model/result.json"
    described.write_text(described.read_text().replace(str(own_series), str(tmp_path)))
    arguments = ["check", str(tmp_path / "model"), "--data", str(table), "--tasks", "5"]
    assert "never saw" in (told := CliRunner().invoke(app, arguments)).output
    assert "changed since training" not in told.output
    table.write_text(table.read_text() + "new,1.0,10.0\nnew,2.0,10.0\nnew,3.0,10.0\n")
    assert "has changed since training" in CliRunner().invoke(app, arguments).output


def test_scores_are_in_the_users_units_and_those_of_the_predictions(own_series):
    predictor = convcnp.load(own_series / "model")
    source = held_out_source(predictor, TableFile(series_frame(seed=5), "another"), Columns())
    found = calibrations(predictor, source, tasks=30)["v"]
    assert len(found.below) > 200
    # A Gaussian with its own mean and spread, three over the root of two, scores -2.2.
    assert -4 < found.summary["log_likelihood"] < -1
    assert 0.3 < found.summary["crps"] < 3
    again = calibrations(predictor, source, tasks=30)["v"]
    assert np.array_equal(found.below, again.below)
    truth = source.draw_as_is(25, calibration.seeded(calibration.TEST_SEEDS[0], 0))
    first = truth[truth.context_mask.flatten(1).any(1)][0]
    seen, asked = first.context_mask[0, :, 0], first.target_mask[0, :, 0]
    scored = predictor.score(
        (first.x_context[0, seen, 0].numpy(), first.y_context[0, seen, 0].numpy()),
        (first.x_target[0, asked, 0].numpy(), first.y_target[0, asked, 0].numpy()),
    )["value0"]
    count = scored["values"]
    assert found.log_prob[:count].mean() == pytest.approx(scored["log_likelihood"], abs=1e-3)
    assert found.crps[:count].mean() == pytest.approx(scored["crps"], abs=1e-3)


def test_a_model_of_one_channel_takes_columns_one_by_one(own_series):
    predictor = convcnp.load(own_series / "model")
    frame = series_frame(seed=5).assign(w=lambda f: f["v"] + 1)
    table = TableFile(frame, "another")
    source = held_out_source(predictor, table, Columns.named(value=["v", "w"]))
    assert set(calibrations(predictor, source, tasks=4)) == {"v", "w"}
    with pytest.raises(ShapeError, match="takes 1 input"):
        inputs = Columns.named(inputs=("east", "north"))
        held_out_source(predictor, TableFile(points_frame(), "another"), inputs)


def test_only_held_out_images_of_the_training_folder_are_used(own_images, tmp_path):
    predictor = convcnp.load(own_images / "model")
    own = held_out_images(predictor, own_images / "photos")
    trained = predictor.experiment.source()
    assert own.own.tolist() == trained.held_out("test").own.tolist()
    other = held_out_images(predictor, write_pictures(tmp_path / "other", count=3))
    assert len(other.own) == 3
    moved = shutil.copytree(own_images / "photos", tmp_path / "moved")
    assert len(held_out_images(predictor, moved).own) == 1


def test_a_folder_that_has_changed_since_training_gets_a_warning(own_images, tmp_path):
    folder = write_pictures(tmp_path / "photos")
    fitted = Predictor.fit(folder, minutes=0.1, settings=TINY_IMAGES)
    saved(folder / "new.png", picture(seed=99))
    with pytest.warns(ConvCNPWarning, match="has changed since training"):
        assert len(held_out_images(fitted, folder).own) == 9


def test_hidden_pixels_alone_are_scored_channel_by_channel(own_images):
    predictor = convcnp.load(own_images / "model")
    source = held_out_images(predictor, own_images / "photos")
    found = calibrations(predictor, source, tasks=5)
    assert list(found) == ["red", "green", "blue"]
    task = source.draw(5, calibration.seeded(calibration.TEST_SEEDS[0], 0))
    hidden = task.target_mask[..., 0]
    assert len(found["red"].below) == hidden.sum()
    with torch.no_grad():
        expected = predictor.model(task).log_prob(task.y_target)[..., 1][hidden]
    assert found["green"].log_prob == pytest.approx(expected.numpy(), abs=1e-5)


def test_shipped_models_of_images_are_checked_in_their_channels(digits, tmp_path):
    write_untrained(tmp_path, "mnist", {"name": "grid-convcnp"})
    source = held_out_images(convcnp.load(tmp_path), write_pictures(tmp_path / "photos"))
    assert (source.values, len(source.own)) == (("grey",), 8)


@pytest.mark.parametrize(
    ("kind", "data", "channels"),
    [("own_series", "table.csv", 1), ("own_points", "table.csv", 1), ("own_images", "photos", 3)],
)
def test_the_command_prints_scores_and_draws_them(kind, data, channels, request, tmp_path):
    folder, plot = request.getfixturevalue(kind), tmp_path / "calibration.png"
    arguments = ["check", str(folder / "model"), "--data", str(folder / data)]
    options = ["--tasks", "6", "--plot", str(plot)]
    told = CliRunner().invoke(app, [*arguments, *options])
    assert told.exit_code == 0, told.output
    assert "90 % intervals hold" in " ".join(told.output.split())
    heading, *rows = [line for line in told.stdout.splitlines() if line[:1] in "│┃"]
    assert {line.count("│") for line in rows} == {heading.count("┃")}
    assert all(cell.strip() for line in rows for cell in line.strip("│").split("│"))
    assert plot.read_bytes().startswith(b"\x89PNG")
    as_json = CliRunner().invoke(app, [*arguments, "--tasks", "6", "--json"]).stdout
    scores, *others = json.loads(as_json).values()
    assert len(others) == channels - 1
    assert {"log_likelihood", "crps", "coverage50", "coverage95", "values"} <= set(scores)


def test_bounds_hold_all_values_and_are_not_for_pixels(own_images, tmp_path):
    table = tmp_path / "levels.csv"
    rows = [f"{day},{2 + np.sin(day / 3):.4f}" for day in range(60)]
    table.write_text("\n".join(["day,level", *rows]))
    check = ["check", "general", "--data", str(table), "--tasks", "4"]
    free, bounded = (
        json.loads(CliRunner().invoke(app, [*check, *bounds, "--json"]).stdout)["level"]
        for bounds in ([], ["--positive", "--upper", "3.1"])
    )
    assert bounded["values"] == free["values"]
    assert bounded["log_likelihood"] != free["log_likelihood"]
    outside = CliRunner().invoke(app, [*check, "--upper", "2"])
    assert "Expected values from -inf to 2" in str(outside.exception)
    pixels = ["check", str(own_images / "model"), "--data", str(own_images / "photos")]
    assert "Pixels lie between 0 and 1" in str(
        CliRunner().invoke(app, [*pixels, "--positive"]).exception
    )


def test_the_command_takes_inputs_and_a_channel(own_points, own_series, tmp_path):
    check = ["check", str(own_points / "model"), "--data", str(own_points / "table.csv")]
    named = ["--inputs", "east", "--inputs", "north", "--tasks", "4"]
    told = CliRunner().invoke(app, [*check, *named])
    assert "what training never saw" in " ".join(told.output.split())
    long = tmp_path / "long.csv"
    long_frame().to_csv(long, index=False)
    check = ["check", str(own_series / "model"), "--data", str(long), "--channel", "band"]
    told = CliRunner().invoke(app, [*check, "--tasks", "4", "--json"])
    assert told.exit_code == 0, told.output
    assert set(json.loads(told.stdout)) == {"g", "r"}


def test_skill_is_that_of_the_median_which_no_tail_draws_away():
    ones = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    skewed = LogMixturePredictive(
        0 * ones, 0 * ones, 2 * ones, ones > 0, 0 * ones, ones[..., 0] > 0
    )
    assert skewed.mean.item() > 7
    y, asked = torch.ones(1, 1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.bool)
    assert calibration._scored(skewed, y, asked, 0, {}).error == pytest.approx(0, abs=1e-6)


def test_points_in_the_plane_are_no_series_to_check_the_general_model_on(tmp_path):
    points_frame().to_csv(tmp_path / "points.csv", index=False)
    with pytest.raises(ShapeError, match="is checked on series alone, got the inputs 'east' and"):
        held_out_source(
            convcnp.load("general"),
            read_table(tmp_path / "points.csv"),
            Columns.named(inputs=["east", "north"]),
        )


def test_too_short_a_series_gets_a_sentence_and_nothing_else(tmp_path):
    (tmp_path / "two.csv").write_text("day,v\n1,5\n2,6\n")
    table = read_table(tmp_path / "two.csv")
    with pytest.raises(TableError, match="at least 3 observed rows, but the table has none"):
        held_out_source(convcnp.load("general"), table, Columns())
