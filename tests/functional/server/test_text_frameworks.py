"""Agents that send no tools, or calls and results as text, get the right values of every policy."""

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

pytestmark = pytest.mark.slow(40)

FRAMEWORKS = ("dspy==3.4.1", "smolagents[openai]==1.26.0")
RESULT = '{"temperature": 48213}'
OSLO = ["Oslo"]
CALLS = {"none": [], "partial": [], "wrong-args": [], "loop": 5 * OSLO}
"""Policy -> the cities of which the tool is asked; Oslo for the others."""

OWN_CALLS = {
    # Arguments that do not parse are mended and called; another name than the tools' ends the run.
    ("dspy", "bad-json"): 2 * OSLO,
    ("dspy", "unknown-tool"): [],
    # Arguments that do not parse are passed on as one text.
    ("smolagents", "bad-json"): ['{"city": "Oslo"', "Oslo"],
}
NO_END = (("dspy", "unknown-tool"), ("smolagents", "loop"), ("code", "loop"))
"""Framework, policy -> where the run ends without an answer of the model's to its results."""

NO_EVIDENCE = ("none", "partial", "giveup", "wrong-args")
"""Policies whose last text does not have the result."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the frameworks."""
    folder = tmp_path_factory.mktemp("frameworks") / "venv"
    uv("venv", "--quiet", "--python", sys.executable, str(folder))
    found = folder / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", str(found), *FRAMEWORKS)
    return found


async def test_every_policy_is_played(serve: Serve, python: Path, tmp_path: Path) -> None:
    client = await serve()
    trials = [(f"{name}-{policy}", name) for policy in POLICIES for name in ("dspy", "smolagents", "code")]
    for trial, _ in trials:
        model = f"scripted:{trial.partition('-')[2]}"
        await client.post("/control/trials", json=registration(trial=trial, model=model))
    task = {"tool": TOOL["name"], "question": "Oslo?", "result": RESULT, "trials": trials}
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
    wrong = []
    # Smolagents prints what goes wrong.
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    for trial, cities, said in lines:
        name, _, policy = trial.partition("-")
        right = OWN_CALLS.get((name, policy), CALLS.get(policy, OSLO))
        evident = policy not in NO_EVIDENCE and (name, policy) not in NO_END
        log = WireLog.model_validate(await closed(client, trial))
        # What the model asked for is seen on the wire, though no call was sent as one.
        seen = [call.name for turn in log.model_calls for call in (*turn.tool_calls, *turn.text_calls)]
        if cities != right or ("48213" in said) != evident or seen.count(TOOL["name"]) < len(cities):
            wrong.append((trial, cities, said, seen))
    assert "\n".join(map(str, wrong)) == ""
    assert len(lines) == len(trials)
