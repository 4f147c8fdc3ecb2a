"""Answer tasks from lines of JSON with wall time, CPU time and text, in all programs.

A task has ``root`` (the URL of its trial), ``model``, ``seed``, ``instructions``, ``query`` and ``tools``, each with
``name``, ``description``, ``parameters`` and ``api``, the identity that the virtual API is asked for.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

Task = Mapping[str, Any]

MARK = "#answer "
"""Begins the line with an answer; frameworks print lines too."""


def serve_async(
    answer: Callable[..., Awaitable[str]],
    model: Callable[[Task], Any] | None = None,
    close: Callable[[Any], Awaitable[None]] | None = None,
) -> None:
    """Answer each task, all in one event loop.

    Args:
        answer: gets the task, and the model's client if that is made before the clock runs.
        model: makes it.
        close: ends it after the clock.
    """

    async def run() -> None:
        for task in _tasks():
            made = [model(task)] if model else []
            began = _now()
            text = await answer(task, *made)
            _report(began, _now(), text)
            if close:
                await close(*made)

    asyncio.run(run())


def _tasks() -> Iterator[Task]:
    for line in iter(sys.stdin.readline, ""):
        yield json.loads(line)


def call_body(tool: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a call, which goes to the task's ``root`` + ``/virtual``."""
    return {**tool["api"], "tool_input": arguments, "strip": "", "toolbench_key": "EMPTY"}


def response_text(reply: Mapping[str, Any]) -> str:
    """Return the response of a call, as a text for the model."""
    response = reply["response"]
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _report(began: tuple[float, float], ended: tuple[float, float], text: str) -> None:
    wall, cpu = (end - begin for begin, end in zip(began, ended, strict=True))
    line = json.dumps({"wall": wall, "cpu": cpu, "text": text})
    # In one piece: a framework may print from another thread.
    sys.stdout.write(f"\n{MARK}{line}\n")
    sys.stdout.flush()
