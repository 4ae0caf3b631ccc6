"""Fill the gaps of a series in a CSV file: weekly carbon dioxide at Mauna Loa, from 1958 on.

The same without Python: `convcnp predict examples/co2.csv --plot co2.png`
"""

from pathlib import Path

import pandas as pd

import convcnp

series = pd.read_csv(Path(__file__).with_name("co2.csv"), parse_dates=["date"], index_col="date")
filled = convcnp.load("general").predict(series)

print(f"{len(filled)} of {len(series)} weeks have no value; the first of them, predicted:")
print(filled.head().round(2))
