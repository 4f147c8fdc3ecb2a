from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.scoring import api_call, gold_call, model_call, sent_call, tool
from support.stored_runs import NEW, run, trial

from trialbed import hookimpl
from trialbed.plugins import installed_listeners
from trialbed.records import Query, Score, TrialResult
from trialbed.report import (
    document_parts,
    document_text,
    legacy_document,
    legacy_documents,
    open_documents,
    read_report,
)
from trialbed.store import Store, StoredRun, open_store

FRAMEWORKS = ("reference", "langgraph:native", "langgraph:controlled")
LONG = "L" * 5_000


def asked(framework: str, query: int, *, wrong: bool) -> TrialResult:
    """A trial with two equal requests, a call and a long answer."""
    made = trial(framework, query, wrong=wrong)
    sent = [sent_call("a", '{"x": 1}')]
    calls = {"model_calls": (model_call(request=LONG, sent=sent),) * 2, "api_calls": (api_call("a", {"x": 1}),)}
    wire = made.wire.model_copy(update=calls)
    score = Score(name="evidence", value=1.0, detail={"seen": LONG})
    return made.model_copy(update={"wire": wire, "scores": (*made.scores, score)})


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "trialbed.db"
    with Store.open(str(path)) as store:
        store.create_run(run(NEW, trial("a", 1, wrong=False).outcome.started_at, FRAMEWORKS))
        store.add_selections(NEW, "query", {1: (tool("a"),)})
        for framework in FRAMEWORKS:
            store.add_trial(NEW, asked(framework, 1, wrong="native" in framework))
    return path


def queries() -> dict[int | str, Query]:
    return {query: Query(query_id=query, text="?", apis=(), gold_calls=(gold_call("a", x=1),)) for query in (1, "a/b")}


def test_documents_are_written_as_they_are_read_at_once(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        read = read_report(reader.run(NEW), queries())
        documents = legacy_documents(read)
        assert documents == [legacy_document(read, one) for one in FRAMEWORKS]
        with open_documents(read) as parts:
            streamed = [json.loads(b"".join(document_parts(head, entries))) for head, entries in parts]
        assert streamed == json.loads(document_text(documents))


def test_the_end_of_the_last_trial_needs_no_trial_again(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        found = reader.run(NEW)
        read = read_report(found, queries())
        outcomes = [result.outcome for result in found.results()]
    without = replace(read, frameworks=tuple(replace(each, trials=()) for each in read.frameworks))
    assert without.last_end == max(one.started_at + timedelta(seconds=one.wall_time) for one in outcomes)
    assert replace(read, frameworks=()).last_end is None


def test_causes_are_told_from_whole_trials(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(
        "trialbed.report.comparison._run.loss_cause",
        lambda *trials: seen.extend(LONG in repr(one) for one in trials) or "a cause",
    )
    with open_store(str(stored)) as reader:
        found = read_report(reader.run(NEW))
    assert seen == [True, True]
    assert [one.causes for one in found.frameworks[1].comparisons if one.kind == "profile"] == [{"a cause": [1]}]


def test_of_no_trial_more_is_kept_than_figures_need(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a run of many trials needs gigabytes to be shown as a table."""
    monkeypatch.setattr(StoredRun, "results", lambda _: pytest.fail("all trials were read at once"))
    with open_store(str(stored)) as reader:
        found = read_report(reader.run(NEW), queries())
    trials = [trial for summary in found.frameworks for trial in summary.trials]
    assert len(trials) == 3
    assert all(LONG not in repr(trial) for trial in trials)


def test_whole_trials_are_read_again_from_the_store(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        found = read_report(reader.run(NEW))
        assert [trial.key.framework for trial in found.trials()] == list(FRAMEWORKS)
        assert all(LONG in repr(trial) for trial in found.trials("langgraph:native"))


def test_a_plugin_that_sums_up_gets_whole_trials(stored: Path) -> None:
    class Sums:
        @hookimpl
        def aggregate_scores(self, results: list[TrialResult]) -> dict[str, Any]:
            return {"bytes": sum(len(call.request) for result in results for call in result.wire.model_calls)}

    with open_store(str(stored)) as reader:
        found = read_report(reader.run(NEW), aggregate=installed_listeners({"sums": Sums()}).aggregate)
    assert [one.extra["bytes"] for one in found.frameworks] == [2 * len(LONG)] * 3
