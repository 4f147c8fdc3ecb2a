"""The real ``bench`` command, in a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.warm import read_at_start, run_warm


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one result document on stdout."""
        (document,) = self.documents
        return document

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The result documents on stdout."""
        value = json.loads(self.out)
        return value if isinstance(value, list) else [value]


Bench = Callable[..., Finished]
"""Runs ``bench`` with arguments and, by name, variables; ``code`` is the exit code that is right, None for any."""


def own_environment(**variables: str) -> dict[str, str]:
    """This process's environment without anybody's settings of Trialbed, and with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
    return {**kept, "NO_COLOR": "1", **variables}


def bare_environment(home: Path, **variables: str) -> dict[str, str]:
    """A home, these variables, and nothing else but what an interpreter reads before it imports anything."""
    return {**read_at_start(os.environ), "HOME": str(home), **variables}


def bench_in(folder: Path, environment: dict[str, str], *, timeout: float = 300) -> Bench:
    """What runs ``bench`` in this folder and environment, for so many seconds at most."""

    def run(*arguments: object, code: int | None = 0, **variables: str) -> Finished:
        done = run_warm(
            "trialbed", [*map(str, arguments)], cwd=folder, env={**environment, **variables}, timeout=timeout
        )
        assert code is None or done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Finished(done.returncode, done.stdout, done.stderr)

    return run
