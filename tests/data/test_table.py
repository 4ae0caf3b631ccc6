"""Tasks from a user's table: columns, parts, windows, and what is hidden."""

import numpy as np
import pandas as pd
import pytest
import torch

from convcnp.data.source import NamedSource, seeded
from convcnp.data.table import TableSource, observed_part, part_of
from convcnp.errors import SettingError, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.reading import digest_of
from convcnp.frames.series import Rows
from helpers import long_frame, points_frame, series_frame

PARTS = ("training", "validation", "test")


def source_of(frame, columns=None, **options):
    columns = columns or choose_columns(frame)
    return TableSource(**columns.given, read=Rows.of(frame, columns), **options)


# --- Parts ----------------------------------------------------------------------------------------


def test_whole_series_are_held_out_by_a_hash_of_their_names():
    frame = series_frame(30)
    rows = Rows.of(frame, choose_columns(frame))
    kept = {part: part_of(rows, part) for part in PARTS}
    names = {p: {r.labels[i] for i in np.flatnonzero(r.lengths)} for p, r in kept.items()}
    assert [len(names[part]) for part in PARTS] == [24, 3, 3]
    assert set.union(*names.values()) == {f"s{i}" for i in range(30)}
    shuffled = frame.sample(frac=1, random_state=0)
    again = part_of(Rows.of(shuffled, choose_columns(frame)), "test")
    assert {again.labels[i] for i in np.flatnonzero(again.lengths)} == names["test"]


def test_one_series_is_cut_into_stretches_of_time():
    frame = series_frame(1, rows=100)
    rows = Rows.of(frame, choose_columns(frame))
    times = {part: set(part_of(rows, part).x[:, 0]) for part in PARTS}
    assert [len(times[part]) for part in PARTS] == [70, 15, 15]
    assert len(set.union(*times.values())) == 100
    assert min(times["test"]) > max(times["training"])


def test_points_are_cut_into_regions():
    frame = points_frame(160)
    rows = Rows.of(frame, choose_columns(frame, Columns.named(inputs=("east", "north"))))
    held = {part: part_of(rows, part).x for part in PARTS}
    assert [len(held[part]) for part in PARTS] == [120, 20, 20]
    # Neighbours are held out together: of a tenth chosen at random, few would be neighbours.
    away = torch.cdist(torch.from_numpy(held["test"]), torch.from_numpy(rows.x))
    nearest = rows.x[away.topk(2, largest=False).indices[:, 1]]
    assert np.isin(nearest[:, 0], held["test"][:, 0]).mean() > 0.5


def test_short_series_and_rows_without_a_value_are_left_out():
    frame = pd.concat([series_frame(6), pd.DataFrame({"id": ["a", "a"], "t": [0, 1], "v": [1, 2]})])
    frame.loc[frame["id"] == "s0", "v"] = np.nan
    rows = Rows.of(frame, choose_columns(frame))
    assert len(rows.x) == 5 * 24 + 2
    assert len(part_of(rows, "all").x) == 5 * 24


# --- Tasks ----------------------------------------------------------------------------------------


def test_tasks_are_rows_of_the_table_split_into_context_and_targets():
    frame = series_frame()
    source = source_of(frame)
    assert isinstance(source, NamedSource)
    task = source.draw_as_is(40, seeded(0))
    assert torch.equal(source.draw_as_is(40, seeded(0)).y_target, task.y_target)
    assert not (task.context_mask & task.target_mask).any()
    assert task.target_mask.flatten(1).any(1).all()
    truth = dict(zip(frame["t"], frame["v"], strict=True))
    seen = task.context_mask[..., 0]
    for x, y in zip(task.x_context[seen][:, 0], task.y_context[seen][:, 0], strict=True):
        assert truth[x.item()] == y.item()


