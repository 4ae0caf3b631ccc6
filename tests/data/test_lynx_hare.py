"""The lynx-hare series that ships with the package, and the tasks made of it."""

import pytest
import torch

from convcnp.data import lynx_hare
from convcnp.errors import SettingError


def test_the_series_is_the_hudson_bay_record():
    years, populations = lynx_hare.series()
    assert years.tolist() == list(range(1845, 1936))
    assert populations[18].tolist() == [152.65, 14.33]  # 1863, the largest number of hare
    assert populations.amax(0).tolist() == [152.65, 79.35]
    assert populations[-1].tolist() == [15.76, 35.4]


def test_hidden_years_are_targets_and_all_others_context():
    task = lynx_hare.hidden(1881, 1898)
    years, populations = lynx_hare.series()
    assert (task.x_target[0, :, 0] + 1845).tolist() == list(range(1881, 1899))
    assert task.x_context.shape[1] == 91 - 18
    torch.testing.assert_close(task.y_target[0] * 100, populations[36:54])
    joined = torch.cat([task.x_context, task.x_target], 1)[0, :, 0] + 1845
    assert joined.sort().values.tolist() == years.tolist()


def test_each_interval_of_18_years_within_the_series_is_hidden_once():
    task = lynx_hare.every_interval()
    first = (task.x_target[:, 0, 0] + 1845).tolist()
    assert first == list(range(1846, 1918))
    assert task.x_target[-1, -1, 0] + 1845 == 1934
    assert task.x_target.shape == (72, 18, 1)


def test_the_last_years_are_forecast_from_all_before():
    task = lynx_hare.last_years()
    assert (task.x_target[0, :, 0] + 1845).tolist() == list(range(1918, 1936))
    assert task.x_context.max() < task.x_target.min()


def test_years_beyond_the_end_can_be_asked_for():
    task = lynx_hare.asked_at(torch.tensor([1936.0, 1950.5], dtype=torch.float64))
    assert task.x_target.flatten().tolist() == [91.0, 105.5]
    assert task.x_context.shape[1] == 91
    assert task.y_target is None


@pytest.mark.parametrize("years", [(1844, 1850), (1930, 1936), (1900, 1899)])
def test_years_that_the_series_does_not_have_cannot_be_hidden(years):
    with pytest.raises(SettingError, match=r"between 1845 and 1935.*got"):
        lynx_hare.hidden(*years)
