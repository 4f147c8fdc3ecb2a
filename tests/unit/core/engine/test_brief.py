"""Documents for tables, of which no whole trial is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.scoring import api_call, gold_call, model_call, sent_call, tool
from support.stored_runs import NEW, run, trial

from trialbed.engine import stored_documents
from trialbed.plugins import plugin_manager
from trialbed.records import Query, Score, TrialResult
from trialbed.store import Store, StoredRun, open_store

PARTS = ("metadata", "summary")
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
    frameworks = ("reference", "langgraph:native", "langgraph:controlled")
    with Store.open(str(path)) as store:
        store.create_run(run(NEW, trial("a", 1, wrong=False).outcome.started_at, frameworks))
        store.add_selection(NEW, 1, "query", (tool("a"),))
        for framework in frameworks:
            store.add_trial(NEW, asked(framework, 1, wrong="native" in framework))
    return path


def test_brief_documents_have_the_figures_of_whole_ones(stored: Path) -> None:
    queries: dict[int | str, Query] = {
        query: Query(query_id=query, text="?", apis=(), gold_calls=(gold_call("a", x=1),)) for query in (1, "a/b")
    }
    for known in (None, queries):
        with open_store(str(stored)) as reader:
            whole, brief = (stored_documents(reader.run(NEW), known, brief=brief) for brief in (False, True))
        assert [list(one["summary"]) for one in brief] == [list(one["summary"]) for one in whole]
        assert [[one[part] for part in PARTS] for one in brief] == [[one[part] for part in PARTS] for one in whole]
        for small, entry in zip(brief[1]["results"], whole[1]["results"], strict=True):
            assert small["wire"].items() <= entry["wire"].items()
            assert {**small, "wire": 0}.items() <= {**entry, "wire": 0}.items()


def test_causes_are_told_from_whole_trials(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    monkeypatch.setattr(
        "trialbed.report.comparison._run.loss_cause",
        lambda *trials: told.extend(LONG in repr(one) for one in trials) or "a cause",
    )
    with open_store(str(stored)) as reader:
        found = stored_documents(reader.run(NEW), brief=True)
    assert told == [True, True]
    assert [one["causes"] for one in found[1]["summary"]["comparisons"] if one["kind"] == "profile"] == [
        {"a cause": [1]}
    ]


def test_of_no_trial_more_is_kept_than_figures_need(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a run of many trials needs gigabytes to be shown as a table."""
    import trialbed.engine._documents as module

    given: list[TrialResult] = []
    run_documents = module.run_documents

    def seen(*arguments: Any, **options: Any) -> Any:
        given.extend(arguments[2])
        return run_documents(*arguments, **options)

    monkeypatch.setattr(module, "run_documents", seen)
    monkeypatch.setattr(StoredRun, "results", lambda _: pytest.fail("all trials were read at once"))
    with open_store(str(stored)) as reader:
        stored_documents(reader.run(NEW), brief=True)
    assert len(given) == 3
    assert all(LONG not in repr(result) for result in given)


def test_a_plugin_that_sums_up_gets_whole_trials(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import trialbed.engine._documents as module
    from trialbed import hookimpl

    class Sums:
        @hookimpl
        def aggregate_scores(self, results: list[TrialResult]) -> dict[str, Any]:
            return {"bytes": sum(len(call.request) for result in results for call in result.wire.model_calls)}

    manager = plugin_manager()
    manager.register(Sums())
    monkeypatch.setattr(module, "plugin_manager", lambda **_: manager)
    with open_store(str(stored)) as reader:
        found = stored_documents(reader.run(NEW), brief=True)
    assert [one["summary"]["bytes"] for one in found] == [2 * len(LONG)] * 3
