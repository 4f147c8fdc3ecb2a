"""llama.cpp as a process of a run: started, awaited, and ended with it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trialbed.child_processes import stop_process
from trialbed.errors import ServerUnavailable
from trialbed.files import make_private_file, make_private_folder
from trialbed.settings import state_dir

START_TIMEOUT = 600.0
"""Seconds in which the weights must be loaded; a slow disk needs minutes for large ones."""

STOP_TIMEOUT = 5.0
SHOWN = 1500
"""Characters of the log's end in an error."""


@dataclass(frozen=True)
class LlamaServer:
    """A llama.cpp that serves a model.

    Attributes:
        base_url: ends in ``/v1``. ``key``: what requests must have.
        log: the file of all that it says.
    """

    base_url: str
    key: str = field(repr=False)
    log: Path


@asynccontextmanager
async def llama_server(
    title: str, model: Mapping[str, Any], *, patience: float = START_TIMEOUT
) -> AsyncIterator[LlamaServer]:
    """Serve a model until the end of the body. Should this process die, the model's ends by itself.

    Args:
        title: the model's name, for its log and for errors.
        model: what ``trialbed_plugins.models.local.__main__`` reads, but the key.
        patience: seconds in which it must be loaded.

    Raises:
        ServerUnavailable: it cannot load the model, or not in time; has the end of its log.
    """
    key, log = secrets.token_urlsafe(24), _log(title)
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "trialbed_plugins.models.local",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            # Threads that spin while they wait make each other many times slower where anything else runs.
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            # Ctrl-C in the terminal is the engine's to handle.
            start_new_session=True,
        )
    try:
        url = await _ready(process, {**model, "key": key}, title, log, patience)
        yield LlamaServer(f"{url}/v1", key, log)
    finally:
        await stop_process(process, STOP_TIMEOUT)


def _log(title: str) -> Path:
    folder = state_dir() / "logs"
    make_private_folder(folder)
    name = "".join(sign if sign.isalnum() or sign in ".-" else "-" for sign in title)
    path = folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
    make_private_file(path)
    return path


async def _ready(
    process: asyncio.subprocess.Process, wanted: Mapping[str, Any], title: str, log: Path, patience: float
) -> str:
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for above
    process.stdin.write(json.dumps(wanted).encode() + b"\n")
    try:
        line = await asyncio.wait_for(process.stdout.readline(), patience)
    except TimeoutError:
        raise ServerUnavailable(f"{title} was not loaded within {patience:g} s; its log is {log}") from None
    if not line:
        raise ServerUnavailable(f"{title} cannot be loaded; the end of its log, {log}:\n{_end(log)}")
    return str(json.loads(line)["url"])


def _end(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - SHOWN))
        return file.read().decode("utf-8", "replace").strip()
