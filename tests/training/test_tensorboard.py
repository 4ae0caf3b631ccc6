"""Metrics of a run for TensorBoard."""

from convcnp.data.functions import GPSource
from convcnp.training.loop import train
from convcnp.training.tensorboard import TensorBoard
from helpers import metrics_of, seeded_model, small_training


def test_metrics_reach_tensorboard_at_every_validation(tmp_path):
    written = []
    with TensorBoard(tmp_path) as report:
        real = report._write

        def spied(*arguments, **options):
            writer = real(*arguments, **options)
            add = writer.add_scalar
            writer.add_scalar = lambda *scalar: written.append(scalar) or add(*scalar)
            return writer

        report._write = spied
        train(seeded_model(), GPSource(), small_training(), tmp_path, report=report)
    assert list((tmp_path / "tensorboard").glob("events.out.tfevents.*"))
    _, *rows = metrics_of(tmp_path)
    found = {(name, step): value for name, value, step in written}
    assert set(found) == {
        (name, int(row[0])) for row in rows for name in ("loss", "log_likelihood", "learning_rate")
    }
    assert all(found["log_likelihood", int(row[0])] == float(row[2]) for row in rows)


def test_a_run_without_a_step_leaves_nothing(tmp_path):
    with TensorBoard(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
