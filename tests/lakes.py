"""Lakes for the tests: series over many files, and what one process makes of them."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.columns import Columns
from convcnp.predict.zoo import load
from convcnp.scale.form import Asked

MODEL = "eq-convcnp"


def some_series(count, *, words=True, seed=0, step="100ms"):
    """Return irregular series with gaps in two columns, whose rows are in no order.

    Times are steps of a tenth of a second, as the model knows them: one that sees a day as 86,400
    units of its own takes fifty times as long.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(4, 12, count)
    owner = np.repeat(np.arange(count), lengths)
    times = np.concatenate([np.sort(random.choice(30, n, replace=False)) for n in lengths])
    frame = pd.DataFrame(
        {
            "station": [f"s{i}" for i in owner] if words else owner,
            "time": pd.Timestamp("2024-01-01") + times * pd.Timedelta(step),
            "temp": np.sin(times / 9 + owner) + 0.1 * random.normal(size=len(times)),
            "rain": random.gamma(2.0, 1.0, len(times)),
        }
    )
    for name in ("temp", "rain"):
        frame.loc[random.random(len(frame)) < 0.1, name] = np.nan
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def write_lake(folder: Path, frame: pd.DataFrame, files: int = 3) -> Path:
    """Write rows into several files: those of a series lie in all of them."""
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[rows].to_parquet(folder / f"f{i}.parquet", index=False)
    return folder


def asked(at=None, **names) -> Asked:
    return Asked(MODEL, Columns.named(**{"group": "station", **names}), at)


def answers_in(folder: Path) -> pd.DataFrame:
    parts = [pd.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))]
    return pd.concat(parts, ignore_index=True)


def check_same(answers, frame, at=None, model=MODEL):
    """Compare answers with those of one process, row by row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)
        whole = load(model).predict(frame, "gaps" if at is None else at, group="station")
    values = list(whole.columns[2:])
    whole = whole.dropna(subset=values, how="all")
    keys = ["station", "time"]
    ours, theirs = (
        table.sort_values(keys, ignore_index=True)[list(whole.columns)]
        for table in (answers, whole)
    )
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-6, atol=1e-6)


class Squares:
    """A worker that squares, or ends its process; here, where other processes find it."""

    def square(self, number):
        return {"square": number**2}

    def process(self, number):
        return {"process": os.getpid()}

    def end(self, number):
        os.kill(os.getpid(), signal.SIGKILL)
