"""DSPy's ReAct, which sends calls and results as text, gets the right values of every policy."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.distributions import uv
from support.servers import TOOL, Serve, closed, registration
from support.trust import one_certificate
from support.truth import POLICIES

from trialbed.records import WireLog

OSLO = ["Oslo"]
CALLS = {"none": [], "partial": [], "wrong-args": [], "loop": 5 * OSLO, "bad-json": 2 * OSLO, "unknown-tool": []}
"""Policy -> the cities of which the tool is asked; Oslo for the others."""

NO_EVIDENCE = ("none", "partial", "giveup", "wrong-args", "unknown-tool")
"""Policies whose last text does not have the result."""


@pytest.mark.slow(40)
async def test_every_policy_is_played(serve: Serve, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    uv("venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv"))
    uv("pip", "install", "--quiet", "--python", str(python), "dspy==3.4.1")
    client = await serve()
    for policy in POLICIES:
        await client.post("/control/trials", json=registration(trial=f"dspy-{policy}", model=f"scripted:{policy}"))
    trials = [f"dspy-{policy}" for policy in POLICIES]
    task = {"tool": TOOL["name"], "question": "Oslo?", "result": '{"temperature": 48213}', "trials": trials}
    done = await asyncio.to_thread(
        subprocess.run,
        [str(python), str(Path(__file__).with_name("text_program.py")), str(client.base_url).rstrip("/")],
        input=json.dumps(task),
        # One is read for each of its clients, none of which uses TLS.
        env={**os.environ, "SSL_CERT_FILE": str(one_certificate(tmp_path / "certificate.pem"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines, wrong = [json.loads(line) for line in done.stdout.splitlines()], []
    for trial, cities, said in lines:
        policy = trial.removeprefix("dspy-")
        log = WireLog.model_validate(await closed(client, trial))
        # What the model asked for is seen on the wire, though no call was sent as one.
        seen = [call.name for turn in log.model_calls for call in (*turn.tool_calls, *turn.text_calls)]
        is_right = cities == CALLS.get(policy, OSLO) and ("48213" in said) == (policy not in NO_EVIDENCE)
        if not is_right or seen.count(TOOL["name"]) < len(cities):
            wrong.append((trial, cities, said, seen))
    assert "\n".join(map(str, wrong)) == ""
    assert len(lines) == len(trials)
