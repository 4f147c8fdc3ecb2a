"""An interrupted measurement leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("names", "awaited", "measured"),
    [
        (("adds-a-line", "dawdles"), {"adds-a-line: measured", "dawdles: calls"}, ["reference", "adds-a-line"]),
        (("dawdles", "dawdles-too"), {"reference: measured", "dawdles: calls"}, ["reference"]),
    ],
)
def test_interruption_keeps_what_was_measured_and_leaves_no_process(
    unfaithful_site: Path, tmp_path: Path, names: tuple[str, ...], awaited: set[str], measured: list[str]
) -> None:
    file = tmp_path / "report.json"
    with subprocess.Popen(
        [sys.executable, "-m", "trialbed", "fidelity", *names, "--part", "calls", "--output", str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unfaithful_site)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while awaited:
            line = process.stderr.readline()
            assert line, "it ended too early"
            awaited = {text for text in awaited if text not in line}
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "dawdles could not be measured: interrupted before it was measured" in " ".join(out.split())
    adapters = json.loads(file.read_text())["adapters"]
    assert [one["label"] for one in adapters if "report" in one] == measured
    assert all(name in out for name in measured)
    assert not any(one.is_running() for one in started)
