"""The oldest official SDKs that are supported read all that scripted models write, under every policy."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.distributions import uv
from support.servers import SCHEMA, TOOL, Serve, closed, registration
from support.truth import POLICIES

from trialbed.records import WireLog

pytestmark = pytest.mark.slow(25)

SDKS = ("openai==2.36.0", "anthropic==0.125.0")
"""The oldest that ``docs/reference/dialects.md`` names."""

RESULT = '{"temperature": 48213}'
TURNS = {"none": 1, "partial": 1, "bad-json": 3, "unknown-tool": 3, "retry": 3, "loop": 6}
"""Policy -> its requests for one gold call; two for the others."""

NO_EVIDENCE = ("none", "partial", "giveup", "loop", "wrong-args")
"""Policies whose last text does not have the result."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the oldest SDKs."""
    folder = tmp_path_factory.mktemp("sdks") / "venv"
    uv("venv", "--quiet", "--python", sys.executable, str(folder))
    found = folder / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", str(found), *SDKS)
    return found


async def test_every_policy_is_played(serve: Serve, python: Path) -> None:
    client = await serve()
    trials = [
        (f"trial-{policy}-{dialect}-{int(stream)}", dialect, stream)
        for policy in POLICIES
        for dialect in ("messages", "responses")
        for stream in (False, True)
    ]
    for trial, _, _ in trials:
        policy = trial.removeprefix("trial-").rpartition("-")[0].rpartition("-")[0]
        await client.post("/control/trials", json=registration(trial=trial, model=f"scripted:{policy}"))
    said = await _played(python, str(client.base_url).rstrip("/"), trials)
    wrong = []
    for trial, dialect, _ in trials:
        policy = trial.removeprefix("trial-").rpartition("-")[0].rpartition("-")[0]
        log = WireLog.model_validate(await closed(client, trial))
        right, requests = ("48213" in said[trial]) == (policy not in NO_EVIDENCE), TURNS.get(policy, 2)
        statuses = [call.status for call in log.model_calls]
        if not right or statuses != [200] * requests or {call.dialect for call in log.model_calls} != {dialect}:
            wrong.append((trial, said[trial], statuses))
    assert "\n".join(map(str, wrong)) == ""


async def _played(python: Path, url: str, trials: list[tuple[str, str, bool]]) -> dict[str, str]:
    flat = {"name": TOOL["name"], "description": "d"}
    tools = {
        "messages": [{**flat, "input_schema": SCHEMA}],
        "responses": [{**flat, "type": "function", "parameters": SCHEMA, "strict": False}],
    }
    task: dict[str, Any] = {"question": "Oslo?", "result": RESULT, "tools": tools, "trials": trials}
    program = Path(__file__).with_name("sdk_program.py")
    done = await asyncio.to_thread(
        subprocess.run,
        [str(python), str(program), url],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))
