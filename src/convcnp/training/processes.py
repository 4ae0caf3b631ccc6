"""Processes that train one model together: started on this machine, and ending together.

Fabric is told how many there are, and torchrun, SLURM or this file starts them. Only the first
speaks. If one fails it leaves its sentence in a store that the first process keeps, and the first
says it; the others watch the store, and end when the first says that it is over, or is gone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from convcnp.errors import ConvCNPError, ProcessError, SettingError
from convcnp.extras import import_extra
from convcnp.training.machine import check_half_precision

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_FAILURE, _OVER = "failure", "over"  # keys of the store
_GRACE = 10.0  # seconds in which the first process can say that it is over
_WORDS_OF_THE_LOST = ("gloo", "nccl", "connection", "socket", "timed out", "peer")

_KEPT = "the run is kept up to its last checkpoint, and the same command with resume=True goes on."


class Processes:
    """The processes of a training, as options, torchrun or SLURM ask for them.

    Args:
        accelerator: cpu or gpu.
        devices: Of each machine, one process each; as the launcher says, or one, if left out.
        nodes: Machines, each of which starts the same command.
        precision: 32 or bf16-mixed.
        timeout: Seconds that processes wait for one another.

    Example::

        processes = Processes(devices=2)
        with processes.one_voice(print):
            train(..., fabric=processes.launch())
    """

    def __init__(
        self,
        accelerator: str = "cpu",
        devices: int | None = None,
        nodes: int | None = None,
        precision: str = "32",
        timeout: float = 1800.0,
    ) -> None:
        self.devices, self.nodes = _counts(devices, nodes)
        self.timeout = timedelta(seconds=timeout)
        self.fabric = self._fabric(accelerator, precision)
        self._children: list[subprocess.Popen[bytes]] = []
        self._store: TCPStore | None = None
        self._voice = sys.stderr

    def _fabric(self, accelerator: str, precision: str) -> Fabric:
        lightning = import_extra("lightning_fabric", "train")
        logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # we say what there is
        strategies = import_extra("lightning_fabric.strategies", "train")
        strategy = strategies.DDPStrategy(timeout=self.timeout) if self.are_several else "auto"
        try:
            fabric: Fabric = lightning.Fabric(
                accelerator=accelerator,
                strategy=strategy,
                devices=self.devices,
                num_nodes=self.nodes,
                precision={"32": "32-true"}.get(precision, precision),
            )
        except (ValueError, TypeError, RuntimeError) as error:
            raise SettingError(
                "accelerator, devices and precision must be what this machine has, got "
                f"{accelerator!r}, {self.devices} and {precision!r} ({_first_line(error)}); cpu "
                "and 32 are always there."
            ) from error
        if accelerator == "cpu" and precision == "bf16-mixed":
            check_half_precision()
        return fabric

    @property
    def are_several(self) -> bool:
        """Whether there is more than one."""
        return self.devices * self.nodes > 1

    @property
    def _environment(self) -> Any:  # noqa: ANN401 - Fabric's, which says who we are
        return self.fabric.strategy.cluster_environment  # type: ignore[attr-defined]

    @property
    def is_first(self) -> bool:
        """Whether this process speaks and touches files."""
        return not self.are_several or self._place == (0, 0)

    @property
    def _place(self) -> tuple[int, int]:
        """The number of this machine, and of this process on it."""
        return self._environment.node_rank(), self._environment.local_rank()

    def launch(self) -> Fabric:
        """Start the processes that nobody else starts, and wait until all have met."""
        if not self.are_several:
            self.fabric.launch()
            return self.fabric
        if not self._environment.creates_processes_externally:
            self._start_others()
        threads = torch.get_num_threads()
        try:
            self.fabric.launch()
            self._meet()
        except ValueError as error:
            raise SettingError(
                "devices and nodes must be those of the launcher, got "
                f"{self.devices} and {self.nodes} ({_first_line(error)}); leave them out."
            ) from error
        torch.set_num_threads(threads)  # which Fabric may have changed
        return self.fabric

    def _start_others(self) -> None:
        """Start this command again for each other device; Fabric's launcher kills without words."""
        environment = self._environment
        if self.nodes > 1 and not {"MASTER_ADDR", "MASTER_PORT"} <= set(os.environ):
            raise SettingError(
                "Training on several machines needs MASTER_ADDR and MASTER_PORT, the address of "
                "the first and a free port of it, and NODE_RANK, the number of each from 0, in "
                "the environment; set them, or use torchrun or SLURM."
            )
        os.environ |= {
            "MASTER_ADDR": environment.main_address,
            "MASTER_PORT": str(environment.main_port),
            "NODE_RANK": str(environment.node_rank()),
            "WORLD_SIZE": str(self.devices * self.nodes),
            "LOCAL_RANK": "0",
        }
        for rank in range(1, self.devices):
            # What torch itself would say of a lost connection, we say in a sentence.
            own = {"LOCAL_RANK": str(rank), "TORCH_CPP_LOG_LEVEL": "FATAL"}
            command = [sys.executable, "-m", "convcnp", *sys.argv[1:]]
            self._children.append(subprocess.Popen(command, env=os.environ | own))

    def _meet(self) -> None:
        host = self._environment.main_address
        if self.is_first:
            self._store = TCPStore(host, 0, is_master=True, wait_for_workers=False)
        port = self.fabric.broadcast(self._store.port if self._store else 0)
        if not self.is_first:
            self._store = TCPStore(host, port, is_master=False)
            watched = TCPStore(host, port, is_master=False)
            threading.Thread(target=self._watch, args=(watched,), daemon=True).start()

    @contextmanager
    def one_voice(self, complain: Callable[[str], None]) -> Iterator[None]:
        """Let the first process alone speak, and let all end when one fails.

        Args:
            complain: Says a sentence, if this process has to because the first cannot.
        """
        self._complain = complain
        if not self.are_several:
            yield
            return
        with self._first_voice() if self.is_first else self._other_voice():
            yield

    @contextmanager
    def _first_voice(self) -> Iterator[None]:
        code = 2
        try:
            yield
            code = 0
        except RuntimeError as error:
            if not self._is_lost(error):
                raise
            raise ProcessError(self._failure_of_others() or self._lost(error)) from error
        finally:
            self._end_others(code)

    @contextmanager
    def _other_voice(self) -> Iterator[None]:
        output = sys.stdout
        with Path(os.devnull).open("w") as nowhere:
            sys.stdout = sys.stderr = nowhere
            try:
                yield
                code = 0
            except BaseException as error:
                code = 2
                self._fail(error)
            finally:
                sys.stdout, sys.stderr = output, self._voice
        self._leave(code)

    def _fail(self, error: BaseException) -> None:
        """Leave word of an error with the first process, or say it if that cannot be reached."""
        if isinstance(error, RuntimeError) and self._is_lost(error):
            time.sleep(_GRACE)  # meanwhile the first process ends us, if it is there
            if self._place[1] == 0:
                self._say(self._lost(error))
        elif self._store is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
            machine, process = self._place
            where = f"process {process} of machine {machine} ({socket.gethostname()})"
            text = str(error) if isinstance(error, ConvCNPError) else repr(error)
            with contextlib.suppress(RuntimeError):
                self._store.set(_FAILURE, f"{text} (This was {where}.)")

    def _watch(self, store: TCPStore) -> None:
        """End this process when the first is over or gone."""
        while True:
            try:
                store.wait([_OVER], timedelta(hours=1))
                self._leave(int(store.get(_OVER)))
            except torch.distributed.DistStoreError:  # the hour is over
                continue
            except RuntimeError:
                machine, process = self._place
                if process == (1 if machine == 0 else 0):
                    self._say(f"Expected all processes to answer, but the first is gone; {_KEPT}")
                self._leave(2)

    def _say(self, text: str) -> None:
        sys.stderr = self._voice
        self._complain(text)

    def _leave(self, code: int) -> None:
        # At once: another thread may wait for a process that is gone.
        self._voice.flush()
        os._exit(code)

    def _failure_of_others(self) -> str | None:
        if self._store is None or not self._store.check([_FAILURE]):
            return None
        return str(self._store.get(_FAILURE).decode())

    def _end_others(self, code: int) -> None:
        if self._store is not None:
            with contextlib.suppress(RuntimeError):
                self._store.set(_OVER, str(code))
                self._store.get(_OVER)  # only when it was sent to all who wait for it
        for child in self._children:
            try:
                child.wait(_GRACE)
            except subprocess.TimeoutExpired:
                child.kill()

    def _is_lost(self, error: RuntimeError) -> bool:
        """Tell whether an error means that another process cannot be reached."""
        text = str(error).lower()
        is_torch = isinstance(error, torch.distributed.DistError)
        return is_torch or any(word in text for word in _WORDS_OF_THE_LOST)

    def _lost(self, error: RuntimeError) -> str:
        if self._store is None:
            return (
                f"Expected {self.devices * self.nodes} processes to meet at "
                f"{self._environment.main_address}:{self._environment.main_port} within "
                f"{self.timeout.total_seconds():.0f} s, but not all came ({_first_line(error)}); "
                "start the same command on every machine, or raise timeout=."
            )
        return f"Expected all processes to answer, but {self._fate}; {_KEPT}"

    @property
    def _fate(self) -> str:
        codes = [child.poll() or 0 for child in self._children]
        killed = next((-code for code in codes if code < 0), None)
        return f"signal {killed} ended one" if killed else "one has ended or cannot be reached"


def _counts(devices: int | None, nodes: int | None) -> tuple[int, int]:
    """Return the devices of each machine and the machines, as asked for or as the launcher says."""
    environments = import_extra("lightning_fabric.plugins.environments", "train")
    known: dict[str, str] = {}
    if environments.SLURMEnvironment.detect():
        known = {"devices": "SLURM_NTASKS_PER_NODE", "nodes": "SLURM_NNODES"}
    elif environments.TorchElasticEnvironment.detect():
        known = {"devices": "LOCAL_WORLD_SIZE", "nodes": "GROUP_WORLD_SIZE"}
    told = {name: int(os.environ.get(variable, 1)) for name, variable in known.items()}
    return devices or told.get("devices", 1), nodes or told.get("nodes", 1)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else repr(error)
