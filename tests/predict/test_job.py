"""Value columns as a model is given them."""

import numpy as np
import pytest

from convcnp.core.bounds import ANYWHERE, Limits
from convcnp.errors import SettingError
from convcnp.frames.series import Ragged
from convcnp.predict.job import Job

Y = np.array([[0.0], [1.0], [np.nan], [9.0]])
JOB = Job([0], ("v",), Ragged(np.arange(4.0), np.array([0, 4])), Y)


def test_values_between_limits_are_seen_freely_and_come_back():
    job = JOB.within(Limits(0.0))
    assert np.isnan(job.y).tolist() == np.isnan(Y).tolist()
    assert job.y[0, 0] < 0
    assert job.back(job.y)[1:] == pytest.approx(Y[1:], nan_ok=True)
    assert JOB.within(ANYWHERE) is JOB
    assert JOB.back(Y) is Y
    with pytest.raises(SettingError, match="from 2 to inf"):
        JOB.within(Limits(2.0))


def test_what_lies_nearer_to_a_bound_than_values_on_it_are_seen_is_on_it():
    near = np.array([[1e-6], [0.5]])
    assert JOB.within(Limits(0.0)).on_bounds(near).tolist() == [[0.0], [0.5]]
    assert JOB.within(Limits(-1.0, 9.0)).on_bounds(9 - near).tolist() == [[9.0], [8.5]]
    # No value lies on this bound.
    assert JOB.within(Limits(-1.0, 9.0)).on_bounds(near - 1).tolist() == (near - 1).tolist()
    assert JOB.on_bounds(near) is near


def test_a_model_that_weighs_logarithms_sees_positive_values_as_they_are():
    series = Ragged(np.arange(3.0), np.array([0, 3]))
    job = Job([0], ("v",), series, np.array([[0.0], [0.2], [7.0]]))
    for limits, is_cut in ((Limits(lower=0.0), True), (Limits(0.0, 9.0), False)):
        seen = job.within(limits, weighs_logarithms=True)
        assert np.array_equal(seen.y, job.y) is is_cut
        assert not np.array_equal(job.within(limits).y, job.y)
    assert job.within(Limits(lower=0.0), weighs_logarithms=True).back(np.array([-1.0]))[0] == 0
