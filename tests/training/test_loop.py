"""The training loop: schedules, metrics, learning, and exact resumption."""

import dataclasses
import math

import pytest
import torch

from convcnp import Task
from convcnp.core.heads import GaussianHead
from convcnp.data.functions import GPSource
from convcnp.data.source import seeded
from convcnp.errors import DivergedError, SettingError
from convcnp.models.convcnp import ConvCNP
from convcnp.storage import read_tensors
from convcnp.training.checkpoint import BEST, CHECKPOINT
from convcnp.training.evaluation import fixed_tasks, log_likelihoods
from convcnp.training.loop import TrainingSettings, _check_shares, _Run, learning_rate, train
from helpers import metrics_of, seeded_model, small_training


def test_a_constant_schedule_warms_up_and_stays():
    rates = [learning_rate(small_training(warmup=3, learning_rate=0.4), step) for step in range(5)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4])


def test_a_cosine_schedule_falls_to_nothing_at_the_last_step():
    chosen = small_training(steps=100, schedule="cosine", learning_rate=1.0)
    assert learning_rate(chosen, 0) == 1.0
    assert learning_rate(chosen, 50) == pytest.approx(0.5)
    assert 0 < learning_rate(chosen, 99) < 1e-3


def test_a_run_leaves_metrics_and_weights(tmp_path):
    model = seeded_model()
    progress = train(model, GPSource(), small_training(), tmp_path)
    rows = metrics_of(tmp_path)
    assert rows[0] == ["step", "loss", "log_likelihood", "learning_rate"]
    assert [row[0] for row in rows[1:]] == ["3", "6"]
    assert progress.best_score == max(float(row[2]) for row in rows[1:])
    best, _ = read_tensors(tmp_path / BEST)
    assert all(torch.equal(best[name], value) for name, value in model.state_dict().items())
    names = {"metrics.csv", "best.safetensors", "checkpoint.safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert not model.training


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path):
    def weights(seed, name):
        train(
            model := seeded_model(),
            GPSource(),
            small_training(seed=seed),
            tmp_path / name,
        )
        return model.state_dict()["cnn.layers.0.conv.weight"]

    first = weights(1, "a")
    assert torch.equal(first, weights(1, "b"))
    assert not torch.equal(first, weights(2, "c"))


def test_averaged_weights_differ_from_the_last(tmp_path):
    train(seeded_model(), GPSource(), small_training(average=0.9), tmp_path)
    best, run = (read_tensors(tmp_path / name)[0] for name in (BEST, CHECKPOINT))
    assert not torch.equal(best["head.weight"], run["model.head.weight"])


def test_patience_stops_a_run_that_no_longer_improves(tmp_path):
    chosen = small_training(steps=400, validate_every=1, patience=2, learning_rate=1e-30)
    progress = train(seeded_model(), GPSource(), chosen, tmp_path)
    assert progress.step < 400
    assert progress.stale == 2
    again = train(seeded_model(), GPSource(), chosen, tmp_path, resume=True)
    assert again.step == progress.step


@pytest.mark.parametrize("keep, best_step", [(None, 1), ("last", 4)])
def test_the_last_weights_are_kept_where_that_is_asked_for(tmp_path, keep, best_step):
    # So small a rate improves nothing after the first step.
    chosen = small_training(steps=4, validate_every=1, learning_rate=1e-30, keep=keep)
    assert train(seeded_model(), GPSource(), chosen, tmp_path).best_step == best_step


class NotFiniteSource(GPSource):
    """Gives values so large that a network's sums overflow, from the fourth batch on."""

    def values(self, x, generator):
        big = 1e38 if generator.initial_seed() in self.bad else 1.0
        return super().values(x, generator) * big


@pytest.mark.parametrize("damage", ["", "step,loss,log_likelihood,learning_rate,seconds\n\n10,-0."])
def test_a_damaged_table_of_metrics_does_not_stop_a_run_from_going_on(tmp_path, damage):
    train(seeded_model(), GPSource(), small_training(), tmp_path)
    (tmp_path / "metrics.csv").write_text(damage)
    train(seeded_model(), GPSource(), small_training(), tmp_path, resume=True)
    assert (tmp_path / "metrics.csv").read_text().startswith("step,loss")


