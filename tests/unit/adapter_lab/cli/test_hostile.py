"""``bench adapter check --hostile``: the tables of attacks, cheats and reach."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from trialbed.cli import cli
from trialbed_adapter_lab.cli import _hostile
from trialbed_adapter_lab.hostile import AttackResult, CheatResult, HostileReport, ReachResult

LOST = AttackResult("kill the parent", "worker_crash: gone", "", "worker_crash: gone too", held=False)


def test_each_attack_cheat_and_reach_has_a_row_and_what_was_not_held_says_what_it_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attacks = (AttackResult("exit", "worker_crash: gone", "", "", held=True), LOST)
    cheats = (CheatResult("copy", "scripted:gold", (), {"answer": (1.0, 0.0)}, "", held=False),)
    reach = (ReachResult("another trial's folder", "", held=True),)
    monkeypatch.setattr(_hostile, "run_attacks", lambda name, sandbox, **_: HostileReport(name, sandbox, attacks))
    monkeypatch.setattr(_hostile, "run_cheats", lambda *_, **__: cheats)
    monkeypatch.setattr(_hostile, "run_probes", lambda *_, **__: reach)
    monkeypatch.setenv("COLUMNS", "100")
    assert _hostile.attack("acme", ["none"], yes=True, env_dir=Path(), as_json=False) == 1
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {"exit worker_crash", "kill the parent NOT HELD", "another trial's folder kept out"} <= {*lines}
    assert "kill the parent, sandbox none: not held; its own trial: worker_crash: gone; the next: answered" in "".join(
        lines
    )
    assert "1 of 2 attacks cost their own trial at most, and acme nothing" in lines
    assert any(line.startswith("copy scripted:gold NOT HELD") for line in lines)


def test_the_command_attacks_beside_the_named_adapter_in_the_sandboxes_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def run(*given: Any, options: Any) -> HostileReport:
        asked.append((*given, *options))
        return HostileReport(*given, ())

    reach = (ReachResult("another trial's folder", "", held=True),)
    monkeypatch.setattr(_hostile, "run_attacks", run)
    monkeypatch.setattr(_hostile, "run_cheats", lambda *_, **__: ())
    monkeypatch.setattr(_hostile, "run_probes", lambda *_, **__: reach)
    sandboxes = ["--sandbox", "none", "--sandbox", "process"]
    done = CliRunner().invoke(cli, ["adapter", "check", "reference", "--hostile", *sandboxes, "--yes", "--json"])
    assert done.exit_code == 0, done.output
    assert asked == [("reference", "none", "--yes"), ("reference", "process", "--yes")]
    documents = json.loads(done.stdout)
    assert [document["sandbox"] for document in documents] == ["none", "process"]
    assert documents[0]["reach"] == [asdict(reach[0])]
