"""A folder of its own for each evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.warm import warm_programs


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def quick_start() -> Iterator[None]:
    with warm_programs():
        yield
