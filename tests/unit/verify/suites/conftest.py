"""Suites sent to simulated vendors."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.verification import target, verify

from trialbed_scripted import serve
from trialbed_verify.suites import write_test_set

Summary = dict[str, Any]
SendSuite = Callable[..., Awaitable[Summary]]


@pytest.fixture
def send_suite(tmp_path: Path) -> SendSuite:
    """Send a suite to a simulated vendor that knows the right answers; returns the suite's summary."""

    async def send(name: str, fault: dict[str, Any] | str = "none", **settings: Any) -> Summary:
        file = tmp_path / f"{name}.jsonl"
        write_test_set([name], file)
        script = {"steps": [fault], "answers": {"test_set": str(file)}}
        async with serve(faults=json.dumps(script)) as server:
            (summary,) = await verify(
                file, target(server.url, tmp_path, **settings), retries=0, fresh=True, request_concurrency=16
            )
        found: Summary = summary["suites"][name]
        return found

    return send
