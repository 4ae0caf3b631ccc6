"""Predict several series in one table, each at times of its own: levels of three wells."""

import numpy as np
import pandas as pd

import convcnp

random = np.random.default_rng(0)
wells = pd.concat(
    pd.DataFrame(
        {
            "well": name,
            "time": pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(hours, unit="h"),
            "level": height + np.sin(hours / 20) + 0.05 * random.normal(size=len(hours)),
        }
    )
    for name, height, hours in [
        ("north", 12.0, np.sort(random.uniform(0, 200, 60))),
        ("south", 310.0, np.arange(0, 200, 2.5)),
        ("west", -4.0, np.array([10.0, 90.0, 95.0])),
    ]
)

asked = pd.DataFrame(
    {
        "well": ["west", "north", "south", "north"],
        "time": pd.to_datetime(["2024-01-04", "2024-01-05", "2024-01-05", "2024-01-09"], utc=True),
    }
)
answer = convcnp.load("general").predict(wells, at=asked, quantiles=[0.1, 0.5, 0.9])
print(answer.to_string(index=False, float_format="%.2f"))
