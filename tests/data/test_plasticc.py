"""PLAsTiCC light curves: reading, splitting, drawing, on small files and on the real one."""

import gzip
import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from convcnp import Task
from convcnp.data import plasticc
from convcnp.data.plasticc import FLUX_MEAN, FLUX_SCALE, PlasticcSource, part_of
from convcnp.data.source import FiniteSource, NamedSource, seeded
from convcnp.errors import DataError, SettingError
from convcnp.training.evaluation import fixed_tasks
from helpers import light_curve_rows, write_light_curves

HEADER = "object_id,mjd,passband,flux,flux_err,detected_bool"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "plasticc").mkdir()
    return tmp_path / "plasticc"


def write_lines(folder, *lines, name="training_set.csv"):
    (folder / name).write_text("\n".join([HEADER, *lines]) + "\n")


def test_a_small_file_becomes_the_tasks_it_should(folder):
    write_lines(
        folder, "713,59400,2,3.73,3.41,1", "713,60274,0,164.26,16.3,0", "713,58526,5,6.27,1,1"
    )
    source = PlasticcSource()
    assert part_of(713) == "training"
    assert isinstance(source, FiniteSource)
    assert isinstance(source, NamedSource)
    task = source.take(torch.tensor([0]), seeded(0))
    x = torch.cat([task.x_context, task.x_target], 1)[0, :, 0]
    y = torch.cat([task.y_context, task.y_target], 1)[0]
    mask = torch.cat([task.context_mask, task.target_mask], 1)[0]
    by_time = x.argsort()
    assert x[by_time].tolist() == pytest.approx([-1.0, 0.0, 1.0])
    assert mask[by_time].nonzero()[:, 1].tolist() == [5, 2, 0]
    values = y[by_time][mask[by_time]]
    assert values.tolist() == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)


def test_a_users_days_and_fluxes_become_the_units_of_tasks():
    fluxes = (FLUX_MEAN + torch.arange(6) * FLUX_SCALE).tolist()
    task = Task.from_arrays([59_400.0, 60_274.0], [fluxes, fluxes], [59_400.0])
    found = PlasticcSource().normaliser.units(task).to_model(task)
    assert found.x_context.flatten().tolist() == pytest.approx([0.0, 1.0])
    assert found.y_context[0, 1].tolist() == pytest.approx(list(range(6)), abs=1e-6)


@pytest.fixture
def many(folder):
    """Four hundred objects of 1 to 6 observations, not sorted."""
    write_light_curves(folder / "plasticc_train_lightcurves.csv.gz", num_objects=400)
    return folder


def test_no_object_is_in_two_parts_and_all_are_in_one(many):
    sources = [
        PlasticcSource(part=part, max_flux=None) for part in ("training", "validation", "test")
    ]
    ids = [set(source.curves().ids.tolist()) for source in sources]
    assert set.union(*ids) == set(range(1, 401))
    assert sum(map(len, ids)) == 400
    assert [len(i) / 400 for i in ids] == pytest.approx([0.8, 0.05, 0.15], abs=0.05)


def test_an_object_stays_in_its_part_for_ever():
    # A shipped model must never meet the objects it was trained on in a later version's test.
    parts = [part_of(object_id) for object_id in (5, 8, 615, 713, 1227)]
    assert parts == ["validation", "test", "test", "training", "test"]


def test_every_observation_is_context_or_target_once(many):
    source = PlasticcSource(max_flux=None)
    curves = source.curves()
    task = source.take(torch.arange(len(source)), seeded(3))
    rows = light_curve_rows(400)
    for i in range(0, len(source), 7):
        mine = sorted(
            (mjd, band, flux)
            for object_id, mjd, band, flux, _ in rows
            if object_id == curves.ids[i].item()
        )
        drawn = []
        for x, y, mask in (
            (task.x_context, task.y_context, task.context_mask),
            (task.x_target, task.y_target, task.target_mask),
        ):
            for point, band in mask[i].nonzero().tolist():
                flux = y[i, point, band].double() * FLUX_SCALE[band] + FLUX_MEAN[band]
                drawn.append((x[i, point, 0].item() * 874 + 59400, band, flux.item()))
        for found, expected in zip(sorted(drawn), mine, strict=True):
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_an_object_with_one_observation_has_no_context_and_others_have_some(many):
    source = PlasticcSource(max_flux=None)
    sizes = source.curves().size
    task = source.take(torch.arange(len(source)), seeded(0))
    context, target = (mask.sum((1, 2)) for mask in (task.context_mask, task.target_mask))
    assert (context + target == sizes).all()
    assert (context[sizes == 1] == 0).all()
    assert (context[sizes > 1] >= 1).all()
    assert (target >= 1).all()
    assert (sizes == 1).any()


