"""An interrupted measurement leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow


def test_interruption_ends_workers_and_the_server(unfaithful_site: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trialbed", "fidelity", "-f", "dawdles", "--part", "behaviour"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unfaithful_site), "FIDELITY_TEST": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "dawdles: behaviour" in line:
                break
        assert len(marked(tmp_path)) > 1
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert marked(tmp_path) == []


def marked(folder: Path) -> list[psutil.Process]:
    """Every process that was started by this test's command."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get("FIDELITY_TEST") == str(folder):
                found.append(process)
    return found
