"""The notebook of the documentation shows what its cells show today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow(8)
def test_every_cell_runs_and_shows_what_stands_below_it() -> None:
    command = [sys.executable, str(ROOT / "docs" / "execute.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
