"""What is made once for all tests, also where several processes run them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Makes a folder of this name with this function, unless another worker of this run has made it already."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str, fill: Callable[[Path], None]) -> Path:
        folder, complete = shared / name, shared / f"{name}.complete"
        with FileLock(shared / f"{name}.lock"):
            if not complete.exists():
                folder.mkdir()
                fill(folder)
                complete.touch()
        return folder

    return make
