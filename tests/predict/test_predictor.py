"""Predictions for users: in their units, their containers, their order."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import convcnp
from convcnp.errors import ConvCNPWarning, SettingError, ShapeError, TableError
from convcnp.models.convcnp import ConvCNP
from helpers import lively

T = np.array([0.0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 12.5, 14])
Y = np.sin(T / 2) + 0.1 * np.cos(7 * T)
AT = np.array([4.0, 8.0, 2.5, 16.0])


@pytest.fixture(scope="module")
def general():
    return convcnp.load("general-convcnp")


@pytest.fixture(scope="module")
def alone(general):
    """Return the predictions that others are compared with."""
    answer = general.predict((T, Y), AT)
    assert np.ptp(answer["mean"]) > 0.1
    return answer


def long_table():
    """Return three series in one table, the first of which is T and Y."""
    return pd.DataFrame(
        {
            "id": ["b"] * 12 + ["c"] * 5 + ["a"],
            "t": [*T, *range(5), 3.0],
            "v": [*Y, 5.0, 7, np.nan, 2, 1, 9],
        }
    )


# --- Units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x_scale", "x_shift", "y_scale", "y_shift"),
    [(1, 1.7e9, 1, 0), (3600, -50, 1e-3, 0), (1e-9, 0, 1e6, 1e7), (86400, 1.7e9, 20, 300)],
)
def test_shifts_and_scales_of_a_series_are_those_of_its_predictions(
    general, alone, x_scale, x_shift, y_scale, y_shift
):
    other = general.predict((T * x_scale + x_shift, Y * y_scale + y_shift), AT * x_scale + x_shift)
    error = 1e-6 * y_scale
    np.testing.assert_allclose(other["mean"], alone["mean"] * y_scale + y_shift, atol=error)
    np.testing.assert_allclose(other["std"], alone["std"] * y_scale, atol=error)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["h", "ns"])
def test_dates_are_predicted_as_numbers_are(general, alone, unit, zone):
    start = pd.Timestamp("2024-03-30 12:00:00.123456789", tz=zone)
    width = pd.Timedelta(1 if unit == "h" else 2, unit)  # half a nanosecond is none
    series = pd.Series(Y, index=start + T * width, name="v")
    answer = general.predict(series, at=start + AT * width)
    assert answer.index.dtype == series.index.dtype
    assert list(answer.index) == list(start + AT * width)
    np.testing.assert_allclose(answer["v_mean"], alone["mean"], atol=1e-6)


def test_integers_that_floats_cannot_hold_stay_exact(general, alone):
    start = 1_700_000_000_000_000_001
    frame = pd.DataFrame({"t": start + (2 * T).astype(int), "v": Y})
    answer = general.predict(frame, at=start + (2 * AT).astype(int))
    assert answer["t"].tolist() == [start + int(2 * t) for t in AT]
    np.testing.assert_allclose(answer["v_mean"], alone["mean"], atol=1e-6)


# --- Order and company ----------------------------------------------------------------------------


def test_neither_the_order_of_rows_nor_other_series_matter(general, alone):
    shuffled = long_table().sample(frac=1, random_state=0)
    with pytest.warns(ConvCNPWarning, match="farther beyond the observed ones"):  # those of c
        answer = general.predict(shuffled, at=AT)
    own = answer[answer["id"] == "b"]
    np.testing.assert_allclose(own["v_mean"], alone["mean"], atol=1e-6)
    np.testing.assert_allclose(own["v_q95"], alone["q95"], atol=1e-6)
    assert own["t"].tolist() == AT.tolist()


def test_other_columns_and_their_missing_cells_do_not_matter(general, alone):
    values = np.stack([np.where(T == 3, np.nan, Y), Y, np.full_like(Y, np.nan)], 1)
    with pytest.warns(ConvCNPWarning, match="value2: 1 of 1 series have no observed value"):
        answer = general.predict((T, values), AT)
    np.testing.assert_allclose(answer["mean"][:, 1], alone["mean"], atol=1e-9)
    assert np.isnan(answer["mean"][:, 2]).all()
    assert abs(answer["mean"][:, 0] - alone["mean"]).max() > 1e-3


def test_asked_rows_come_back_in_the_order_asked(general, alone):
    asked = pd.DataFrame({"t": [3.0, 8.0, 2.5], "id": ["a", "b", "b"]})
    answer = general.predict(long_table(), at=asked)
    pd.testing.assert_frame_equal(answer[["t", "id"]], asked)
    np.testing.assert_allclose(answer["v_mean"][1:], alone["mean"][1:3], atol=1e-6)


def test_one_row_and_constants_are_predicted(general):
    for times, values in ([[0], [5.0]], [[0, 1, 2], [5.0] * 3]):
        answer = general.predict((np.array(times), np.array(values)), at=[0.5])
        assert 0 < answer["mean"][0] < 10
        assert 0 < answer["std"][0] < 20


# --- Containers -----------------------------------------------------------------------------------


def test_every_container_gives_the_same_numbers_in_its_own_kind(general, alone):
    frame = pd.DataFrame({"t": T, "v": Y})
    answers = {
        "frame": general.predict(frame, at=AT),
        "index": general.predict(frame.set_index("t"), at=AT),
        "series": general.predict(frame.set_index("t")["v"], at=AT),
        "dataset": general.predict(frame.set_index("t").to_xarray(), at=AT),
        "array": general.predict(frame.set_index("t")["v"].to_xarray(), at=AT),
    }
    for answer in answers.values():
        np.testing.assert_array_equal(np.asarray(answer["v_mean"]), alone["mean"])
    assert answers["frame"]["t"].tolist() == AT.tolist()
    assert answers["index"].index.name == answers["series"].index.name == "t"
    assert isinstance(answers["dataset"], xr.Dataset)
    assert answers["array"]["t"].values.tolist() == AT.tolist()


def test_a_frame_with_an_index_may_ask(general):
    frame = pd.DataFrame({"v": Y}, index=pd.date_range("2020", periods=12))
    answer = general.predict(frame, at=frame.iloc[:2])
    assert answer.index.tolist() == frame.index[:2].tolist()


def test_columns_may_have_numbers_for_names(general, unchecked):
    answer = general.predict(pd.DataFrame({0: T, 1: Y}), at=[4.0])
    assert list(answer) == [0, "1_mean", "1_std", "1_q05", "1_q95"]


def test_a_number_may_name_a_column(general, unchecked):
    frame = pd.DataFrame({0: T, 1: Y, 2: -Y})
    answer = general.predict(frame, [4.0], time=0, value=2, quantiles=())
    assert list(answer) == [0, "2_mean", "2_std"]
    named = pd.Series(Y, pd.Index(T, name="t"), name=" v ")
    assert list(general.predict(named, [4.0], value=" v ", quantiles=())) == ["v_mean", "v_std"]


def test_times_far_beyond_all_data_are_answered(general):
    with pytest.warns(ConvCNPWarning) as said:
        answer = general.predict((T, Y), at=[1e20])
    assert "farther from every observation" in str(said[0].message)
    assert "farther beyond the observed ones" in str(said[1].message)
    assert np.isfinite([answer["mean"][0], answer["std"][0]]).all()


def test_one_of_several_columns_of_an_array_may_be_chosen(general, alone):
    answer = general.predict((T, np.stack([0 * Y, Y], 1)), AT, value="value1")
    np.testing.assert_allclose(answer["mean"][:, 0], alone["mean"])


def test_an_index_beside_a_column_of_times_is_not_the_time(general, alone):
    frame = pd.DataFrame({"time": T, "v": Y}, index=pd.Index(range(12), name="row"))
    answer = general.predict(frame, AT)
    np.testing.assert_allclose(answer["v_mean"], alone["mean"])
    assert list(answer["time"]) == list(AT)
    several = pd.concat([frame, frame.assign(v=2 * Y)])
    several.index = pd.Index(["a"] * 12 + ["b"] * 12, name="place")
    answer = general.predict(several, AT)
    assert answer["place"].tolist() == ["a"] * 4 + ["b"] * 4
    np.testing.assert_allclose(answer["v_mean"][:4], alone["mean"], rtol=1e-5)
    dated = frame.rename(columns={"time": "t"})
    dated.index = pd.Index(pd.date_range("2020-01-01", periods=12).astype(str))
    assert len(general.predict(dated, ["2020-01-03 12:00"]).filter(like="t_mean")) == 1
    only = pd.DataFrame({"v": Y}, index=pd.Index(T.astype(int) + np.arange(12), name="row"))
    assert general.predict(only, [3]).index.name == "row"


# --- Quantiles, samples, scores -------------------------------------------------------------------


def test_quantiles_are_named_after_their_levels_and_lie_where_they_should(general):
    answer = general.predict((T, Y), AT, quantiles=[0.025, 0.5, 0.975])
    assert list(answer) == ["time", "mean", "std", "q025", "q50", "q975"]
    np.testing.assert_allclose(answer["q50"], answer["mean"])
    np.testing.assert_allclose(answer["q975"] - answer["mean"], 1.959964 * answer["std"], rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"quantiles": [0.5, 1.0]}, "strictly between 0 and 1, got 1.0"),
        ({"quantiles": [0.0]}, "strictly between 0 and 1, got 0.0"),
        ({"samples": -1}, "must not be negative"),
        ({"samples": 1, "seed": 2**32}, "Seeds and steps must lie between"),
    ],
)
def test_settings_outside_their_range_are_refused(general, options, sentence):
    with pytest.raises(SettingError, match=sentence):
        general.predict((T, Y), [4.0], **options)


def test_samples_are_drawn_in_the_users_units_and_by_the_seed(general):
    at = [7.5, 8.0, 8.5]
    first, again, other = (general.sample((T, 1000 + Y), at, samples=12, seed=s) for s in (0, 0, 1))
    curves = np.stack([first[f"sample{i}"] for i in range(1, 13)])
    assert len(first) == 13
    np.testing.assert_array_equal(first["sample1"], again["sample1"])
    assert (first["sample1"] != other["sample1"]).all()
    answer = general.predict((T, 1000 + Y), at)
    assert (abs(curves.mean(0) - answer["mean"]) < answer["std"]).all()
    assert (curves.std(0) > 0.4 * answer["std"]).all()


def test_samples_of_different_columns_are_independent(general):
    frame = pd.DataFrame({"t": T, "a": Y, "b": Y})
    drawn = general.sample(frame, [16.0], samples=200)
    a, b = (drawn.filter(like=f"{name}_sample").to_numpy()[0] for name in "ab")
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.3


def test_samples_leave_other_columns_alone(general):
    frame = pd.DataFrame({"a_mean": ["x"] * 3 + ["y"] * 3, "t": [0, 1, 2] * 2, "v": np.arange(6.0)})
    answer = general.sample(frame, at=[1.5], samples=2, group="a_mean")
    assert list(answer) == ["a_mean", "t", "v_sample1", "v_sample2"]
    assert answer.notna().all(axis=None)


def test_very_many_samples_give_no_warning():
    eq = convcnp.load("eq-convcnp")
    assert len(eq.sample((T / 10, Y), [0.4], samples=120)) == 121


def test_a_score_is_that_of_the_predictions(general, alone):
    truth = alone["mean"] + np.array([0.0, 1.0, -1.0, 3.0]) * alone["std"]
    held_out = (np.append(AT, 1.0), np.append(truth, np.nan))
    score = general.score((T, Y), held_out)["value0"]
    expected = -np.log(alone["std"]).mean() - 0.5 * np.log(2 * np.pi) - 0.5 * 11 / 4
    assert score["log_likelihood"] == pytest.approx(expected)
    assert score["coverage90"] == 0.75
    assert score["values"] == 4
    assert score["crps"] > 0


def test_scores_keep_series_apart(general):
    table = long_table()
    one = general.score(
        table[table["id"] == "b"].drop(columns="id"), pd.DataFrame({"t": AT, "v": AT})
    )
    held_out = pd.DataFrame({"id": "b", "t": AT, "v": AT})
    assert general.score(table, held_out)["v"] == pytest.approx(one["v"], rel=1e-4)
    with pytest.raises(TableError, match="held-out table to have the column 'v'"):
        general.score(table, held_out.drop(columns="v"))


# --- Models and warnings --------------------------------------------------------------------------


@pytest.fixture
def pairs():
    """Return a predictor of two channels together."""
    return dataclasses.replace(
        convcnp.load("eq-convcnp"), name="pairs", model=lively(ConvCNP.small(1, 2)).eval()
    )


def test_a_model_of_two_channels_takes_two_columns_together(pairs):
    x, y = T / 10, np.stack([Y, -Y], 1)
    before, after = (pairs.predict((x, values), AT / 10) for values in (y, y * [1, 2]))
    assert before["mean"].shape == (4, 2)
    assert abs(after["mean"][:, 0] - before["mean"][:, 0]).max() > 1e-6
    with pytest.raises(ShapeError, match="'pairs' was trained for 2 value columns together, got 1"):
        pairs.predict((x, Y), AT / 10)


def test_a_model_of_planes_takes_no_series(pairs):
    planes = dataclasses.replace(pairs, model=ConvCNP.small(2, 1))
    with pytest.raises(SettingError, match="Points in the plane have two input columns, got none"):
        planes.predict((T, Y), AT)


def test_unfamiliar_data_is_warned_of(general):
    eq = convcnp.load("eq-convcnp")
    spike = np.where(np.arange(300) == 150, 1.0, 0.0)
    with pytest.warns(ConvCNPWarning, match="typical gap between observations is 10 to 10"):
        eq.predict((T * 10, Y), T * 10)
    with pytest.warns(ConvCNPWarning) as said:
        eq.predict((T / 10, Y), [0.5, 9.0])
    assert "1 of 2 asked times are farther" in str(said[0].message)
    with pytest.warns(ConvCNPWarning, match="values reach"):
        general.predict((np.arange(300.0), spike), [1.5])


def test_a_model_says_in_five_lines_what_it_is():
    first, *others = repr(convcnp.load("eq-convcnp")).splitlines()
    assert first == "Predictor 'eq-convcnp': ConvCNP"
    assert others[0].endswith("6,516")
    assert others[1].endswith("eq")
    assert others[3].endswith("tables, with predict, fill, sample and score")


@pytest.mark.parametrize("has_rhythm", [False, True])
def test_a_gap_that_nothing_carries_through_is_told_beside_the_answer(has_rhythm):
    rng = np.random.default_rng(3)
    x = np.arange(160.0)
    smooth = np.exp(-0.5 * ((x[:, None] - x) / 5) ** 2) + 0.01 * np.eye(160)
    y = np.linalg.cholesky(smooth) @ rng.standard_normal(160)
    y = np.sin(2 * np.pi * x / 12) if has_rhythm else y
    hidden = (x >= 60) & (x < 100)
    frame = pd.DataFrame({"t": x[~hidden], "v": y[~hidden]})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvCNPWarning)
        answer = convcnp.load("general").predict(frame, at=x[hidden])
    texts = [*answer.attrs["warnings"], *(str(each.message) for each in said)]
    told = [text for text in texts if "too long to bridge" in text]
    assert len(told) == (0 if has_rhythm else 2)


@torch.inference_mode()
def test_weights_loaded_where_nothing_is_trained_may_be_kept_in_other_shapes(general, tmp_path):
    general.save(tmp_path)
    assert not any(weight.is_inference() for weight in convcnp.load(tmp_path).model.parameters())
