"""Plugins hear of a verification as of any run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.verification import rows, target, verify, written_set
from support.wire import BODY, reply, saying

from trialbed import hookimpl, plugins
from trialbed.plugins import empty_manager
from trialbed.records import Run, TrialResult
from trialbed.report import Report

CASES = 3


class Witness:
    def __init__(self, results: Path) -> None:
        self.results = results
        self.told: list[str] = []
        self.begun: list[Run] = []
        self.trials: list[tuple[Run, TrialResult]] = []
        self.ended: list[tuple[Run, int, int]] = []

    @hookimpl
    def run_started(self, run: Run) -> None:
        self.told.append("run_started")
        self.begun.append(run)

    @hookimpl
    def trial_finished(self, run: Run, result: TrialResult) -> None:
        self.told.append("trial_finished")
        self.trials.append((run, result))

    @hookimpl
    def run_finished(self, run: Run, report: Report) -> None:
        self.told.append("run_finished")
        assert report.run == run
        self.ended.append((run, len(list(report.trials())), len(rows(self.results))))


@pytest.fixture
def witness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Witness:
    heard, manager = Witness(tmp_path / "results.jsonl"), empty_manager()
    manager.register(heard, name="witness")
    monkeypatch.setattr(plugins, "plugin_manager", lambda **_: manager)
    return heard


async def verified(folder: Path, answer: bytes) -> None:
    file = folder / "set.jsonl"
    async with saying(answer) as server:
        await verify(file if file.exists() else written_set(file, CASES), target(server.url, folder), retries=0)


async def test_plugins_hear_of_a_verification_and_of_its_trials(witness: Witness, tmp_path: Path) -> None:
    await verified(tmp_path, reply(f"Content-Length: {len(BODY)}"))
    assert witness.told == ["run_started", *["trial_finished"] * CASES, "run_finished"]
    (begun,), ((ended, stored, written),) = witness.begun, witness.ended
    assert {run.run_id for run, _ in witness.trials} == {begun.run_id} == {ended.run_id}
    assert sorted(int(result.key.query_id) for _, result in witness.trials) == [1, 2, 3]
    assert {result.status for _, result in witness.trials} == {"answered"}
    (endpoint,) = ended.endpoints
    assert (ended.status, endpoint.success_rate, stored, written) == ("finished", 1.0, CASES, CASES)
