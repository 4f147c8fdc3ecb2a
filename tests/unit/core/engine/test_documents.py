"""The documents of a run, each made with all of its frameworks in view."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from support.trials import run_config

from trialbed.engine import config_digest
from trialbed.engine._documents import run_documents
from trialbed.engine._listeners import Listeners
from trialbed.plugins import plugin_manager
from trialbed.records import Answer, Outcome, Query, Score, Timing, TrialKey, TrialResult, WireLog
from trialbed.store import new_run
from trialbed_plugins.reporters import MarkdownReporter

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def trial(framework: str, query_id: int, wall: float, *, first: bool) -> TrialResult:
    return TrialResult(
        trial=f"token-{framework}-{query_id}",
        key=TrialKey(framework=framework, query_id=query_id),
        seed=0,
        outcome=Outcome(
            started_at=NOW, wall_time=wall, answer=Answer(final_answer="x", finish="give_answer"), first=first
        ),
        wire=WireLog(trial=f"token-{framework}-{query_id}", opened_at=NOW),
        timing=Timing(wall=wall, model=0, tool=0, framework=wall),
        selected_tools=(),
        scores=(Score(name="wall_time", value=wall, bounded=False),),
    )


def documents(*trials: TrialResult) -> dict[str, dict[str, Any]]:
    frameworks = tuple(dict.fromkeys(one.key.framework for one in trials))
    queries = {one.key.query_id: Query(query_id=one.key.query_id, text="", apis=()) for one in trials}
    config = run_config(
        frameworks=frameworks, query_ids=tuple(queries), adapter_versions=dict.fromkeys(frameworks, "1")
    )
    run = new_run(config, config_digest(config)).model_copy(update={"status": "finished"})
    return {
        document["metadata"]["agent_name"]: document
        for document in run_documents(run, queries, trials, Listeners(plugin_manager()))
    }


WARM = (trial("warm", 1, 4.0, first=True), trial("warm", 2, 0.1, first=False))
COLD = (trial("cold", 1, 4.0, first=True), trial("cold", 2, 4.0, first=True))


def test_first_trials_count_in_all_frameworks_or_in_none() -> None:
    """Otherwise a framework whose workers ran one trial each seems slower by their start-up."""
    found = documents(*WARM, *COLD)
    times = {name: document["summary"]["average_wall_time"] for name, document in found.items()}
    assert times == {"warm": pytest.approx(2.05), "cold": 4.0}
    assert not any(document["summary"]["first_trials"]["kept_apart"] for document in found.values())
    written = StringIO()
    MarkdownReporter().report(list(found.values()), written)
    notes = written.getvalue()
    assert "warm: times include the start-up of its workers: 1 of 2 trials was the first of a worker" in notes
    assert "cold: times include the start-up of its workers: 2 of 2 trials were the first of a worker" in notes


def test_first_trials_are_left_out_where_every_framework_has_others() -> None:
    (alone,) = documents(*WARM).values()
    assert (alone["summary"]["average_wall_time"], alone["summary"]["denominators"]["wall_time"]) == (0.1, 1)
    assert alone["summary"]["first_trials"]["kept_apart"]
