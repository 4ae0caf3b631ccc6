"""Requests: a table is understood once, for the answer, the words and the picture."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import convcnp
from convcnp.cli import app
from convcnp.core.bounds import Limits
from convcnp.errors import ConvCNPWarning, SettingError
from convcnp.frames.columns import Columns
from convcnp.frames.targets import series_targets
from convcnp.predict import points
from convcnp.predict import request as requests
from helpers import TINY, series_frame


@pytest.fixture(scope="module")
def general():
    return convcnp.load("general")


# --- Understood once ------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """Count what the functions that understand a table are called with."""
    calls = {}
    for name in (
        *("choose_columns", "choose_learned", "series_targets", "point_targets"),
        *("SeriesTable.of", "PointsTable.of"),
    ):
        owner, _, method = name.partition(".")
        module = points if owner.lower().startswith("point") else requests
        holder = getattr(module, owner) if method else module
        wrapped = getattr(holder, method or owner)

        def counting(*arguments, name=name, wrapped=wrapped, **options):
            calls[name] = calls.get(name, 0) + 1
            return wrapped(*arguments, **options)

        monkeypatch.setattr(holder, method or owner, counting)
    return calls


@pytest.fixture
def files_read(monkeypatch):
    """Count how often each file is read."""
    read, counts = Path.read_bytes, {}

    def counting(self):
        counts[self.name] = counts.get(self.name, 0) + 1
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", counting)
    return counts


def invoke(*arguments):
    told = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert told.exit_code == 0, told.output
    return told


def test_the_command_reads_and_understands_a_table_of_series_once(tmp_path, counted, files_read):
    table = tmp_path / "series.csv"
    series_frame(3).to_csv(table, index=False)
    written = ["--plot", tmp_path / "p.png", "--out", tmp_path / "out.csv"]
    invoke("predict", table, "--at", "5", "--samples", 2, *written)
    assert counted == {"choose_columns": 1, "SeriesTable.of": 1, "series_targets": 1}
    assert files_read == {"series.csv": 1}


def test_the_command_reads_and_understands_a_table_of_points_once(
    own_points, tmp_path, counted, files_read
):
    written = ["--plot", tmp_path / "p.png", "--out", tmp_path / "out.csv"]
    model = ["--model", own_points / "model"]
    invoke("predict", own_points / "table.csv", "--at", "4", *model, *written)
    # Points are read as series over their first input.
    assert counted == {"PointsTable.of": 1, "SeriesTable.of": 1, "point_targets": 1}
    assert files_read["table.csv"] == 1


def test_a_table_is_read_once_to_train_on_it_and_once_to_check(tmp_path, files_read):
    table, model = tmp_path / "series.csv", tmp_path / "model"
    series_frame().to_csv(table, index=False)
    tiny = [part for setting in TINY for part in ("--set", setting)]
    invoke("train", "--data", table, "--out", model, "--minutes", 0.1, *tiny)
    assert files_read["series.csv"] == 1
    files_read.clear()
    invoke("check", model, "--data", table, "--tasks", 3)
    assert files_read["series.csv"] == 1


# --- Series ---------------------------------------------------------------------------------------


def test_a_request_says_what_it_predicts_and_where(general):
    frame = series_frame(3)
    request = general.request(frame, 7, Columns.named(value="v"))
    assert request.description == (
        "Predicting 'v' over 't' of 3 series by 'id' with 'general', at 7 evenly spaced times."
    )
    pd.testing.assert_frame_equal(request.predict(), general.predict(frame, 7))
    pd.testing.assert_frame_equal(request.sample(2, seed=3), general.sample(frame, 7, 2, seed=3))


def test_another_question_is_asked_of_the_same_table(general):
    request = general.request(([0.0, 1, 2, 4], [1.0, 2, 3, 5]), at=[3.0])
    other = request.at(series_targets(request.table, [3.0, 1.5]))
    assert other.table is request.table
    assert other.predict()["mean"][0] == pytest.approx(request.predict()["mean"][0], abs=1e-6)


def test_answers_stay_between_bounds_and_scores_are_of_the_density_there(general):
    t = np.arange(60.0)
    frame = pd.DataFrame({"t": t, "v": np.maximum(0, 3 * np.sin(t / 4)).round(2)})
    seen, hidden = frame.drop(index=range(30, 40)), frame.iloc[30:40]
    known = {"lower": 0.0, "upper": 3.5}
    answer = general.predict(seen, samples=2, **known).drop(columns="t")
    assert (answer.drop(columns="v_std") >= 0).all(axis=None)
    assert (answer.drop(columns="v_std") <= 3.5).all(axis=None)
    assert (general.predict(seen)["v_q05"] < 0).any()  # without a bound they do not
    filled = general.fill(seen, **known)
    assert filled["v"].between(0, 3.5).all()
    assert (filled["filled"] == "v").sum() == 10
    request = general.request(seen, hidden, limits=Limits(0.0, 3.5))
    ((_, found),) = request.predictions()
    density = found.predictive.log_prob(torch.tensor(hidden[["v"]].to_numpy())[None])
    scored = general.score(seen, hidden, **known)["v"]
    assert scored["log_likelihood"] == pytest.approx(density.mean().item())
    with pytest.raises(SettingError, match="Expected values from 1 to inf, got 0"):
        general.predict(seen, lower=1.0)


def test_a_band_of_counts_holds_the_zeros_that_are_most_of_them(general):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"t": np.arange(150.0), "v": random.poisson(0.5, 150)})
    answer = general.predict(frame.drop(index=range(70, 90)), lower=0)
    hidden = frame.loc[70:89, "v"].to_numpy()
    assert ((hidden >= answer["v_q05"]) & (hidden <= answer["v_q95"])).mean() >= 0.85


def test_bounds_are_suggested_where_values_are_near_zero(general):
    t = np.arange(20.0)
    assert "positive=True" in general.request((t, t)).remarks[0]
    assert not any("positive" in text for text in general.request((t, t + 100)).remarks)
    said = general.request((t, t), limits=Limits(0.0)).remarks
    assert not any("positive" in text for text in said)


def test_warnings_stay_beside_the_answer(general):
    t = np.arange(20.0)
    frame = pd.DataFrame({"t": t, "v": np.sin(t)})
    request = general.request(frame, [25.0, 60.0])
    with pytest.warns(ConvCNPWarning, match="1 of 2 asked times lie farther beyond"):
        answer = request.predict()
    assert request.warnings == answer.attrs["warnings"]
    assert request.warnings[0].startswith("v: 1 of 2 asked times")
    assert general.predict(frame, [2.5]).attrs["warnings"] == []


def test_names_that_a_table_to_predict_has_not_are_refused(general):
    with pytest.raises(TypeError, match="unexpected keyword argument 'tiem'"):
        general.predict(series_frame(), tiem="t")


def test_bands_of_several_columns_are_those_of_each(general):
    frame = pd.DataFrame({"t": np.arange(6.0), "a": np.sin(np.arange(6.0)), "b": np.arange(6.0)})
    both, alone = (general.predict(frame, [2.5], value=names) for names in (["a", "b"], "b"))
    np.testing.assert_allclose(both.filter(like="b_"), alone.filter(like="b_"), rtol=1e-6)


def test_a_mixture_is_predicted_scored_and_checked_as_a_gaussian_is(tmp_path):
    frame = series_frame()
    settings = [*TINY, "model.head=mixture", "model.components=2"]
    predictor = convcnp.Predictor.fit(frame, tmp_path / "run", minutes=0.1, settings=settings)
    answer = predictor.predict(frame, 5, quantiles=[0.05, 0.5, 0.95], samples=2)
    assert answer.notna().all(axis=None)
    assert (answer["v_q05"] < answer["v_q50"]).all()
    assert (answer["v_q50"] < answer["v_q95"]).all()
    # The median of a mixture is not its mean.
    assert (answer["v_q50"] - answer["v_mean"]).abs().max() > 1e-6
    assert predictor.score(frame[::2], frame[1::2])["v"]["crps"] > 0
    told = invoke("check", tmp_path / "run", "--data", tmp_path / "run/table.csv", "--tasks", 3)
    assert "90 % intervals hold" in " ".join(told.output.split())


# --- Standard errors ------------------------------------------------------------------------------


def measured():
    """Half of the values are exact, half are noise, and a column says which."""
    random = np.random.default_rng(0)
    day = np.arange(60.0)
    error = np.where(day % 2 == 0, 0.01, 2.0)
    flux = np.sin(day / 6) + error * random.normal(size=60)
    return pd.DataFrame({"day": day, "flux": flux, "flux_err": error})


def test_errors_make_predictions_better_and_bands_say_what_they_are_of():
    general, at = convcnp.load("general"), np.arange(10.25, 50)
    told, blind = (general.predict(measured(), at=at, error=error) for error in (None, ""))
    truth = np.sin(at / 6)
    assert list(told.columns) == ["day", "flux_mean", "flux_std", "flux_q05", "flux_q95"]
    assert "flux_err_mean" in blind.columns
    assert np.abs(told["flux_mean"] - truth).max() < 0.1
    assert np.abs(blind["flux_mean"] - truth).max() > 0.3
    of_measurements = general.predict(measured(), at=at, of="measurement")
    wider = of_measurements["flux_q95"] - of_measurements["flux_q05"]
    assert (wider > 3 * (told["flux_q95"] - told["flux_q05"])).all()
    request = general.request(measured(), at=at)
    assert "'flux_err' as the standard errors of 'flux': bands are of the value" in (
        request.description
    )
    assert "bands are of a new measurement" in request.asked_of("measurement").description


def test_curves_of_values_know_errors():
    curves = convcnp.load("general").sample(measured(), at=np.arange(10.5, 50, 4), samples=3)
    truth = np.sin(curves["day"] / 6)
    for i in (1, 2, 3):
        assert np.abs(curves[f"flux_sample{i}"] - truth).max() < 0.5


def test_a_value_needs_errors_and_other_words_are_refused(unchecked):
    request = convcnp.load("general").request(measured(), at=[1.0], columns=Columns(errors=("",)))
    with pytest.raises(SettingError, match=r"got of='value' and none .* error="):
        request.asked_of("value")
    with pytest.raises(SettingError, match="of must be 'value' or 'measurement', got 'truth'"):
        request.asked_of("truth")


def test_a_model_that_knows_no_errors_says_so():
    with pytest.warns(ConvCNPWarning, match="was not trained with errors .*'flux_err' is ignored"):
        answer = convcnp.load("general-convcnp").predict(measured(), at=[1.0], error="flux_err")
    assert "flux_err_mean" not in answer.columns
