"""Pictures of calibration: shares of values beside predicted probabilities."""

import numpy as np
import pytest

from convcnp.plots import calibration as pictures
from convcnp.predict.calibration import Calibration

pytest.importorskip("matplotlib")


def test_a_panel_each_shows_how_often_values_fall_below(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "as_picture", lambda figure, form: figures.append(figure) or b"")
    even = (np.arange(1000) + 0.5) / 1000
    good = Calibration(even, *[even] * 3)
    narrow = Calibration((even > 0.5) * 1.0, *[even] * 3)
    pictures.draw_calibration({"u": good, "v": narrow})
    first, second = figures[0].axes
    assert first.get_title() == "u: about right"
    assert second.get_title() == "v: too narrow"
    levels, shares = first.lines[1].get_data()
    np.testing.assert_allclose(shares, levels, atol=1e-2)
    assert set(second.lines[1].get_ydata()) == {0.5}