def test_context_sizes_are_uniform_from_one_to_all_but_one(many):
    source = PlasticcSource(max_flux=None)
    largest = int(source.curves().size.argmax())
    assert source.curves().size[largest] == 6
    task = source.take(torch.full((3000,), largest), seeded(0))
    counts = torch.bincount(task.context_mask.sum((1, 2)), minlength=6)
    assert counts[0] == 0
    assert counts[1:].tolist() == pytest.approx([600] * 5, abs=100)


def test_errors_stand_where_the_fluxes_stand(many):
    source = PlasticcSource(max_flux=None)
    task = source.draw(30, seeded(5))
    assert task.context_error is None
    known = replace(source, errors=True).draw(30, seeded(5))
    assert torch.equal(task.y_target, known.y_target)
    of_row = {(mjd, band): error for _, mjd, band, _, error in light_curve_rows(400)}
    for i, point, band in known.target_mask.nonzero().tolist()[:50]:
        days = round(known.x_target[i, point, 0].item() * 874 + 59400, 4)
        error = known.target_error[i, point, band] * FLUX_SCALE[band]
        assert error.item() == pytest.approx(of_row[days, band])


def test_units_change_the_numbers_and_not_the_points(many):
    source = PlasticcSource(max_flux=None, errors=True)
    paper, own, none = (
        replace(source, units=units).draw(30, seeded(5)) for units in ("paper", "object", "none")
    )
    assert torch.equal(paper.target_mask, own.target_mask)
    torch.testing.assert_close(own.x_context, paper.x_context)
    for task, units in ((paper, "paper"), (own, "object")):
        seen = plasticc.UNITS[units].units(none).to_model(none)
        torch.testing.assert_close(task.y_target, seen.y_target)
        torch.testing.assert_close(task.context_error, seen.context_error)
    observed = own.context_mask.sum((1, 2))
    size = (own.y_context**2).sum((1, 2))[observed > 0] / observed[observed > 0]
    torch.testing.assert_close(size, torch.ones_like(size))


def test_bright_objects_are_judged_but_not_trained_on(many):
    rows = light_curve_rows(400)
    bright = {row[0] for row in rows if abs(row[3] - FLUX_MEAN[row[2]]) > 2 * FLUX_SCALE[row[2]]}
    source = PlasticcSource(max_flux=2.0)
    parts = {part: source.held_out(part).curves() for part in ("validation", "test")}
    assert bright & set(parts["test"].ids.tolist())
    assert not bright & set(source.curves().ids.tolist())
    assert not bright & set(parts["validation"].ids.tolist())
    everyone = set(PlasticcSource(max_flux=None).curves().ids.tolist())
    assert set(source.curves().ids.tolist()) == everyone - bright


def test_fixed_tasks_are_of_distinct_objects_as_long_as_there_are_some(many):
    source = PlasticcSource().held_out("test")
    tasks = list(fixed_tasks(source, len(source), seed=4))
    # Times are distinct in the whole file, so that the earliest one names its object.
    first = [
        min(x[mask.any(-1)].min() for x, mask in points if mask.any()).item()
        for task in tasks
        for points in (
            [(t.x_context[0, :, 0], t.context_mask[0]), (t.x_target[0, :, 0], t.target_mask[0])]
            for t in task
        )
    ]
    assert len(set(first)) == len(source)
    few = next(fixed_tasks(source, 3, seed=4))
    assert torch.equal(few.y_target, tasks[0].y_target[:3])
    assert sum(len(task) for task in fixed_tasks(source, 2 * len(source), seed=4)) == 2 * len(
        source
    )


