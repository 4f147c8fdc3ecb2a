"""An interrupted measurement leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow


def test_interruption_keeps_what_was_measured_and_leaves_no_process(unfaithful_site: Path, tmp_path: Path) -> None:
    names = ("adds-a-line", "dawdles", "--part", "calls")
    with subprocess.Popen(
        [sys.executable, "-m", "trialbed", "fidelity", *names],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unfaithful_site)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        awaited = {"adds-a-line: measured", "dawdles: calls"}
        while awaited:
            line = process.stderr.readline()
            assert line, "it ended too early"
            awaited -= {text for text in awaited if text in line}
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "dawdles could not be measured: interrupted before it was measured" in " ".join(out.split())
    assert not any(one.is_running() for one in started)
