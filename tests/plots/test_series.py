"""Pictures of series: observations, the band through them, and samples."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.plots import series as pictures

pytest.importorskip("matplotlib")

TABLE = pd.DataFrame(
    {
        "id": list("zzaaabbb"),
        "t": [0, 1, 0, 1, 2, 0, 1, 3],
        "v": [np.nan, np.nan, 1, 2, 3, 1, 2, 4.0],
        "w": [np.nan] * 5 + [1.0, np.nan, 2.0],
    }
)


@pytest.fixture
def drawn(monkeypatch):
    """Keep the figures that are drawn."""
    figures = []
    monkeypatch.setattr(pictures, "as_png", lambda figure: figures.append(figure) or b"")
    return figures


@pytest.mark.filterwarnings("ignore::convcnp.errors.ConvCNPWarning")
def test_series_with_values_are_drawn_with_band_observations_and_samples(drawn):
    asked = pd.DataFrame({"id": ["b", "a", "b"], "t": [2.0, 1.5, 1.0]})
    request = convcnp.load("general").request(TABLE, asked)
    answer = request.predict(samples=2)
    pictures.draw_series(request, answer)
    panels = drawn[0].axes
    assert [axes.get_ylabel() for axes in panels] == ["v, a", "v, b", "w, b"]
    band, observed, *samples = panels[1].lines
    assert observed.get_xdata().tolist() == [0, 1, 3]
    assert observed.get_ydata().tolist() == [1, 2, 4]
    own = answer[answer["id"] == "b"].sort_values("t")
    assert [line.get_ydata().tolist() for line in samples] == [
        own[f"v_sample{i}"].tolist() for i in (1, 2)
    ]
    # The curve passes through what was predicted.
    times, mean = band.get_data()
    place = np.searchsorted(times, [1.0, 2.0])
    np.testing.assert_allclose(mean[place], own["v_mean"], rtol=1e-5)
    assert len(panels[1].collections) == 1
