"""Where a number comes from: the machine, the versions, the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch


def hardware() -> dict[str, Any]:
    """Describe the machine."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def versions() -> dict[str, str]:
    """Return the versions that a number depends on."""
    return {
        "convcnp": version("convcnp"),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def commit() -> str | None:
    """Return the commit of the checkout the package runs from, if it is one."""
    describe = ["describe", "--always", "--dirty", "--abbrev=12"]
    command = ["git", "-C", str(Path(__file__).parent), *describe]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