def test_tasks_of_a_part_come_from_it_alone():
    source = source_of(series_frame(30))
    for part in ("validation", "test"):
        held = source.held_out(part)
        task = held.draw_as_is(50, seeded(0))
        assert set(task.x_target[task.target_mask].tolist()) <= set(held.own.x[:, 0])
        assert not set(held.own.x[:, 0]) & set(source.own.x[:, 0])


def test_a_long_series_is_seen_through_windows_and_a_hole_in_it_ends_one():
    frame = pd.DataFrame({"t": np.arange(400.0), "v": np.sin(np.arange(400.0))})
    task = source_of(frame, window=20).draw_as_is(30, seeded(0))
    known = task.context_mask | task.target_mask
    assert (known.sum((1, 2)) == 20).float().mean() > 0.8
    frame.loc[100:, "t"] += 1e6
    task = source_of(frame, window=20).draw_as_is(60, seeded(0))
    x = torch.where(task.context_mask, task.x_context, task.x_target)
    known = task.context_mask | task.target_mask
    low, high = (torch.where(known, x, end) for end in (torch.inf, -torch.inf))
    assert (high.amax(1) - low.amin(1)).max() <= 4 * 20


def test_a_window_of_points_is_a_neighbourhood():
    frame = points_frame(400)
    source = source_of(
        frame, choose_columns(frame, Columns.named(inputs=("east", "north"))), window=10
    )
    assert (source.dim_x, source.dim_y) == (2, 1)
    task = source.draw_as_is(20, seeded(0))
    x = torch.where(task.context_mask, task.x_context, task.x_target)
    assert task.x_context.shape[1] == 10
    assert (x.amax(1) - x.amin(1)).max() < 4  # of a square of 8


def test_values_are_hidden_at_random_in_blocks_beyond_an_edge_and_channel_by_channel():
    position = torch.linspace(0, 1, 40, dtype=torch.float64)[None, :, None].expand(600, -1, -1)
    known = torch.ones(600, 40, 2, dtype=torch.bool)
    observed = observed_part(position, known, seeded(0))
    assert (~observed).flatten(1).any(1).all()
    hidden = ~observed[..., 0]
    runs = (hidden[:, 1:] != hidden[:, :-1]).sum(1)
    assert ((runs <= 2) & (hidden.sum(1) >= 5)).float().mean() > 0.05  # one block
    assert (runs > 10).float().mean() > 0.2  # at random
    assert (hidden[:, -8:].all(1) & ~hidden.all(1)).float().mean() > 0.05  # beyond an edge
    differ = (observed[..., 0] != observed[..., 1]).any(1).float().mean()
    assert 0.2 < differ < 0.8


def test_channels_are_hidden_each_on_its_own():
    frame = long_frame()
    source = source_of(frame, choose_columns(frame, Columns.named(channel="band")))
    task = source.draw_as_is(10, seeded(0))
    assert source.dim_y == 2
    known = task.context_mask | task.target_mask
    assert (known.sum(2) <= 1).all()  # a row of a long table has one channel


def test_a_file_is_read_when_needed_and_refused_when_it_changed(tmp_path):
    frame = series_frame()
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    named = choose_columns(frame).given
    source = TableSource(**named, path=str(path), digest=digest_of(path.read_bytes()))
    assert source.draw(2, seeded(0)).dim_y == 1
    path.write_text(path.read_text() + "s0,99,1\n")
    with pytest.raises(TableError, match="its content has changed; restore it"):
        TableSource(**named, path=str(path), digest=source.digest).draw(2, seeded(0))
    path.unlink()
    missing = TableSource(**named, path=str(path), digest="0")
    assert missing.dim_y == 1  # what a prediction needs is known without it
    with pytest.raises(TableError, match="cannot be read"):
        missing.draw(2, seeded(0))


def test_impossible_settings_are_refused():
    with pytest.raises(SettingError, match="a window of at least 3 rows"):
        TableSource(window=2)
    with pytest.raises(SettingError, match="positive gap and scale"):
        TableSource(scale=(0.0,))
