"""Rows sorted into buckets of whole series: one file for each piece that was read.

A bucket holds all rows of the series whose hash falls into it. The file of a piece has one record
batch for each bucket, so that a bucket is read without the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convcnp.extras import import_extra
from convcnp.scale.form import ROW, Form
from convcnp.scale.inputs import Piece
from convcnp.storage import write_together

_FILE_ROWS = 2**40  # more than a file has


def bucket_of(groups: pd.Series, count: int) -> np.ndarray:
    """Return the bucket of every row: the same for one name in any file and any process.

    Example:
        >>> names = pd.Series(["a", "b", "a"])
        >>> buckets = bucket_of(names, 1000)
        >>> bool(buckets[0] == buckets[2] != buckets[1])
        True
    """
    if not pd.api.types.is_numeric_dtype(groups) and groups.dtype.kind not in "mM":
        groups = groups.astype(object)
    hashed = pd.util.hash_pandas_object(groups, index=False, categorize=True)
    buckets: np.ndarray = (hashed.to_numpy() % np.uint64(count)).astype(np.int64)
    return buckets


def write_parts(form: Form, piece: Piece, frame: pd.DataFrame, buckets: int, path: Path) -> int:
    """Write the rows of a piece, bucket by bucket, and return how many belong to no series."""
    arrow = import_extra("pyarrow", "parquet")
    frame = form.needed(frame, piece.path)
    frame[ROW] = piece.file * _FILE_ROWS + frame.index.to_numpy(dtype=np.int64)
    has_series = frame[form.group].notna()
    frame = frame[has_series]
    bucket = bucket_of(frame[form.group], buckets)
    order = np.argsort(bucket, kind="stable")
    ends = np.searchsorted(bucket[order], np.arange(buckets + 1))
    table = arrow.Table.from_pandas(frame.iloc[order], preserve_index=False).combine_chunks()
    (whole,) = table.to_batches() or [arrow.RecordBatch.from_pylist([], schema=table.schema)]

    def write(file: Any) -> None:  # noqa: ANN401 - an open file
        with arrow.ipc.new_file(file, whole.schema) as writer:
            for start, end in pairwise(ends):
                writer.write_batch(whole.slice(start, end - start))

    write_together({path: write})
    return int((~has_series).sum())


def read_bucket(paths: Sequence[Path], bucket: int) -> pd.DataFrame:
    """Return the rows of a bucket from the files of all pieces, in the order of the inputs."""
    arrow = import_extra("pyarrow", "parquet")
    parts = []
    for path in paths:
        with arrow.memory_map(str(path)) as file:
            batch = arrow.ipc.open_file(file).get_batch(bucket)
            if batch.num_rows:
                parts.append(batch.to_pandas())
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    return frame.sort_values(ROW, kind="stable", ignore_index=True).drop(columns=ROW)
