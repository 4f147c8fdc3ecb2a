"""The real command in a folder of result files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.bench import Bench, Finished


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Run ``bench`` with these arguments in the test's folder and return how it ended."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}

    def run(*arguments: object, code: int | None = 0) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "trialbed", *map(str, arguments)],
            cwd=tmp_path,
            env=kept | {"NO_COLOR": "1", "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert code is None or done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Finished(done.returncode, done.stdout, done.stderr)

    return run
