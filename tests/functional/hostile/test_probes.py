"""What an agent gets at in a run: without a sandbox all but secrets and other trials, in a sandbox nothing."""

from __future__ import annotations

import json
import secrets
import socket
from pathlib import Path

import pytest
from support.hostile_agents import API, STORE, hostile_run
from support.warm import warm_programs

from trialbed.errors import SandboxUnavailable
from trialbed_plugins.executors.sandbox import check_sandbox

KEPT = {"secrets in the environment", "tokens of other trials"}
OPEN = {"gold of the dataset", "the store", "the keys of the project", "secrets of the engine", "another port"}


@pytest.mark.slow(10)
@pytest.mark.parametrize(("options", "expected"), [((), OPEN), (("--sandbox",), set())])
def test_what_an_agent_gets_at(options: tuple[str, ...], expected: set[str], tmp_path: Path) -> None:
    if options:
        try:
            check_sandbox()
        except SandboxUnavailable as error:
            pytest.skip(str(error))
    mark = secrets.token_hex(6)
    queries = [{"query_id": name, "text": name, "apis": [API]} for name in sorted(KEPT | OPEN)]
    (tmp_path / "probes.json").write_text(json.dumps({"name": "probes", "queries": queries}))
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY=sk-KEY-{mark}\n")
    variables = dict.fromkeys(("OPENAI_API_KEY", "API_KEY2", "MYSQL_PWD", "ACME_TOKEN"), f"sk-KEY-{mark}")
    command = ["-f", "snooping", "--dataset", "probes.json", "--model", "scripted:none", *options]
    with socket.create_server(("127.0.0.1", 0)) as listener, warm_programs():
        variables |= {"HOSTILE_PORT": str(listener.getsockname()[1]), "HOSTILE_MARK": mark}
        variables |= {"HOSTILE_STORE": str(tmp_path / STORE), "HOSTILE_ENV_FILE": str(tmp_path / ".env")}
        with hostile_run(tmp_path, command, variables) as run:
            answers = {trial.key.query_id: trial.answer.final_answer if trial.answer else "" for trial in run.trials()}
    assert set(answers) == KEPT | OPEN
    assert "" not in answers.values()
    assert {name for name, answer in answers.items() if not answer.startswith("refused: ")} == expected
