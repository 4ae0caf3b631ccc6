"""Builders shared by the tests."""

import copy
import gzip
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar
from zlib import compress, crc32

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import Result
from PIL import Image
from torch import Tensor, nn
from typer.testing import CliRunner

from convcnp.cli import app
from convcnp.core.image_task import ImageTask
from convcnp.core.task import Task
from convcnp.data.images.photo import Photo
from convcnp.data.source import Source, seeded
from convcnp.errors import DataError
from convcnp.frames.columns import Columns
from convcnp.frames.reading import TableFile
from convcnp.models.base import Model
from convcnp.models.convcnp import ConvCNP
from convcnp.storage import write_tensors
from convcnp.training.experiment import Experiment
from convcnp.training.loop import METRICS, TrainingSettings
from convcnp.training.own.choices import Wanted
from convcnp.training.own.table import plan_table

# Overrides with which a model of one's own trains in a second or two.
TINY = (
    *("model.channels=4", "model.down=[4, 4]", "model.blocks=0", "model.points_per_unit=2"),
    *("training.steps=12", "training.batch_size=4", "training.validate_every=6"),
    *("training.validation_tasks=4", "training.checkpoint_every=4", "evaluation.num_tasks=4"),
)

# Likewise for images.
TINY_IMAGES = (
    *("model.channels=4", "model.kernel_size=3", "data.window=[12, 12]"),
    *(setting for setting in TINY if not setting.startswith("model")),
)

ROOT = Path(__file__).parent.parent

needs_data = pytest.mark.skipif(
    not os.environ.get("CONVCNP_DATA"), reason="CONVCNP_DATA does not name a folder of data"
)

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def random_task(
    dim_x: int = 1,
    dim_y: int = 1,
    *,
    batch_size: int = 1,
    num_context: int = 8,
    num_target: int = 6,
    width: float = 1.0,
    seed: int = 0,
    observed: float = 1.0,
) -> Task:
    """Draw inputs in a box of this width and outputs of variance one, in float64.

    Args:
        observed: The probability that an output is observed, channel by channel.
    """
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, dtype=torch.float64, generator=generator)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    return Task(
        width * uniform(batch_size, num_context, dim_x),
        normal(batch_size, num_context, dim_y),
        width * (1.2 * uniform(batch_size, num_target, dim_x) - 0.1),
        normal(batch_size, num_target, dim_y),
        uniform(batch_size, num_context, dim_y) < observed,
    )


def random_images(
    dim_y: int = 1,
    *,
    batch_size: int = 2,
    height: int = 12,
    width: int = 14,
    observed: float = 0.3,
    seed: int = 0,
) -> ImageTask:
    """Draw images of noise in float64, with a share of their pixels observed."""
    generator = torch.Generator().manual_seed(seed)
    shape = (batch_size, height, width, dim_y)
    images = torch.rand(shape, dtype=torch.float64, generator=generator)
    mask = torch.rand(shape[:3], generator=generator) < observed
    return ImageTask(images, mask, images)


def rebuilt(task: Task, **changes: Any) -> Task:
    """Pass a task through its door again, with some of its fields replaced."""
    if isinstance(task, ImageTask):  # which has another door
        images = copy.copy(task)
        vars(images).update(changes)
        return images
    return Task(**{**vars(task), **changes})


def lively(module: AnyModule, seed: int = 1) -> AnyModule:
    """Redraw all weights so that outputs vary by about one, and return the module in float64.

    With the usual initial weights predictions are nearly constant, and faults would hide.
    """
    generator = torch.Generator().manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.3, generator=generator)
            elif parameter.dim() > 1:
                fan_in = parameter[0].numel()
                parameter.normal_(0, (2 / fan_in) ** 0.5, generator=generator)
        if isinstance(module, ConvCNP):
            for parameter in module.head.parameters():
                parameter /= 5**module.dim_x  # the decoder's kernel sums to 5 in every dimension
    return module


def series_frame(series: int = 12, rows: int = 24, seed: int = 0) -> pd.DataFrame:
    """Return sine waves of different phases, observed at random times around a level of ten."""
    generator = np.random.default_rng(seed)
    parts = []
    for i in range(series):
        t = np.sort(generator.uniform(0, 12, rows))
        v = 10 + 3 * np.sin(t + generator.uniform(0, 6)) + 0.1 * generator.normal(size=rows)
        parts.append(pd.DataFrame({"id": f"s{i}", "t": t, "v": v}))
    return pd.concat(parts, ignore_index=True)


def measured_frame() -> pd.DataFrame:
    """Return the same waves as some good and some poor measurements, with their errors."""
    frame = series_frame()
    generator = np.random.default_rng(1)
    error = generator.choice([0.1, 2.0], len(frame))
    return frame.assign(v=frame["v"] + error * generator.normal(size=len(frame)), v_err=error)


