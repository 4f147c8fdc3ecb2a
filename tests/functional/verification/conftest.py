"""The real command against scripted vendors."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.bench import Finished, own_environment
from support.verification import KEY

Command = Callable[..., "subprocess.Popen[str]"]
Verify = Callable[..., Awaitable[Finished]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Start ``bench`` with these arguments in an empty folder."""

    def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "trialbed", *map(str, arguments)],
            cwd=tmp_path,
            env=own_environment(OPENAI_API_KEY=KEY, COLUMNS="100") | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def bench(command: Command) -> Verify:
    """Run ``bench`` to its end; ``code`` is the exit code that is right."""

    async def run(*arguments: object, code: int = 0, **environment: str) -> Finished:
        process = command(*arguments, **environment)
        out, err = await asyncio.to_thread(process.communicate, None, 120)
        assert process.returncode == code, f"exit code {process.returncode}\n{out}\n{err}"
        assert "Traceback" not in err
        return Finished(process.returncode, out, err)

    return run
