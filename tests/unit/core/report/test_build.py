"""Reports of runs, each framework summed up with all others in view."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO

import pytest
from support.memory_runs import report_of
from support.trials import run_config

from trialbed.preparation import config_digest
from trialbed.records import Answer, Outcome, Query, Run, Score, Timing, TrialKey, TrialResult, WireLog
from trialbed.report import Report, ScoreSummary
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


def run_of(trials: Sequence[TrialResult]) -> tuple[Run, dict[int | str, Query]]:
    """A finished run with these trials, and its queries."""
    frameworks = tuple(dict.fromkeys(one.key.framework for one in trials))
    queries = {one.key.query_id: Query(query_id=one.key.query_id, text="", apis=()) for one in trials}
    config = run_config(
        frameworks=frameworks, query_ids=tuple(queries), adapter_versions=dict.fromkeys(frameworks, "1")
    )
    return new_run(config, config_digest(config)).model_copy(update={"status": "finished"}), queries


def reported(*trials: TrialResult) -> Report:
    return report_of(*run_of(trials), trials)


WARM = (trial("warm", 1, 4.0, first=True), trial("warm", 2, 0.1, first=False))
COLD = (trial("cold", 1, 4.0, first=True), trial("cold", 2, 4.0, first=True))


def test_first_trials_count_in_all_frameworks_or_in_none() -> None:
    """Otherwise a framework whose workers ran one trial each seems slower by their start-up."""
    found = reported(*WARM, *COLD)
    times = {summary.framework: summary.scores["wall_time"].value for summary in found.frameworks}
    assert times == {"warm": pytest.approx(2.05), "cold": 4.0}
    assert not any(summary.times.first_apart for summary in found.frameworks)
    written = StringIO()
    MarkdownReporter().report(found, written)
    notes = written.getvalue()
    assert "warm: times include the start-up of its workers: 1 of 2 trials was the first of a worker" in notes
    assert "cold: times include the start-up of its workers: 2 of 2 trials were the first of a worker" in notes


def test_first_trials_are_left_out_where_every_framework_has_others() -> None:
    wall = reported(*WARM)["warm"].scores["wall_time"]
    assert (wall.value, wall.denominator) == (0.1, 1)
    assert reported(*WARM)["warm"].times.first_apart


def test_an_incomplete_run_is_compared_only_where_that_is_accepted() -> None:
    trials = [trial(name, query, 1.0, first=False) for name in ("reference", "acme") for query in (1, 2)]
    run, queries = run_of(trials)
    incomplete = run.model_copy(update={"status": "incomplete"})
    refused, accepted = (
        report_of(incomplete, queries, trials, allow_incomplete=allowed)["acme"] for allowed in (False, True)
    )
    assert (refused.comparisons, refused.common, refused.ranks) == ((), None, None)
    assert [one.against for one in accepted.comparisons] == ["reference"]
    assert accepted.common is not None
    assert accepted.common.trials == 2


def test_figures_over_common_trials_have_the_statistics_of_a_finished_run() -> None:
    trials = [trial(name, query, 1.0, first=False) for name in ("reference", "acme") for query in (1, 2)]
    run, queries = run_of(trials)
    finished = report_of(run, queries, trials)["acme"].scores["wall_time"]
    incomplete = run.model_copy(update={"status": "incomplete"})
    common = report_of(incomplete, queries, trials, allow_incomplete=True)["acme"].common
    assert common is not None
    found = common.scores["wall_time"]
    assert isinstance(found, ScoreSummary)
    assert finished.median is not None
    assert (found.median, found.quartiles) == (finished.median, finished.quartiles)
