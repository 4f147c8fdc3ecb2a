"""The conditions under which figures were observed."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from trialbed.records import Record


class Conditions(Record):
    """The machine, the time and the settings of a measurement.

    Attributes:
        load_before: processes that wanted a processor, on average over the last minute, when it began.
            ``load_after``: when it ended, its own share included. None if the system does not report it.
        tools: tools on offer per trial, where the part does not say otherwise.
        many: the tool counts of the part ``many``.
        model_name: the name under which frameworks knew the model.
    """

    measured_at: datetime
    trialbed: str
    python: str
    system: str
    processor: str
    cores: int
    memory: int
    load_before: float | None
    load_after: float | None
    seconds: float
    parts: tuple[str, ...]
    tools: int
    many: tuple[int, ...]
    model_name: str


def surroundings() -> dict[str, Any]:
    """Return the fields of the conditions that are the machine's and this process's."""
    return {
        "trialbed": version("trialbed"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "memory": psutil.virtual_memory().total,
    }


def load_average() -> float | None:
    """Return how many processes wanted a processor in the last minute, on average; None if the system has no figure."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def processor() -> str:
    """Return the processor's name, as far as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    found = next((line for line in lines if line.startswith("model name")), None)
    return found.partition(":")[2].strip() if found else platform.processor()
