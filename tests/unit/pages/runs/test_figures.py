"""The figures of a run, and how long they are kept."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from support.stored_runs import NEW, trial
from support.stored_runs import run as stored_run

from trialbed.records import Score, ScoreDescription
from trialbed.report import ScoreMean, read_report, worst_queries
from trialbed.store import Store, open_store
from trialbed_pages.runs import GridFilter, GridPage, RunCache, run_page

LESS = "20260303T120000-cccccc"
"""A run of two frameworks, of which one has more trials than the other."""


def told(mean: ScoreMean) -> tuple[object, ...]:
    return mean.value, mean.interval, mean.denominator


def test_means_are_those_of_the_report(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        figures = RunCache(stored.parent).of(run)
        for summary in read_report(run).frameworks:
            for score in ("sopr_score", "api_call_score", "total_tokens"):
                assert told(figures.mean(summary.framework, score)) == told(summary.scores[score])


def test_the_worst_queries_stand_in_the_order_of_the_report(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        page = run_page(RunCache(stored.parent).of(run))
        assert page.worst
        assert [one.query_id for one in page.worst] == [query.query_id for query in worst_queries(read_report(run))]


def test_the_measure_of_another_dataset_does_not_lead(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        described = {name: ScoreDescription(name, leads=True) for name in ("bfcl_correct", "api_call_score")}
        store.update_run(NEW, scores=described)
        cache, run = RunCache(stored.parent), reader.run(NEW)
        assert cache.of(run).headline == ("api_call_score", "sopr_score")
        assert cache.headline(run).score == "api_call_score"


def test_the_list_of_runs_has_the_means_of_the_report(stored: Path) -> None:
    frameworks = ("reference", "langgraph:native")
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        store.create_run(stored_run(LESS, datetime(2026, 3, 3, tzinfo=UTC), frameworks))
        for framework, query_id in ((frameworks[0], 1), (frameworks[0], "a/b"), (frameworks[1], 1)):
            store.add_trial(LESS, trial(framework, query_id, wrong=query_id == 1))
        store.update_run(LESS, status="incomplete")
        finished, incomplete = (RunCache(stored.parent).headline(reader.run(run_id)) for run_id in (NEW, LESS))
    assert (finished.answered, finished.failed, finished.score) == (3, 1, "sopr_score")
    assert [(name, mean.value) for name, mean in finished.means] == [(frameworks[0], 1.0), (frameworks[1], 0.0)]
    # Those of a run that lacks trials are over the query that both have.
    assert (incomplete.answered, incomplete.failed) == (3, 0)
    assert [(mean.value, mean.denominator) for _, mean in incomplete.means] == [(0.0, 1)] * 2


def test_figures_are_kept_until_the_run_changes(stored: Path) -> None:
    cache = RunCache(stored.parent)
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        first = cache.of(reader.run(NEW))
        assert cache.of(reader.run(NEW)) is first
        later = {"attempt": 1, "adapter_digest": "changed"}
        store.add_trial(NEW, trial("langgraph:native", 1, wrong=False).model_copy(update=later))
        second = cache.of(reader.run(NEW))
        store.add_scores(NEW, reader.run(NEW).attempts()[0], [Score(name="new", value=0.5)])
        third = cache.of(reader.run(NEW))
    assert [one.mean("langgraph:native", "sopr_score").value for one in (first, second, third)] == [0.0, 0.5, 0.5]
    assert [one.mean("reference", "new").value for one in (first, second, third)] == [None, None, 0.5]


def test_queries_that_are_not_on_the_page_are_not_looked_at(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        figures = RunCache(stored.parent).of(reader.run(NEW))
        page = GridPage(figures, "sopr_score", GridFilter(page=2, size=1))
        assert [row.query for row in page.rows] == ["a/b"]
        assert (page.begin, page.last, len(page.matching)) == (1, 2, 2)
        assert [key for key in figures._known if "row" in key] == [("row", "sopr_score", "a/b")]


def test_queries_are_chosen_and_ordered(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        figures = RunCache(stored.parent).of(reader.run(NEW))

    def shown(**chosen: str) -> list[object]:
        return [row.query for row in GridPage(figures, "sopr_score", GridFilter(**chosen)).rows]

    assert shown() == [1, "a/b"]
    assert shown(show="failed") == ["a/b"]
    assert shown(text="A/B") == ["a/b"]
    assert shown(show="differing", sort="worst") == [1, "a/b"]
    assert shown(text="nowhere") == []
