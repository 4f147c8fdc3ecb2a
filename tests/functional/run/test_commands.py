"""Any program as an agent."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.warm import warm_programs

from trialbed.preparation import RunOptions
from trialbed.report import legacy_documents
from trialbed.run_report import run_and_report

EXAMPLES = Path(__file__).parents[3] / "examples"
NEEDED = {
    "agent.mjs": ("node", "node", "apt-get install nodejs"),
    "agent.sh": ("bash", "jq", "apt-get install jq curl"),
    "mcp_agent.py": (sys.executable, sys.executable, ""),
    "messages_agent.mjs": ("node", "node", "apt-get install nodejs"),
    "messages_agent.py": (sys.executable, sys.executable, ""),
    "responses_agent.py": (sys.executable, sys.executable, ""),
}
"""Example -> what runs it, what it needs, and how that is installed."""

pytestmark = pytest.mark.slow(40)


def ran(tmp_path: Path, *commands: str, **settings: Any) -> list[dict[str, Any]]:
    """The documents of a run of these commands."""
    options = RunOptions(
        frameworks=(),
        commands=commands,
        store=str(tmp_path / "trialbed.db"),
        output=tmp_path / "results",
        response_cache=tmp_path / "responses.db",
        **{"limit": 2, **settings},
    )
    with warm_programs():
        return legacy_documents(asyncio.run(run_and_report(options)))


@pytest.mark.parametrize("example", NEEDED)
def test_the_examples_solve_their_tasks(tmp_path: Path, example: str) -> None:
    program, needed, remedy = NEEDED[example]
    if shutil.which(needed) is None:
        pytest.skip(f"{needed} is not installed; {remedy}")
    if example == "mcp_agent.py" and version("mcp").startswith("1."):
        pytest.skip("the example is written for the second major version of mcp")
    (document,) = ran(tmp_path, f"{program} {EXAMPLES / example}", limit=1)
    about, summary = document["metadata"], document["summary"]
    assert summary["error_count"] == 0, summary["errors"]
    assert (summary["average_sopr_score"], summary["average_api_call_score"]) == (1.0, 1.0)
    assert (about["agent_name"], about["command"]) == (Path(example).stem, f"{program} {EXAMPLES / example}")


def test_a_program_gets_no_secrets_and_what_it_starts_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own-key-0123456789")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz")
    script = tmp_path / "tell.py"
    script.write_text(
        "import json, os, subprocess, sys\n"
        "left = subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=2)\n"
        "json.dump([left.pid, dict(os.environ)], open(sys.argv[1], 'w'))\n"
    )
    seen = tmp_path / "seen.json"
    ran(tmp_path, f"{sys.executable} {script} {seen}", limit=1)
    pid, environment = json.loads(seen.read_text())
    assert not psutil.pid_exists(pid)
    assert "sk-the-users-own-key" not in json.dumps(environment)
    assert "GITHUB_TOKEN" not in environment
    assert environment["OPENAI_BASE_URL"].endswith("/v1")
    assert environment["TRIALBED_TOOLS_URL"].endswith("/virtual")
    assert environment["TRIALBED_MCP_URL"].endswith("/mcp")


def test_a_program_that_fails_says_why_and_a_changed_one_is_another_run(tmp_path: Path) -> None:
    script = tmp_path / "broken.sh"
    script.write_text("#!/bin/sh\necho no such model >&2\nexit 3\n")
    script.chmod(0o755)
    (first,) = ran(tmp_path, str(script))
    assert "ended with exit code 3: no such model" in json.dumps(first["results"][0]["error"])
    script.write_text("#!/bin/sh\necho done\n")
    (second,) = ran(tmp_path, str(script))
    # An answer without a request to the model is a failure too, but another one.
    assert "model" in json.dumps(second["results"][0]["error"])
    assert "exit code" not in json.dumps(second["results"][0]["error"])
    assert first["metadata"]["framework_version"] != second["metadata"]["framework_version"]
    assert os.path.basename(script) in second["metadata"]["command"]
