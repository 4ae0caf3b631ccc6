"""Answers: the columns they have, and what stands in them."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.core.heads import GaussianHead, MixtureHead
from convcnp.data.random_series import SeriesSource
from convcnp.errors import SettingError
from convcnp.frames.series import Ragged
from convcnp.models.convcnp import ConvCNP
from convcnp.predict.answers import (
    answer_columns,
    check_quantiles,
    drawn_means,
    moments,
    quantile_name,
    rounded,
    samples_of,
)
from convcnp.predict.batches import predict_many
from helpers import lively


def test_quantiles_are_named_after_their_levels():
    levels = (0.05, 0.5, 0.975, 0.1, 0.01, 0.001)
    names = ["q05", "q50", "q975", "q10", "q01", "q001"]
    assert [quantile_name(level) for level in levels] == names


@pytest.mark.parametrize("level", [0.0, 1.0, float("nan")])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(SettingError, match="strictly between 0 and 1"):
        check_quantiles([0.5, level])


def test_columns_are_those_of_one_value_after_the_other():
    kinds = {"mean": np.array([[1.0, 2.0]])} | samples_of(np.array([[[3.0, 4.0]], [[5.0, 6.0]]]))
    columns = {name: column.tolist() for name, column in answer_columns(("a", "b"), kinds).items()}
    assert columns == {
        **{"a_mean": [1.0], "a_sample1": [3.0], "a_sample2": [5.0]},
        **{"b_mean": [2.0], "b_sample1": [4.0], "b_sample2": [6.0]},
    }
    assert list(columns)[:3] == ["a_mean", "a_sample1", "a_sample2"]


@pytest.mark.parametrize("head", [GaussianHead(), MixtureHead(2)], ids=["gaussian", "mixture"])
def test_moments_are_those_of_the_distribution_and_nothing_where_there_is_none(head):
    model = lively(ConvCNP.small(points_per_unit=4, head=head)).eval()
    series = Ragged(np.array([0.0, 1, 3]), np.array([0, 3, 3]))
    asked = Ragged(np.array([2.0, 2.0]), np.array([0, 1, 2]))
    found = predict_many(model, SeriesSource(), series, np.array([[1.0], [2.0], [5.0]]), asked)
    kinds = moments(found, [0.25])
    assert list(kinds) == ["mean", "std", "q25"]
    assert all(np.isnan(values[:, 0]).tolist() == [False, True] for values in kinds.values())
    assert kinds["q25"][0, 0] == found.predictive.quantile(0.25)[0, 0, 0].item()
    assert kinds["q25"][0, 0] < kinds["mean"][0, 0]


def test_levels_close_to_the_ends_have_names_of_their_own():
    assert quantile_name(1e-11) == "q00000000001"
    assert quantile_name(1e-12) == "q000000000001"
    assert quantile_name(0.1 + 0.2) == "q30"
    assert quantile_name(1 - 1e-12).startswith("q99999999999")
    check_quantiles([1e-11, 1e-12, 0.05, 0.05])
    with pytest.raises(SettingError, match=r"0.05 and 0.05000000001, which are both q05"):
        check_quantiles([0.05, 0.05000000001])


def test_an_answer_is_rounded_to_digits_of_its_deviation_row_by_row():
    frame = pd.DataFrame(
        {
            "v_mean": [1234.56789, 0.000123456789, np.nan, 5.123456789],
            "v_std": [12.3456789, 1.23456789e-6, np.nan, 0.0],
            "v_q05": [1210.98765, 0.0001212121212, np.nan, 5.123456789],
            "v_b": [0.123456789] * 4,
            "v_b_std": [1.0] * 4,
        }
    )
    found = rounded(frame, ["v"])
    assert found["v_mean"].tolist()[:2] == [1234.57, 0.000123457]
    assert found["v_q05"].tolist()[:2] == [1210.99, 0.000121212]
    assert found.loc[3, "v_mean"] == 5.123456789  # without a deviation there is nothing to go by
    assert found["v_b_std"].tolist() == frame["v_b_std"].tolist()


def test_a_constant_is_its_own_answer_where_the_deviation_is_slight():
    general = convcnp.load("general")
    for level in (0.0, 5.0, -3.3e6):
        answer = general.predict((np.arange(28.0), np.full(28, level)), at=[3.5, 9.0])
        for kind in ("mean", "q05", "q95"):
            assert answer[kind].tolist() == [level] * 2
        assert (answer["std"] > 0).all()
    frame = pd.DataFrame({"id": list("a" * 28 + "b" * 28), "t": [*range(28)] * 2, "v": 5.0})
    frame.loc[28:, "v"] = np.sin(np.arange(28.0))
    answer = general.predict(frame, at=[3.5])
    assert answer["v_mean"][0] == 5.0 != answer["v_mean"][1]
    alone = general.predict(([0.0], [5.0]), at=[1.0])
    assert alone["q05"][0] < 5.0 < alone["q95"][0]


def test_means_outside_their_band_are_spoken_of():
    answer = pd.DataFrame({"v_mean": [1.5, 9.0, 0.0], "v_q05": [1.0] * 3, "v_q95": [2.0] * 3})
    (said,) = drawn_means(answer, ["v"], [0.05, 0.95])
    assert said.startswith("v: 2 of 3 means lie outside the band from q05 to q95")
    assert drawn_means(answer[:1], ["v"], [0.05, 0.95]) == []
    assert drawn_means(answer.rename(columns={"v_q05": "v_q50"}), ["v"], [0.5, 0.95]) == []
