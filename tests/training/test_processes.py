"""Training in several processes: one voice, the weights of one process, and endings together."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from convcnp.errors import SettingError
from convcnp.storage import read_tensors
from convcnp.training.checkpoint import BEST, CHECKPOINT
from convcnp.training.experiment import Experiment
from convcnp.training.processes import Processes
from convcnp.training.run import run
from helpers import ROOT, call, invoke, metrics_of

FILE = ROOT / "experiments/table1/eq-convcnp.toml"
SMALL = [
    *("training.steps=50", "training.batch_size=16", "training.validate_every=25"),
    *("training.validation_tasks=8", "training.checkpoint_every=5", "evaluation.num_tasks=4"),
    "model.points_per_unit=16",
]
SECONDS = 300  # within which a process must have ended, on a machine that does other things too


def options(settings=SMALL):
    return [str(FILE), *(part for setting in settings for part in ("--set", setting))]


@contextlib.contextmanager
def started(command, **environment):
    """Start a command in a session of its own, none of which survives this block."""
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def training(directory, *more, settings=SMALL, **environment):
    command = [sys.executable, "-m", "convcnp", "run", *options(settings), "--out", directory]
    return started([*command, *more], **environment)


def wait_for(condition, *processes):
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until, "it did not get there"
        for process in processes:
            assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def ended(process):
    output, errors = process.communicate(timeout=SECONDS)
    assert "Traceback" not in errors, errors
    return process.returncode, output, errors


def child_of(process):
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


def is_running(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    return False


def difference(one, other, name=BEST):
    """Return how far all weights together are from others, as a share of their size."""
    ours, theirs = (read_tensors(directory / name)[0] for directory in (one, other))
    assert ours.keys() == theirs.keys()
    return max(float((ours[key] - theirs[key]).norm() / (ours[key].norm() + 1e-9)) for key in ours)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    directory = tmp_path_factory.mktemp("alone")
    run(Experiment.load(FILE, SMALL), "table1/eq-convcnp", directory)
    return directory


def test_two_processes_with_half_the_batch_end_with_the_weights_of_one(alone, tmp_path):
    done = call("run", *options(), "--out", tmp_path / "two", "--devices", 2)
    assert done.returncode == 0, done.stderr
    assert difference(alone, tmp_path / "two") < 1e-5
    assert difference(alone, tmp_path / "two", CHECKPOINT) < 1e-5
    assert done.stdout.count("log-likelihood per target point") == 1
    lines = done.stderr.strip().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        f"eq-convcnp: step {step} of 50" for step in (25, 50)
    ]
    ours, theirs = metrics_of(alone), metrics_of(tmp_path / "two")
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        assert list(map(float, other)) == pytest.approx(list(map(float, mine)), abs=1e-4)
    assert json.loads((tmp_path / "two/result.json").read_text())["processes"] == 2


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--accelerator", "tpo"], "accelerator, devices and precision must be what this machine"),
        (["--precision", "7"], "accelerator, devices and precision must be what this machine"),
        (["--nodes", "2"], "needs MASTER_ADDR and MASTER_PORT"),
    ],
)
def test_what_a_machine_does_not_have_is_refused(tmp_path, more, sentence):
    done = invoke("run", *options(), "--out", tmp_path / "run", *more)
    assert isinstance(done.exception, SettingError)
    assert sentence in str(done.exception)
    assert not (tmp_path / "run").exists()


def test_mixed_precision_trains(tmp_path):
    # Without the matrix units that some virtual machines announce and do not have.
    isa = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
    wanted = ["--smoke", "--precision", "bf16-mixed"]
    with training(tmp_path / "run", *wanted, settings=[], **isa) as process:
        code, _, errors = ended(process)
    assert code == 0, errors
    best, _ = read_tensors(tmp_path / "run" / BEST)
    assert all(value.dtype == torch.float32 and value.isfinite().all() for value in best.values())


def test_launchers_say_how_many_there_are(monkeypatch):
    for name, value in {"LOCAL_WORLD_SIZE": "4", "GROUP_WORLD_SIZE": "3"}.items():
        monkeypatch.setenv(name, value)
    assert not Processes().are_several  # what a shell may have left means nothing
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    monkeypatch.setenv("WORLD_SIZE", "12")
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("GROUP_RANK", "1")
    processes = Processes()
    assert (processes.devices, processes.nodes) == (4, 3)
    assert not processes.is_first


@pytest.mark.slow
def test_a_killed_process_ends_the_other_and_the_run_goes_on_to_the_same_bits(alone, tmp_path):
    with training(tmp_path / "whole", "--devices", 2) as whole:
        assert ended(whole)[0] == 0
    killed, steps = tmp_path / "killed", tmp_path / "killed" / CHECKPOINT
    shutil.copytree(tmp_path / "whole", killed)
    for path in killed.iterdir():
        path.unlink()
    for victim in ("first", "other"):
        with training(killed, "--devices", 2, "--resume", settings=SMALL) as process:
            before = steps.stat().st_mtime_ns if steps.exists() else 0
            wait_for(lambda b=before: steps.exists() and steps.stat().st_mtime_ns > b, process)
            pids = {"first": process.pid, "other": child_of(process)}
            os.kill(pids[victim], signal.SIGKILL)
            code, _, errors = ended(process)
            assert code == (-signal.SIGKILL if victim == "first" else 2)
            assert errors.count("Error: Expected all processes to answer") == 1, errors
            assert "--resume goes on" in errors
            wait_for(lambda all_of=pids: not any(map(is_running, all_of.values())))
    alone_again = shutil.copytree(killed, tmp_path / "alone")
    with training(killed, "--devices", 2, "--resume") as process:
        assert ended(process)[0] == 0
    for name in (BEST, CHECKPOINT):
        assert difference(tmp_path / "whole", killed, name) == 0
    with training(alone_again, "--resume") as process:  # in one: up to the order of additions
        assert ended(process)[0] == 0
    assert difference(alone, alone_again) < 1e-5


FAILING = """
import os
from convcnp.data.functions import GPSource
from convcnp.errors import DataError

