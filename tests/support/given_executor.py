"""An executor that a test has made, as the driver that runs ask for by its name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trialbed.contracts import Executor

NAME = "given"
"""The driver's name."""

Driver: type[Executor] = Executor
"""The target of its entry point."""


@contextmanager
def given_executor(executor: Executor, folder: Path) -> Iterator[str]:
    """Install a driver which always is this executor, and yield its name.

    Args:
        folder: a new one, for its metadata.
    """
    global Driver

    class Given(type(executor)):  # type: ignore[misc] # known to the test alone
        def __new__(cls, **_: Any) -> Any:
            return executor

        def __init__(self, *, environments: Any = None) -> None:
            """Not called: what is made is another object."""

    metadata = folder / "given_executor-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: given-executor\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[trialbed.executors]\n{NAME} = {__name__}:Driver\n")
    before, Driver = Driver, Given
    sys.path.insert(0, str(folder))
    try:
        yield NAME
    finally:
        sys.path.remove(str(folder))
        Driver = before
