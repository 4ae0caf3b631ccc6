"""The plain version predicts what the package does, and the benchmarks run."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import benchmarks.headline
import numpy as np
import pytest
import torch
from benchmarks.__main__ import main
from benchmarks.dictionary import dictionary
from benchmarks.headline import reach
from benchmarks.images import image_batch, image_memory
from benchmarks.lines import lines
from benchmarks.loops import loops
from benchmarks.memory import peak_gigabytes
from benchmarks.parts import part_times
from benchmarks.plain import copy_weights, draw_task_by_task, plainly_training
from benchmarks.plain_images import copy_image_weights
from benchmarks.prediction import many_series, one_series
from benchmarks.series import light_curves, run_plainly, simulation
from benchmarks.startup import startup
from benchmarks.steps import every
from benchmarks.timing import Finding, interleaved
from threadpoolctl import threadpool_info

from convcnp import ConvCNP, load
from convcnp.core.heads import GaussianHead
from convcnp.data.lotka_volterra import LotkaVolterraSource
from convcnp.models.grid_convcnp import GridConvCNP
from helpers import assert_equal, lively, moments, random_images, random_task

PRESETS = [
    lambda dim_y: ConvCNP.small(dim_y=dim_y, head=GaussianHead(1e-3)),
    lambda dim_y: ConvCNP.xl(dim_y=dim_y),
    lambda dim_y: ConvCNP.xl(dim_y=dim_y, training_margin=0.1),
]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dim_y", [1, 2])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
def test_plain_predictions_are_the_packages(
    preset: Callable[[int], ConvCNP], dim_y: int, dtype: torch.dtype, tolerance: float
) -> None:
    model = lively(preset(dim_y)).to(dtype)
    # A target far from all data asks for what lies beyond the grid.
    task = random_task(dim_y=dim_y, batch_size=3, width=4.0)
    task.x_target[:, 0] += 5
    assert_equal(moments(copy_weights(model), task), moments(model, task), tolerance)


@pytest.mark.parametrize("preset", [GridConvCNP.small, GridConvCNP.xl])
@pytest.mark.parametrize("dim_y", [1, 3])
def test_plain_predictions_of_images_are_the_packages(preset, dim_y) -> None:
    model = lively(preset(dim_y=dim_y, padding="zeros"))
    task = random_images(dim_y)
    assert_equal(moments(copy_image_weights(model), task), moments(model, task), 1e-9)


def test_the_batch_of_images_has_half_its_pixels_observed() -> None:
    task = image_batch(8, 3)
    assert (task.batch_size, task.height, task.width) == (3, 8, 8)
    assert task.context_mask.sum((1, 2)).tolist() == [32, 32, 32]


def test_plain_model_has_a_length_scale_per_channel() -> None:
    plain = copy_weights(ConvCNP.small())
    assert sum(parameter.numel() for parameter in plain.parameters()) == 6532  # the public code's


def test_plain_tasks_have_the_kernels_covariance() -> None:
    task = draw_task_by_task(4000, 3, 3, np.random.default_rng(0))
    (a, b), (y_a, y_b) = (values[:, :2, 0].T for values in (task.x_context, task.y_context))
    kernel = torch.exp(-0.5 * ((a - b) / 0.25) ** 2)
    assert abs((y_a * y_b - kernel).mean()) < 0.05
    assert abs((y_a * y_b - kernel)[kernel > 0.5].mean()) < 0.15
    assert abs(task.y_target.square().mean() - 1) < 0.05


def test_plain_training_changes_every_weight() -> None:
    plain = copy_weights(ConvCNP.small())
    before = {name: value.clone() for name, value in plain.named_parameters()}
    take = plainly_training(plain, np.random.default_rng(0))
    for size in ((5, 6), (7, 3)):
        take(*size)
    assert all((value != before[name]).any() for name, value in plain.named_parameters())


def test_a_finding_knows_whether_its_bound_is_kept() -> None:
    assert Finding("", 5.1, "x", least=5).is_met
    assert not Finding("", 4.9, "x", least=5).is_met
    assert not Finding("", 2.1, "GB", most=2).is_met
    assert Finding("", 1.0, "GB").is_met is None
    assert Finding("", 1.9, "GB", most=2).target == "at most 2 GB"


def test_contestants_take_turns() -> None:
    calls: list[tuple[str, int]] = []
    contestants = {name: lambda i, name=name: calls.append((name, i)) for name in "ab"}
    times = interleaved(contestants, 2, warmup=0)
    assert calls == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(times["b"].wall) == len(times["b"].cpu) == 2


def test_few_tasks_stand_for_all() -> None:
    tasks = [random_task(num_context=n, num_target=m) for n in range(3, 13) for m in range(3, 13)]
    few = every(5, tasks)
    assert len(few) == 20
    assert sum(task.x_target.shape[1] for task in few) / 20 == pytest.approx(7.5, abs=0.5)


def test_a_batch_that_does_not_fit_is_on_the_line_through_smaller_ones(monkeypatch) -> None:
    def measured(case: str, module: str) -> dict[str, float]:
        *_, size, batch = case.split("-")
        return {"base": 1.0, "peak": 1.5 + int(batch) * int(size), "seconds": 2.0 * int(batch)}

    monkeypatch.setattr("benchmarks.images.measured", measured)
    findings = {finding.name: finding for finding in image_memory(quick=False)}
    for size in (32, 56, 64):
        for name in ("attncnp", "attncnp-written-out"):
            memory = findings[f"memory, {size} px, {name} / convcnpxl"]
            assert memory.parts == {f"{name} GB": 0.5 + 16 * size, "convcnpxl GB": 0.5 + 16 * size}
            assert findings[f"time, {size} px, {name} / convcnpxl"].parts[f"{name} s"] == 32


def test_peak_memory_is_this_process() -> None:
    assert 0.1 < peak_gigabytes() < 20


def test_the_parts_of_a_step_are_those_of_training() -> None:
    finding = part_times("convcnp", num_steps=3, warmup=2)
    forward = ["encoder", "network", "decoder", "loss"]
    assert {"drawing", "optimiser", *forward} < finding.parts.keys()
    assert all(finding.parts[f"{name}, backward"] > 0 for name in forward)
    assert sum(finding.parts.values()) == pytest.approx(finding.value, abs=0.1)


def test_networks_are_compared_along_lines_and_on_images() -> None:
    findings = lines(quick=True)
    assert len(findings) == 6
    for finding in findings:
        is_taped = finding.name.endswith("gradients")
        assert finding.value > 0
        assert {*finding.parts} == {"image ms", "line ms", *(["tape ms"] if is_taped else [])}


def test_set_convolutions_are_compared_by_loops_and_by_torch() -> None:
    findings = loops(quick=True)
    assert len(findings) == 3
    assert all(
        finding.value > 0 and {"loops ms", "torch ms"} == {*finding.parts} for finding in findings
    )


def test_the_headline_stops_where_the_paper_s_number_is_passed(monkeypatch) -> None:
    schedule = ("steps=4", "validate_every=2", "validation_tasks=2")
    monkeypatch.setattr(benchmarks.headline, "SCHEDULE", [f"training.{s}" for s in schedule])
    passed, not_passed = (reach("eq", number, seed=0) for number in (-1e9, 1e9))
    assert (passed["has_passed"], passed["steps"]) == (True, 2)
    assert (not_passed["has_passed"], not_passed["steps"]) == (False, 4)
    assert passed["log_likelihood"][2] == not_passed["log_likelihood"][2]


def test_models_are_as_they_were_after_their_predictions_were_timed() -> None:
    (many,) = many_series(quick=True)
    assert many.parts.keys() == {"series per s, tight grids", "series per s, wide grids"}
    assert load("general-convcnp").model.cnn.takes_tight_grids
    (one,) = one_series(quick=True)
    assert max(one.parts.values()) == pytest.approx(one.value, abs=0.01)


def test_bench_writes_what_it_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["drawing", "--quick", "--out", str(tmp_path / "bench.json")])
    report = json.loads((tmp_path / "bench.json").read_text())
    (finding,) = report["findings"]
    assert report["versions"]["torch"] == torch.__version__
    assert report["hardware"]["threads"] == torch.get_num_threads()
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    assert {library["architecture"] for library in libraries} >= set(report["products"].values())
    assert len(report["products"]) > 0
    assert finding["name"] == "drawing 16 tasks"
    assert finding["value"] > 0
    assert "at most 10 %" in capsys.readouterr().out


def test_the_plain_simulation_is_that_of_the_package() -> None:
    source = LotkaVolterraSource()
    runs = source.runs(np.random.default_rng(0))
    rng = random.Random(0)
    plain = np.array([run_plainly(rng, max_events=3000) for _ in range(60)])
    ours = np.array([min(len(next(runs).times), 3000) for _ in range(200)])
    error = np.sqrt(plain.var() / 60 + ours.var() / 200)
    assert abs(plain.mean() - ours.mean()) < 4 * error
    shares = [(counts < 3000).mean() for counts in (plain, ours)]
    assert shares[0] == pytest.approx(shares[1], abs=0.2)


def test_benchmarks_of_series_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = simulation(quick=True)
    assert finding.parts["ns per event"] < finding.parts["plain ns per event"]
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    for missing in light_curves(quick=True):
        assert missing.value is None
        assert "plasticc" in missing.parts["not available"]


def test_the_dictionary_is_measured_by_the_number_of_points() -> None:
    short, long = dictionary(quick=True)
    assert [short.name, long.name] == ["dictionary, 100 points", "dictionary, 300 points"]
    assert short.target == "" and long.target == "at most 50 ms"
    assert short.value > 0 and long.value > 0


def test_bench_refuses_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["stpes"])
    assert "choose from steps, drawing" in capsys.readouterr().err


def test_starting_is_measured_in_times_of_importing_torch(monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.startup.MOST", {"import convcnp": 0.25, "convcnp --help": 0.5})
    found = startup(quick=True)
    assert [finding.name for finding in found] == [
        *("startup, import convcnp", "startup, convcnp --help")
    ]
    for finding in found:
        assert 0 < finding.value < 1
        assert finding.parts["ms"] < finding.parts["import torch ms"]
