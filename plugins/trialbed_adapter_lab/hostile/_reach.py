"""Run an agent that tries to get at things that are none of its business, and see how far it gets."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from trialbed.files import temporary_folder
from trialbed.store import StoredTrial
from trialbed_adapter_lab.hostile._runs import API, hostile_run
from trialbed_adapter_lab.hostile.agents import FILES, PORT, REFUSED, SECRET

ALWAYS = ("secrets in the environment", "tokens of other trials")
"""Things that are kept from agents without a sandbox, too."""

PROBES = (
    *ALWAYS,
    "gold of the dataset",
    "the store",
    "the keys of the project",
    "secrets of the engine",
    "another port",
)
"""Every attempt."""

KEYS = ("OPENAI_API_KEY", "API_KEY2", "MYSQL_PWD", "ACME_TOKEN")
"""Variables with secrets."""


@dataclass(frozen=True)
class ReachResult:
    """The result of an attempt to get at something.

    Attributes:
        got: as the agent says; empty where it was kept out.
        held: whether it was kept out, or is not meant to be without a sandbox.
    """

    probe: str
    got: str
    held: bool


def run_probes(sandbox: str = "none", *, options: Sequence[str] = ()) -> tuple[ReachResult, ...]:
    """Run the snooping adapter.

    Args:
        sandbox, options: as ``run_attacks`` takes them.

    Raises:
        NothingMeasured: the run did not get to its end.
    """
    mark = secrets.token_hex(6)
    with temporary_folder() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        queries = [{"query_id": name, "text": name, "apis": [API]} for name in PROBES]
        (folder / "probes.json").write_text(json.dumps({"name": "probes", "queries": queries}))
        (folder / ".env").write_text(f"OPENAI_API_KEY=sk-KEY-{mark}\n")
        command = ["-f", "snooping", "--dataset", "probes.json", "--model", "scripted:none"]
        variables = dict.fromkeys(KEYS, f"sk-KEY-{mark}")
        variables |= {FILES: str(folder), PORT: str(listener.getsockname()[1]), SECRET: mark}
        with hostile_run(folder, [*command, "--sandbox", sandbox, *options], variables) as run:
            trials = {trial.key.query_id: trial for trial in run.trials()}
        return tuple(_result(name, trials.get(name), sandbox) for name in PROBES)


def _result(probe: str, trial: StoredTrial | None, sandbox: str) -> ReachResult:
    answer = trial.answer.final_answer if trial is not None and trial.answer is not None else ""
    if not answer:
        return ReachResult(probe, "", held=trial is not None and trial.status == "failed" and sandbox != "none")
    kept_out = answer.startswith(REFUSED)
    return ReachResult(probe, "" if kept_out else answer, held=kept_out or (sandbox == "none" and probe not in ALWAYS))