def test_tasks_that_ask_for_nothing_do_not_count(tmp_path):
    class Half(GPSource):
        def draw(self, batch_size, generator):
            task = super().draw(batch_size, generator)
            mask = task.target_mask & (torch.arange(batch_size) % 2 == 0)[:, None, None]
            fields = (task.x_context, task.y_context, task.x_target, task.y_target)
            return Task(*fields, task.context_mask, mask)

    model = seeded_model().eval()
    half = log_likelihoods(model, fixed_tasks(Half(), 20, 0))
    whole = log_likelihoods(model, fixed_tasks(GPSource(), 20, 0))
    assert torch.equal(half, whole[::2])


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(tmp_path):
    source = NotFiniteSource()
    object.__setattr__(source, "bad", {seeded(0, 4, 0).initial_seed()})
    with pytest.raises(
        DivergedError,
        match=r"must stay finite, got nan at step 4; the run up to step 4 is kept.*lower",
    ):
        train(seeded_model(), source, small_training(), tmp_path)
    tensors, metadata = read_tensors(tmp_path / CHECKPOINT)
    assert metadata["progress"]["step"] == 4
    assert all(value.isfinite().all() for value in tensors.values())


def test_metrics_that_are_no_text_do_not_stop_a_run_from_going_on(tmp_path):
    run = _Run(seeded_model(), small_training(), tmp_path, None)
    (tmp_path / "metrics.csv").write_bytes(b"\xff\x00\n1x,1,1,1,1\n\xc2\xb2,1,1,1,1\n0,1,1,1,1\n")
    run.start_metrics()
    assert (tmp_path / "metrics.csv").read_text().splitlines()[1:] == ["0,1,1,1,1"]


@pytest.mark.parametrize(("length", "kept"), [(4.0, 2.0), (1.0, 1.0)])
def test_a_gradient_that_is_too_long_is_shortened_and_others_stay(tmp_path, length, kept):
    run = _Run(seeded_model(), small_training(clip=2.0), tmp_path, None)
    given = [torch.randn_like(weight) for weight in run.weights[1:]]  # the first has no gradient
    norm = math.sqrt(sum((grad**2).sum().item() for grad in given))
    for weight, grad in zip(run.weights[1:], given, strict=True):
        weight.grad = grad * length / norm
    run._clip(2.0)
    for weight, grad in zip(run.weights[1:], given, strict=True):
        torch.testing.assert_close(weight.grad, grad * kept / norm)


@pytest.mark.parametrize("name", ["batch_size", "validation_tasks"])
def test_every_process_must_have_a_share(name):
    _check_shares(small_training(), 2)
    with pytest.raises(SettingError, match=rf"training.{name} is divided.*number, 8, got 7"):
        _check_shares(small_training(**{"batch_size": 8, "validation_tasks": 8, name: 7}), 8)


def test_training_reports_every_step_and_the_metrics_when_validated(tmp_path):
    seen = []
    train(
        seeded_model(),
        GPSource(),
        small_training(),
        tmp_path,
        report=lambda progress, metrics: seen.append((progress.step, bool(metrics))),
    )
    assert seen == [(1, False), (2, False), (3, True), (4, False), (5, False), (6, True)]


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_a_model_overfits_a_single_task(tmp_path, optimizer):
    task = GPSource().draw(1, torch.Generator().manual_seed(0))

    @dataclasses.dataclass(frozen=True)
    class OneTask:
        dim_x: int = 1
        dim_y: int = 1

        def draw(self, batch_size, generator):
            return Task.stack([task] * batch_size)

        def ceiling(self, task):
            return None

    chosen = small_training(
        steps=800,
        validate_every=100,
        optimizer=optimizer,
        learning_rate=3e-3,
        schedule="cosine",
    )
    progress = train(seeded_model(), OneTask(), chosen, tmp_path)
    assert progress.best_score > 1.0  # knowing only the spread of the values would give -1.4


@pytest.mark.slow
def test_a_small_model_learns_in_a_minute(tmp_path):
    chosen = TrainingSettings(
        steps=1200, learning_rate=2e-3, schedule="cosine", validate_every=400, validation_tasks=200
    )
    progress = train(ConvCNP.small(head=GaussianHead(1e-3)), GPSource(), chosen, tmp_path)
    assert math.isfinite(progress.best_score)
    assert progress.best_score > -0.2