def points_frame(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    """Return a smooth function at random points of a square."""
    x = np.random.default_rng(seed).uniform(0, 8, (rows, 2))
    depth = np.sin(x[:, 0] / 2) + np.cos(x[:, 1] / 3)
    return pd.DataFrame({"east": x[:, 0], "north": x[:, 1], "depth": depth})


def random_array(*shape: int, seed: int = 0) -> np.ndarray:
    """Draw bytes."""
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def saved(path: Path, array: np.ndarray, **options: Any) -> Path:
    """Write pixels as a picture."""
    Image.fromarray(array).save(path, **options)
    return path


def picture(height: int = 20, width: int = 24, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Draw a smooth random picture, as bytes."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width][..., None] / 6
    phase = generator.uniform(0, 6, (2, channels))
    slope = generator.uniform(0.5, 1.5, (2, channels))
    waves = np.sin(slope[0] * rows + phase[0]) + np.cos(slope[1] * columns + phase[1])
    pixels = (127 + 60 * waves).astype(np.uint8)
    return pixels if channels == 3 else pixels[..., 0]


def write_pictures(folder: Path, count: int = 8, **options: int) -> Path:
    """Write smooth random pictures into a folder, 0.png and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        Image.fromarray(picture(seed=i, **options)).save(folder / f"{i}.png")
    return folder


def claiming(path: Path, width: int, height: int) -> Path:
    """Write a PNG file of a few bytes that says it has this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    return path


def random_photo(channels: int, missing: float = 0.6) -> Photo:
    """Draw a picture of noise with a share of its pixels missing."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(20, 24, channels, generator=generator)
    return Photo(pixels, torch.rand(20, 24, generator=generator) < missing)


def moments(model: Model, task: Task) -> Tensor:
    """Return the predicted means and standard deviations side by side: (2, B, M, Dy)."""
    with torch.no_grad():
        predictive = model(task)
    return torch.stack([predictive.mean, predictive.stddev])


def assert_equal(actual: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    """Compare absolutely; NaN equals nothing, so it fails."""
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


def invoke(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def call(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the real command in a process of its own."""
    command = [sys.executable, "-m", "convcnp", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def interrupted(command: Sequence[str], directory: Path) -> str:
    """Start a run, interrupt it after its first checkpoint, and return what it said."""
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        # Where the tests run in the background they ignore interrupts, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 120
    while not (directory / "checkpoint.safetensors").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    return errors


def held_out_tasks_of(experiment: Experiment) -> Source:
    """Return the source of an experiment's test tasks; skip where its data set is not at hand."""
    source = experiment.source().held_out("test")
    try:
        source.draw(1, seeded(0))
    except DataError as error:
        pytest.skip(str(error))
    return source


def light_curve_rows(num_objects: int, seed: int = 0) -> list[tuple[int, float, int, float, float]]:
    """Make up light curves: (object id, day, band, flux, error), objects of 1 to 6 observations."""
    rng = np.random.default_rng(seed)
    rows = []
    for object_id in range(1, num_objects + 1):
        for _ in range(rng.integers(1, 7)):
            day = round(59_000 + 1000 * rng.random() + 1e-3 * len(rows) % 1, 4)
            flux = 200 * rng.standard_normal() * (5 if object_id % 10 == 0 else 1)
            rows.append((object_id, day, int(rng.integers(6)), flux, rng.uniform(1, 20)))
    rng.shuffle(rows)
    return [(int(o), float(d), int(b), float(f), float(e)) for o, d, b, f, e in rows]


def write_light_curves(path: Path, num_objects: int) -> None:
    """Write made-up light curves as PLAsTiCC does, compressed."""
    lines = ["object_id,mjd,passband,flux,flux_err,detected_bool"]
    lines += [",".join(map(repr, row)) + ",1" for row in light_curve_rows(num_objects)]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


def idx(images: Tensor) -> bytes:
    """Return images (images, height, width) as bytes in MNIST's format."""
    return struct.pack(">IIII", 0x803, *images.shape) + images.numpy().tobytes()


def some_digits(count: int, seed: int) -> Tensor:
    """Draw images of 28 x 28 with an empty margin of four pixels, as MNIST's have."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.zeros(count, 28, 28, dtype=torch.uint8)
    digits[:, 4:24, 4:24] = torch.randint(1, 256, (count, 20, 20), generator=generator).byte()
    return digits


def write_untrained(directory: Path, data: str, model: dict[str, str]) -> None:
    """Leave an untrained model where a finished run would leave a trained one."""
    experiment = Experiment.parse({"data": data, "model": model})
    write_tensors(directory / "best.safetensors", experiment.build_model().state_dict())
    result = {"name": f"table/{directory.name}", "experiment": experiment.model_dump()}
    (directory / "result.json").write_text(json.dumps(result))


def small_training(**changes: Any) -> TrainingSettings:
    """Return settings of a run of six steps."""
    small = {
        "steps": 6,
        "batch_size": 2,
        "validate_every": 3,
        "validation_tasks": 4,
        "checkpoint_every": 2,
    }
    return TrainingSettings(**{**small, **changes})


def seeded_model() -> ConvCNP:
    """Build the same small model every time."""
    torch.manual_seed(0)
    return ConvCNP.small(points_per_unit=16.0)


def metrics_of(directory: Path) -> list[list[str]]:
    """Return all columns of a run's metrics but the time."""
    return [line.split(",")[:4] for line in (directory / METRICS).read_text().splitlines()]


def long_frame() -> pd.DataFrame:
    """Return series of two channels, g and r, in one column; those of g are larger by 100."""
    frame = series_frame(6)
    band = np.where(np.arange(len(frame)) % 2, "g", "r")
    return frame.assign(band=band, v=frame["v"] + 100 * (band == "g"))


def long_series(rows: int = 400, gap: float = 1.0) -> pd.DataFrame:
    """Return one long series, a sine, without noise."""
    t = gap * np.arange(rows)
    return pd.DataFrame({"t": t, "v": np.sin(t / (7 * gap))})


def planned(
    frame: pd.DataFrame, overrides: Sequence[str] = (), minutes: float = 10.0, **names: Any
) -> tuple[Experiment, str]:
    """Return the experiment that is chosen for a table, and all that is said of it."""
    said: list[str] = []
    wanted = Wanted.of(Columns.named(**names), overrides=overrides, minutes=minutes)
    plan = plan_table(TableFile(frame, "", "table.csv"), wanted, said.append)
    return plan.experiment, " ".join(said)