class Lines(GPSource):
    def draw(self, batch_size, generator):
        if os.environ.get("LOCAL_RANK") == "1":
            raise DataError("Expected a disk, but it is gone; look for it.")
        return super().draw(batch_size, generator)
"""


@pytest.mark.slow
def test_a_failure_of_another_process_is_said_once_by_the_first(tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    content = FILE.read_text().replace('data = "eq"', 'data = "failing:Lines"')
    assert "failing" in content
    (tmp_path / "experiment.toml").write_text(content)
    done = call("run", "experiment.toml", "--smoke", "--devices", 2, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("Error:") == 1
    assert "it is gone; look for it. (This was process 1 of machine 0" in done.stderr


@pytest.mark.slow
def test_torchrun_starts_the_same_processes(alone, tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ours = ["-m", "convcnp", "run", *options(), "--out", tmp_path / "run"]
    with started([*command, *ours]) as process:
        code, output, errors = ended(process)
    assert code == 0, errors
    assert output.count("log-likelihood per target point") == 1
    assert difference(alone, tmp_path / "run") < 1e-5


@pytest.mark.slow
def test_in_double_precision_nothing_is_left_of_the_difference(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    for processes in (1, 2):
        directory = tmp_path / str(processes)
        worker = Path(__file__).with_name("double_worker.py")
        with started([*command, f"--nproc-per-node={processes}", worker, directory]) as process:
            assert ended(process)[0] == 0
    assert difference(tmp_path / "1", tmp_path / "2", CHECKPOINT) < 1e-10


@pytest.fixture
def machines():
    """Make two network namespaces joined by a cable, and yield how to start and cut."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("two network namespaces need an administrator and iproute2")
    names = [f"convcnp{os.getpid()}{end}" for end in "ab"]
    cables = [f"cnp{os.getpid() % 100000}{end}" for end in "ab"]

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    try:
        for name in names:
            ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this system makes no network namespaces ({error.stderr.strip()})")
    try:
        ip("link", "add", cables[0], "type", "veth", "peer", "name", cables[1])
        for i, (name, cable) in enumerate(zip(names, cables, strict=True)):
            ip("link", "set", cable, "netns", name)
            ip("-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", cable)
            ip("-n", name, "link", "set", cable, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names, cables, lambda: ip("-n", names[1], "link", "set", cables[1], "down")
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextlib.contextmanager
def on_both(machines, directories, *more, settings=SMALL):
    names, cables, _ = machines
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                started(
                    [
                        *("ip", "netns", "exec", names[i], sys.executable, "-m", "convcnp", "run"),
                        *(*options(settings), "--out", directories[i]),
                        *("--nodes", 2, "--devices", 1, *more),
                    ],
                    MASTER_ADDR="10.77.0.1",
                    MASTER_PORT="29512",
                    NODE_RANK=str(i),
                    GLOO_SOCKET_IFNAME=cables[i],
                )
            )
            for i in range(2)
        ]


@pytest.mark.slow
def test_two_machines_train_together_stop_when_the_cable_is_cut_and_go_on(machines, tmp_path):
    # Each has a disk of its own: only that of the first is ever written.
    disks = [tmp_path / "first", tmp_path / "second"]
    settings = [*SMALL[1:], "training.steps=400"]
    with on_both(machines, disks, "--timeout", 15, settings=settings) as both:
        wait_for((disks[0] / CHECKPOINT).exists, *both)
        machines[2]()
        for process in both:
            code, _, errors = ended(process)
            assert code == 2
            assert errors.count("Error: Expected all processes to answer") == 1
    assert not disks[1].exists()
    names, cables, _ = machines
    up = ["ip", "-n", names[1], "link", "set", cables[1], "up"]
    subprocess.run(up, check=True)
    with on_both(machines, disks, "--resume", settings=settings) as both:
        for process in both:
            code, _, errors = ended(process)
            assert code == 0, errors
    assert json.loads((disks[0] / "result.json").read_text())["steps"] == 400
