"""Run an agent that snoops, and see how far it got."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence

from trialbed.errors import NothingMeasured, TrialbedError
from trialbed.files import temporary_folder
from trialbed.store import StoredTrial, open_store
from trialbed_adapter_lab.hostile._probes import ALWAYS, PROBES, ReachResult
from trialbed_adapter_lab.hostile._suite import API, hostile_environment, install_hostile_adapter
from trialbed_adapter_lab.hostile.agents import FILES, PORT, REFUSED, SECRET

ENTRY_POINTS = "[trialbed.frameworks]\nsnooping = trialbed_adapter_lab.hostile.agents:Snooping\n"

KEYS = ("OPENAI_API_KEY", "API_KEY2", "MYSQL_PWD", "ACME_TOKEN")
"""Variables with secrets."""


def run_probes(sandbox: str = "none", *, options: Sequence[str] = ()) -> tuple[ReachResult, ...]:
    """Run the snooping adapter.

    Args:
        sandbox, options: as ``run_attacks`` takes them.

    Raises:
        NothingMeasured: the run did not get to its end.
    """
    mark = secrets.token_hex(6)
    with temporary_folder() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        install_hostile_adapter(folder / "site", entry_points=ENTRY_POINTS)
        queries = [{"query_id": name, "text": name, "apis": [API]} for name in PROBES]
        (folder / "probes.json").write_text(json.dumps({"name": "probes", "queries": queries}))
        (folder / ".env").write_text(f"OPENAI_API_KEY=sk-KEY-{mark}\n")
        command = [sys.executable, "-P", "-m", "trialbed", "run", "-f", "snooping", "--dataset", "probes.json"]
        command += ["--model", "scripted:none", "--sandbox", sandbox, "--store", "reach.db", *options]
        environment = hostile_environment(folder / "site") | dict.fromkeys(KEYS, f"sk-KEY-{mark}")
        environment |= {FILES: str(folder), PORT: str(listener.getsockname()[1]), SECRET: mark}
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        try:
            with open_store(str(folder / "reach.db")) as reader:
                trials = {trial.key.query_id: trial for trial in reader.run("latest").trials()}
        except TrialbedError as error:
            raise NothingMeasured(
                f"the run of the snooping agent ended with exit code {done.returncode}: {error}"
            ) from error
        return tuple(_result(name, trials.get(name), sandbox) for name in PROBES)


def _result(probe: str, trial: StoredTrial | None, sandbox: str) -> ReachResult:
    answer = trial.answer.final_answer if trial is not None and trial.answer is not None else ""
    if not answer:
        return ReachResult(probe, "", held=trial is not None and trial.status == "failed" and sandbox != "none")
    kept_out = answer.startswith(REFUSED)
    return ReachResult(probe, "" if kept_out else answer, held=kept_out or (sandbox == "none" and probe not in ALWAYS))
