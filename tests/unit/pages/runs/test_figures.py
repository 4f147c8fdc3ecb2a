"""The figures of a run, and how long they are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from support.stored_runs import NEW, trial
from support.stored_runs import run as stored_run

from trialbed.plugins import installed_listeners
from trialbed.records import ScoreDescription
from trialbed.report import ScoreMean, read_report, worst_queries
from trialbed.report.kept import make_report
from trialbed.store import Store, StoredRun, column_table, open_store
from trialbed_pages.runs import FigureCache, GridFilter, differences, grid_page, run_page
from trialbed_pages.runs import figure_cache as module
from trialbed_pages.runs.headlines import Headline

LESS = "20260303T120000-cccccc"
"""A run of two frameworks, of which one has more trials than the other."""


def told(mean: ScoreMean) -> tuple[object, ...]:
    return mean.value, mean.interval, mean.denominator


def test_means_are_those_of_the_report(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        figures = FigureCache(stored.parent).of(run)
        for summary in read_report(run).frameworks:
            for score in ("sopr_score", "api_call_score", "total_tokens"):
                assert told(figures.mean(summary.framework, score)) == told(summary.scores[score])


def test_the_worst_queries_stand_in_the_order_of_the_report(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        page = run_page(FigureCache(stored.parent).of(run), "sopr_score")
        assert page.worst
        assert [row.query for row in page.worst] == [query.query_id for query in worst_queries(read_report(run))]


def test_comparisons_are_those_of_the_report(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        found = {one.score: one for one in differences(FigureCache(stored.parent).of(run)).findings}
        (comparison,) = read_report(run).frameworks[1].comparisons
    assert found == comparison.scores


def test_what_ranks_mean_is_said_where_they_are_drawn(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        ranks = {"sopr_score": {"a": (1, 1), "b": (2, 3), "c": (2, 3)}}
        found = replace(differences(FigureCache(stored.parent).of(reader.run(NEW))), findings=(), ranks=ranks)
        assert len(found.rank_plots) == 1
        assert found.notes[-1].startswith("Frameworks share a rank unless one is shown to be better.")
        assert not any("ranks by" in note for note in found.notes)


def test_the_measure_of_another_dataset_does_not_lead(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        described = {name: ScoreDescription(name, leads=True) for name in ("bfcl_correct", "api_call_score")}
        store.update_run(NEW, scores=described)
        cache, run = FigureCache(stored.parent), reader.run(NEW)
        assert cache.of(run).headline == ("api_call_score", "sopr_score")
        assert cache.headline(run).score == "api_call_score"


def test_figures_are_the_same_by_a_kept_report(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        run = reader.run(NEW)
        headline = assert_kept_figures_are_the_same(store, run)
        monkeypatch.setattr(module, "column_table", None)
        assert FigureCache(stored.parent).headline(run) == headline


def test_figures_of_trials_that_all_frameworks_have_are_the_same_by_a_kept_report(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        frameworks = ("reference", "langgraph:native")
        store.create_run(stored_run(LESS, datetime(2026, 3, 3, tzinfo=UTC), frameworks))
        store.add_trial(LESS, trial("reference", 1, wrong=True))
        store.add_trial(LESS, trial("reference", "a/b", wrong=False))
        store.add_trial(LESS, trial("langgraph:native", 1, wrong=True))
        store.update_run(LESS, status="incomplete")
        headline = assert_kept_figures_are_the_same(store, reader.run(LESS))
    assert [(mean.value, mean.denominator) for _, mean in headline.means] == [(0.0, 1)] * 2


def assert_kept_figures_are_the_same(store: Store, run: StoredRun) -> Headline:
    """Keep the report of a run; the figures of its pages are those by its trials before. Returns its headline."""
    before, after = FigureCache(Path()), FigureCache(Path())
    by_trials, headline = before.of(run), before.headline(run)
    assert store.keep_report(make_report(run, lambda: read_report(run), installed_listeners()))
    by_report = after.of(run)
    for name, score in product(run.config.frameworks, ("sopr_score", "total_tokens", "wall_time")):
        assert told(by_report.mean(name, score)) == told(by_trials.mean(name, score))
        assert by_report.median(name, score) == by_trials.median(name, score)
    found = after.headline(run)
    assert replace(found, means=()) == replace(headline, means=())
    assert [(name, told(mean)) for name, mean in found.means] == [(name, told(mean)) for name, mean in headline.means]
    return found


def test_figures_are_kept_until_the_run_changes(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH", 0.0)
    read: list[str] = []
    monkeypatch.setattr(module, "column_table", lambda *given: read.append("read") or column_table(*given))
    cache = FigureCache(stored.parent)
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        first = cache.of(reader.run(NEW))
        assert cache.of(reader.run(NEW)) is first
        store.add_trial(NEW, trial("reference", 2, wrong=False))
        second = cache.of(reader.run(NEW))
        store.add_scores(NEW, reader.run(NEW).results()[0], (first.run.results()[1].scores[0],))
        third = cache.of(reader.run(NEW))
    assert [len(one.columns) for one in (first, second, third)] == [4, 5, 5]
    assert len(read) == 3


def test_queries_that_are_not_on_the_page_are_not_looked_at(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        figures = FigureCache(stored.parent).of(reader.run(NEW))
        page = grid_page(figures, "sopr_score", GridFilter(page=2, size=1))
        assert [row.query for row in page.rows] == ["a/b"]
        assert (page.begin, page.last, len(page.matching)) == (1, 2, 2)
        assert list(page.every._made) == [1]


def test_queries_are_chosen_and_ordered(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        figures = FigureCache(stored.parent).of(reader.run(NEW))

    def shown(**chosen: str) -> list[object]:
        return [row.query for row in grid_page(figures, "sopr_score", GridFilter(**chosen)).rows]

    assert shown() == [1, "a/b"]
    assert shown(show="failed") == ["a/b"]
    assert shown(text="A/B") == ["a/b"]
    assert shown(show="differing", sort="worst") == [1, "a/b"]
    assert shown(text="nowhere") == []