def test_a_plain_file_and_a_compressed_one_are_the_same(many, tmp_path, monkeypatch):
    compressed = many / "plasticc_train_lightcurves.csv.gz"
    plain = tmp_path / "plain.csv"
    plain.write_bytes(gzip.decompress(compressed.read_bytes()))
    for name, values in plasticc.read(plain).items():
        np.testing.assert_array_equal(values, plasticc.read(compressed)[name])


def test_a_file_is_read_once_and_again_when_it_has_changed(many, monkeypatch):
    path = many / "plasticc_train_lightcurves.csv.gz"
    before = plasticc.load(path)
    plasticc.load.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr("pandas.read_csv", lambda *a, **k: pytest.fail("read again"))
        again = plasticc.load(path)
    assert torch.equal(before.flux, again.flux)
    write_light_curves(path, num_objects=30)
    plasticc.load.cache_clear()
    assert len(plasticc.load(path).ids) == 30


def one_bad(line):
    return ["713,59400,2,3.73,3.41,1", line]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (one_bad("713,59401,6,1,1,1"), "it has the passband 6"),
        (one_bad("713,59401,-1,1,1,1"), "it has the passband -1"),
        (one_bad("713,59401,lsstu,1,1,1"), "lsstu"),
        (one_bad("713,59401,1,,1,1"), "it has an observation without time, flux or error"),
        (one_bad("713,59401,1,inf,1,1"), "it has an observation without time, flux or error"),
        ([], "it has no rows"),
    ],
)
def test_a_broken_table_is_refused_with_a_sentence(folder, lines, reason):
    write_lines(folder, *lines)
    with pytest.raises(DataError, match=rf"whole table of light curves .*{reason}.*get it again"):
        PlasticcSource().draw(1, seeded(0))


def test_a_missing_column_and_a_file_cut_short_are_refused_with_a_sentence(folder, many):
    path = many / "plasticc_train_lightcurves.csv.gz"
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DataError, match=r"\.csv\.gz must be a whole table .*get it again"):
        PlasticcSource().draw(1, seeded(0))
    path.unlink()
    (folder / "training_set.csv").write_text("object_id,mjd,flux,flux_err\n1,2,3,4\n")
    with pytest.raises(DataError, match=r"columns object_id, mjd, passband.*passband"):
        PlasticcSource().draw(1, seeded(0))


def test_a_missing_file_says_where_to_get_it(folder, monkeypatch):
    with pytest.raises(DataError, match=r"training_set\.csv.*CONVCNP_DATA.*zenodo"):
        PlasticcSource().draw(1, seeded(0))
    monkeypatch.delenv("CONVCNP_DATA")
    with pytest.raises(DataError, match=r"\(not set\)"):
        PlasticcSource().draw(1, seeded(0))


def test_a_file_too_small_to_split_is_refused(folder):
    write_lines(folder, "713,59400,2,3.73,3.41,1")
    with pytest.raises(DataError, match="must have objects for every part, but has none for test"):
        PlasticcSource().held_out("test").draw(1, seeded(0))


def test_a_senseless_limit_is_refused():
    with pytest.raises(SettingError, match="max_flux must be a positive number"):
        PlasticcSource(max_flux=0.0)


@pytest.mark.skipif("CONVCNP_DATA" not in os.environ, reason="needs the real data")
def test_the_real_light_curves_are_all_there():
    try:
        parts = [
            PlasticcSource(part=part, max_flux=None).curves()
            for part in ("training", "validation", "test")
        ]
    except DataError:
        pytest.skip("CONVCNP_DATA has no light curves")
    assert sum(len(part.ids) for part in parts) == 7848
    assert sum(int(part.size.sum()) for part in parts) == 1_421_705
    assert len(parts[2].ids) >= 1000
    task = PlasticcSource().draw(8, seeded(0))
    days = task.x_target[task.target_mask.any(-1)]
    assert days.min() > 0.2
    assert days.max() < 1.5
