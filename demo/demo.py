"""Train a small ConvCNP on random functions for about a minute, and draw what it learned."""

import tempfile
from pathlib import Path

import torch

from convcnp import EQ, Task, convcnp
from convcnp.data.gp import GPSource
from convcnp.data.source import seeded
from convcnp.figures import (
    dense_targets,
    draw_band,
    draw_context,
    draw_reference,
    new_figure,
    save_figure,
)
from convcnp.reporting import ProgressReporter
from convcnp.training import TrainingSettings, train

OUT = Path("out/demo.png")


def main() -> None:
    """Train, then draw three predictions."""
    torch.set_num_threads(1)  # two threads are slower than one on a network this small
    torch.manual_seed(0)
    model = convcnp(sigma_floor=1e-3)
    source = GPSource(kernel=EQ())
    settings = TrainingSettings(
        steps=2500, learning_rate=2e-3, schedule="cosine", validate_every=500, validation_tasks=200
    )
    print(f"Training a ConvCNP of {model.num_parameters:,} parameters on random functions ...")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProgressReporter("demo", settings.steps) as report,
    ):
        progress = train(model, source, settings, Path(folder), report=report)
    print(f"log-likelihood per target point on new functions: {progress.best_score:.2f}")

    figure = new_figure(1, 3, width=4.6, height=3.2)
    # The third context lies beyond the training range [-2, 2]: the predictions move with the data.
    for axes, (size, shift) in zip(figure.axes, [(5, 0.0), (12, 0.0), (12, 40.0)], strict=True):
        drawn = source.draw(1, seeded(1, size))
        x = dense_targets(-2.5, 2.5) + shift
        task = Task(drawn.x_context[:, :size] + shift, drawn.y_context[:, :size], x)
        with torch.no_grad():
            draw_band(axes, x[0, :, 0], model(task), label="ConvCNP")
        draw_reference(axes, x[0, :, 0], source.ceiling(task))
        draw_context(axes, task)
        axes.set_title(
            f"{task.x_context.shape[1]} observations" + (" far from training" * bool(shift))
        )
        axes.set_xlabel("x")
    figure.axes[0].legend(loc="lower left", fontsize="small", frameon=False)
    save_figure(figure, OUT)
    print(
        f"Wrote {OUT}: mean and two standard deviations, with the exact Gaussian process beside it."
    )


if __name__ == "__main__":
    main()
