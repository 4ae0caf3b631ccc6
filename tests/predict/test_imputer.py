"""The imputer: an estimator as scikit-learn expects, that fills as predictions do."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.errors import SettingError

pytest.importorskip("sklearn")
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from convcnp.predict.imputer import ConvCNPImputer

T = np.arange(40.0)
WAVES = np.stack([np.sin(T / 4), 3 + np.cos(T / 5)], 1)


def gappy():
    values = WAVES.copy()
    values[10:14, 0] = values[30, 1] = np.nan
    return values


@parametrize_with_checks([ConvCNPImputer()])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def test_gaps_are_filled_as_they_are_predicted():
    full = ConvCNPImputer().fit_transform(gappy())
    assert np.isnan(gappy()).sum() == 5
    np.testing.assert_array_equal(full[~np.isnan(gappy())], WAVES[~np.isnan(gappy())])
    seen = np.delete(T, range(10, 14))
    expected = convcnp.load("general").predict(
        (seen, np.sin(seen / 4)), at=T[10:14], quantiles=[0.5]
    )
    np.testing.assert_allclose(full[10:14, 0], expected["q50"])
    assert np.abs(full - WAVES).max() < 0.3


def test_dates_of_an_index_are_the_times_and_names_come_back():
    index = pd.to_datetime("2024-01-01") + pd.to_timedelta(T**1.5, unit="D")
    frame = pd.DataFrame({"a": T**1.5, "b": 1.0 + T}, index=index)
    frame.iloc[20, 0] = np.nan
    full = ConvCNPImputer().set_output(transform="pandas").fit_transform(frame)
    assert full.columns.tolist() == ["a", "b"]
    assert full.index.equals(index)
    assert full["a"].iloc[20] == pytest.approx(20**1.5, rel=0.03)  # a line over dates


def test_a_column_without_values_gets_its_median_and_bounds_hold():
    fitted = ConvCNPImputer(lower=-1.0, upper=1.0).fit(WAVES[:, :1])
    np.testing.assert_allclose(fitted.transform(np.full((3, 1), np.nan)), np.median(WAVES[:, 0]))
    assert np.abs(fitted.transform(gappy()[:, :1])).max() <= 1


def test_it_is_part_of_a_pipeline():
    model = make_pipeline(ConvCNPImputer(), LinearRegression()).fit(gappy(), T)
    assert model.predict(gappy()).shape == (40,)


def test_models_of_other_things_are_refused():
    with pytest.raises(SettingError, match="Expected a model of series of one column each"):
        ConvCNPImputer("lotka-volterra-convcnp").fit_transform(gappy())
