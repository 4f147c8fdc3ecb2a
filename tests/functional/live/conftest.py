"""A real server in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def server_url(tmp_path: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "trialbed_server", "--port", "0", "--watch-stdin"]
    process = subprocess.Popen(
        [*command, "--cache", str(tmp_path / "responses.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=20)
