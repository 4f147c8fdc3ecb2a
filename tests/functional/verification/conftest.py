"""The real command against a scripted vendor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.verification import KEY

Command = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Start ``bench`` with these arguments in an empty folder."""

    def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
        return subprocess.Popen(
            [sys.executable, "-m", "trialbed", *map(str, arguments)],
            cwd=tmp_path,
            env=kept | {"OPENAI_API_KEY": KEY, "NO_COLOR": "1", "COLUMNS": "100"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start
