"""A cheat is held if it gains nothing, is named, and costs no other framework anything."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.stored_runs import NEW, run, trial

from trialbed.records import Failure, IntegrityFinding, TrialResult
from trialbed.store import Store, open_store
from trialbed_adapter_lab.hostile import Cheat, CheatResult
from trialbed_adapter_lab.hostile._scoring import _results

CHEAT = Cheat("a/b", frozenset({"unasked_call"}))
NAMED = (IntegrityFinding(kind="unasked_call", count=1), IntegrityFinding(kind="added_tool", count=1))


def done(framework: str, *, right: bool = False, findings: Any = (), failure: Failure | None = None) -> TrialResult:
    found = trial(framework, 1, wrong=not right)
    key = found.key.model_copy(update={"query_id": CHEAT.name})
    outcome = found.outcome.model_copy(update={"answer": None, "failure": failure}) if failure else found.outcome
    return found.model_copy(update={"key": key, "outcome": outcome, "integrity": findings})


def result(
    folder: Path, own: TrialResult, *, refusable: bool = False, beside: TrialResult | None = None
) -> CheatResult:
    trials = [done("reference"), own, beside or done("acme")]
    with Store.open(str(folder / "runs.db")) as store:
        store.create_run(run(NEW, datetime(2026, 1, 1, tzinfo=UTC), ("reference", "cheating", "acme")))
        for one in trials:
            store.add_trial(NEW, one)
    with open_store(str(folder / "runs.db")) as reader:
        (found,) = _results(reader.run(NEW), [CHEAT], refusable=refusable)
    return found


def test_a_cheat_that_is_named_and_gains_nothing_is_held(tmp_path: Path) -> None:
    found = result(tmp_path, done("cheating", findings=NAMED))
    assert (found.held, found.named, found.gained) == (True, ("unasked_call", "added_tool"), {})


def test_a_cheat_that_gains_is_not_held_though_it_is_named(tmp_path: Path) -> None:
    found = result(tmp_path, done("cheating", right=True, findings=NAMED))
    assert (found.held, found.gained) == (False, {"sopr_score": (1.0, 0.0)})


@pytest.mark.parametrize(("refusable", "kind", "held"), [(True, "agent", True), (False, "agent", False)])
def test_a_cheat_without_a_name_is_held_only_where_a_sandbox_keeps_it_out(
    tmp_path: Path, refusable: bool, kind: Any, held: bool
) -> None:
    kept_out = done("cheating", failure=Failure(kind=kind, message="PermissionError"))
    assert result(tmp_path, kept_out, refusable=refusable).held is held


def test_a_cheat_whose_trial_is_not_measured_is_not_held(tmp_path: Path) -> None:
    spared = done("cheating", findings=NAMED, failure=Failure(kind="endpoint", message="refused"))
    assert not result(tmp_path, spared).held


def test_a_cheat_that_costs_another_framework_a_trial_is_not_held(tmp_path: Path) -> None:
    beside = done("acme", failure=Failure(kind="endpoint", message="the endpoint is down"))
    found = result(tmp_path, done("cheating", findings=NAMED), beside=beside)
    assert (found.held, found.neighbour) == (False, "the endpoint is down")
