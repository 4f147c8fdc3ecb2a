"""The real command against scripted vendors."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.bench import Finished, bench_in, own_environment
from support.verification import KEY
from support.warm import warm_command

Command = Callable[..., "subprocess.Popen[str]"]
Verify = Callable[..., Awaitable[Finished]]


def variables(given: dict[str, str]) -> dict[str, str]:
    return own_environment(OPENAI_API_KEY=KEY, COLUMNS="100") | given


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Start ``bench`` with these arguments in an empty folder."""

    def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "trialbed", *map(str, arguments)]
        return subprocess.Popen(
            # Others are sent signals, which must reach the program at once.
            warm_command(program) if arguments[0] == "serve" else program,
            cwd=tmp_path,
            env=variables(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def bench(tmp_path: Path) -> Verify:
    """Run ``bench`` to its end; ``code`` is the exit code that is right."""
    run_bench = bench_in(tmp_path, variables({}), timeout=120)

    async def run(*arguments: object, code: int = 0, **environment: str) -> Finished:
        done = await asyncio.to_thread(run_bench, *arguments, code=code, **environment)
        assert "Traceback" not in done.err
        return done

    return run
