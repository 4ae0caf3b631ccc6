"""Metrics of a run for TensorBoard."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from convcnp.extras import import_extra
from convcnp.training.checkpoint import Progress


class TensorBoard:
    """Write a run's metrics where TensorBoard finds them; pass it to `train` as `report`.

    Args:
        directory: Of the run; the files are in its folder `tensorboard`.

    Example::

        with TensorBoard(directory) as report:
            train(..., report=report)
    """

    def __init__(self, directory: Path) -> None:
        self._directory = str(directory / "tensorboard")
        self._write = import_extra("torch.utils.tensorboard", "tensorboard").SummaryWriter
        self._writer: Any = None

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def __call__(self, progress: Progress, metrics: dict[str, float]) -> None:
        """Take note of the metrics, if the model was just validated."""
        if self._writer is None:
            # A run that goes on may have written of steps that it now takes again.
            self._writer = self._write(self._directory, purge_step=progress.step)
        for name in ("loss", "log_likelihood", "learning_rate"):
            if name in metrics:
                self._writer.add_scalar(name, metrics[name], progress.step)
