"""Every output of a run gives the same number for the same words: tables, pages, documents, exports, comparisons."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from golden.loading import load_runs
from support.cases import for_each
from support.stored_columns import CROSSED, MODELS, load_columns
from support.walks import Figure, Walk, agree, setup_cells

from trialbed.records import Usage
from trialbed.report import conclusions, headline, lead_sentences, legacy_summary, run_title
from trialbed.report.comparison import comparison_tables
from trialbed.scoring import TIMES
from trialbed.store import open_store
from trialbed.texts import percent
from trialbed.views import compact, helper_line
from trialbed_pages.runs.run import run_page, time_plot
from trialbed_plugins.reporters import HtmlReporter, JunitReporter, TableReporter

pytestmark = pytest.mark.slow(15)

NAMES = (
    "20260302T",
    "20260303T",
    "20260304T",
    "20260306T",
    "20260308T",
    "20260311T",
    "20260312T",
    "20260315T",
    "20260316T",
    "20260317T",
    "20260318T",
    "20260319T",
    "20260320T",
    CROSSED,
    MODELS,
)
"""The beginnings of the ids of the stored runs that are walked."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("stored") / "trialbed.db"
    load_runs(str(path))
    load_columns(str(path))
    return str(path)


@pytest.fixture(scope="module", params=NAMES)
def walk(request: pytest.FixtureRequest, store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with open_store(store) as reader:
        yield Walk(reader.run(request.param), store, tmp_path_factory.mktemp("data"))


def documents_agree(walk: Walk) -> None:
    found: dict[Figure, float | None] = {}
    for summary in walk.report.frameworks:
        document = legacy_summary(summary)
        part = document if walk.is_alike else document["common"]
        averages = (
            {name.removeprefix("average_"): value for name, value in part.items() if name.startswith("average_")}
            if walk.is_alike
            else part["averages"]
        )
        found |= {(summary.framework, f"mean {name}"): value for name, value in averages.items()}
        found |= {(summary.framework, f"n {name}"): value for name, value in part["denominators"].items()}
        for name, (low, high) in part["intervals"].items():
            found |= {(summary.framework, f"low {name}"): low, (summary.framework, f"high {name}"): high}
        for name, value in document["medians"].items() if walk.is_alike else ():
            found[summary.framework, f"median {name}"] = value
    agree(walk, found)


def pages_agree(walk: Walk) -> None:
    found: dict[Figure, float | None] = {}
    for name in walk.run.config.frameworks:
        for score in ("sopr_score", "api_call_score", "total_tokens", *(["cost"] if walk.is_priced else []), *TIMES):
            mean = walk.figures.mean(name, score)
            found |= {(name, f"mean {score}"): mean.value, (name, f"n {score}"): mean.denominator}
            if mean.interval and walk.figures.trials.kinds[score].bounded:
                low, high = mean.interval
                found |= {(name, f"low {score}"): low, (name, f"high {score}"): high}
    agree(walk, found)


def the_bar_of_times_adds_up_to_the_mean_of_the_table(walk: Walk) -> None:
    expected = walk.shown
    for bar in time_plot(walk.figures, walk.run.config.frameworks).bars:
        whole = expected.get((bar.label, "mean wall_time"))
        if whole is not None:
            assert bar.text == compact(whole)
            assert math.isclose(bar.total, whole, rel_tol=0.006)


def the_page_of_one_file_agrees(walk: Walk) -> None:
    expected = walk.shown
    rows = re.findall(r'<th scope="row">(.*?)</tr>', walk.page.split("</table>")[0], re.DOTALL)
    shown = [row for row in rows if "<td" in row and re.search(r"<td[^>]*>[^<]", row)]
    setups = run_page(walk.figures).report.frameworks
    models = list(dict.fromkeys(one.model for one in setups))
    for one, row in zip(sorted(setups, key=lambda one: models.index(one.model)), shown, strict=True):
        mean, tokens = expected[one.framework, "mean sopr_score"], one.shown.get("total_tokens")
        assert mean is None or f">{percent(mean)}" in row
        assert not tokens or tokens.median is None or f">{compact(tokens.median)}</td>" in row


def test_the_data_frame(walk: Walk) -> None:
    pytest.importorskip("pandas")
    if not walk.is_alike:  # then tables show a part of the trials only, and the frame has all
        assert len(walk.run.to_frame()) == len(walk.run.trials())
        return
    found = walk.run.to_frame().groupby("framework").mean(numeric_only=True)
    names = [name for name in found.columns if name not in ("repeat", "attempt", "first")]
    means = {
        (framework, f"mean {name}"): None if math.isnan(row[name]) else row[name]
        for framework, row in found.iterrows()
        for name in names
    }
    agree(walk, means)


def tables_agree(walk: Walk) -> None:
    """Each cell of the tables in Markdown, which terminal and HTML have too."""
    expected, seen = walk.shown, 0
    for framework, cells in setup_cells(walk).items():
        for label, cell in cells.items():
            score = label.partition(",")[0].replace("solved", "sopr_score")
            mean, median = (expected.get((framework, f"{kind} {score}")) for kind in ("mean", "median"))
            if mean is None or "middle half" in label:
                continue
            seen += 1
            first, *rest = re.split(r" \[| / | n=", cell)
            assert first in (compact(mean), f"{mean:.2f}"), (score, cell)
            if " / " in cell:
                assert median is not None
                assert rest[0] == compact(median)
    assert seen or not walk.is_alike


def comparisons_give_the_means_of_the_table_over_queries_that_count_once(walk: Walk) -> None:
    for one in walk.compared:
        (table, *_) = comparison_tables([one])
        assert "means over" in table.title
        assert "means may differ from those over all trials" in table.legend[0]
        for side, which in ((one.baseline, "baseline"), (one.candidate, "candidate")):
            for score, found in one.scores.items():
                known = np.isfinite(side.column(score))
                trials = np.unique(side.trials["query"][known], return_counts=True)[1]
                if walk.is_alike and len(trials) == found["n"] and len({*trials.tolist()}) == 1:
                    agree(walk, {(side.name, f"mean {score}"): found[which]})


def findings(walk: Walk) -> dict[tuple[str, str, str], Any]:
    return {
        (one.against, summary.framework, score): found
        for summary in walk.report.frameworks
        for one in summary.comparisons
        for score, found in one.scores.items()
    }


def a_comparison_has_one_p_value(walk: Walk) -> None:
    expected = findings(walk)
    compared = {
        (one.baseline.name, one.candidate.name, score): found
        for one in walk.compared
        for score, found in one.findings.items()
    }
    if not walk.report.incomplete:
        assert compared.keys() == expected.keys()
        for key, found in compared.items():
            told = expected[key]
            assert (found.p_adjusted, found.verdict, found.enough) == (told.p_adjusted, told.verdict, told.enough), key
            assert (found.difference, found.interval) == (told.difference, told.interval), key


def every_output_begins_with_the_same_sentences(walk: Walk) -> None:
    sentences = lead_sentences(walk.report)
    table, page = map(walk.written, (TableReporter(), HtmlReporter()))
    # Lines are broken where the terminal ends.
    assert " ".join(table.split()).startswith(" ".join(" ".join(sentences).split()))
    markdown = [re.sub(r"\\(.)", r"\1", html.unescape(line)) for line in walk.markdown.splitlines()]
    title, _, *rest = markdown
    assert title == f"## {run_title(walk.run.record)}"
    assert [line.removeprefix("* ") for line in rest[: len(sentences)]] == sentences
    for sentence in sentences:
        assert sentence in html.unescape(page.partition("<table")[0])
        assert sentence in html.unescape(walk.page.partition("<table")[0])
    assert walk.figures.conclusions == sentences
    junit = walk.written(JunitReporter())
    for one in conclusions(walk.report):
        assert f'name="conclusion" value="{html.escape(str(one))}"' in junit


def sentences_have_the_figures_of_the_table(walk: Walk) -> None:
    expected, said = walk.shown, headline(walk.report)
    for one in conclusions(walk.report):
        mean = expected.get((one.framework, f"mean {one.score}"))
        if mean is None:
            assert "has no result" in str(one) or "its result is not shown" in str(one)
            assert one.framework in said or "No setup has a result" in said
        else:
            assert f" {percent(mean)} " in str(one)
        lost = walk.report[one.framework].attribution
        if one.lost is not None and lost is not None and lost.gold_calls > lost.counts["used"]:
            told = str(one).replace("its one expected call ", "its 1 expected calls ")
            assert f" its {lost.gold_calls:,} expected calls " in told
    means = {percent(mean) for (_, name), mean in expected.items() if name.startswith("mean ") and mean is not None}
    interval = re.sub(r" \[.*?\]", "", said.partition("failed in")[0])
    assert set(re.findall(r"\d+ %", interval)) <= means


def costs_agree(walk: Walk) -> None:
    """Tables, documents and pages have one cost of a trial, of all of them and of each that is solved."""
    tables = setup_cells(walk)
    if not walk.is_priced:
        assert not any(label.startswith("cost") for cells in tables.values() for label in cells)
        return
    for document in walk.documents:
        name, totals = document["metadata"]["agent_name"], document["summary"]["totals"]
        prices = walk.run.record.prices_of(name)
        if prices is None:
            assert "cost" not in totals
            assert tables[name]["cost of all trials, USD"] == "-"
            continue
        whole, each = totals["cost"], totals["cost_per_solved"]
        assert whole == pytest.approx(sum(prices.cost(usage) for usage in usages(walk, name)))
        assert each == pytest.approx(whole / walk.report[name].counts.solved)
        assert tables[name]["cost of all trials, USD"] == compact(whole)
        assert tables[name]["cost per solved, USD"] == compact(each)
        assert f"{compact(prices.rates[0].input)} in, {compact(prices.rates[0].output)} out" in walk.markdown


def usages(walk: Walk, framework: str) -> Iterator[Usage]:
    for trial in walk.run.trials():
        if trial.key.framework == framework:
            yield from (call.usage for call in trial.wire.model_calls if call.usage is not None)


def recorded_answers_agree(walk: Walk) -> None:
    totals = {one["metadata"]["agent_name"]: one["summary"]["totals"] for one in walk.documents}
    known = {name: own["recorded_requests"] for name, own in totals.items() if "recorded_requests" in own}
    assert bool(known) == (walk.run.run_id.startswith(CROSSED))
    assert len(re.findall("recorded answers: ", walk.page)) == len(known)
    for name, recorded in known.items():
        said = f"{name}: recorded answers: {recorded:,} of {totals[name]['model_requests']:,} requests"
        assert said in walk.markdown
        assert said in walk.page


def helpers_have_the_figures_of_the_table_on_pages_and_in_documents(walk: Walk) -> None:
    for use in walk.run.record.helpers:
        line = helper_line(use)
        assert f"Beside the trials: {line}." in walk.markdown
        assert line in walk.page
        (told,) = walk.documents[0]["metadata"]["helpers"]
        assert (told["requests"], told["cost"]) == (use.requests, use.cost)


def a_slice_is_counted_alike(walk: Walk) -> None:
    """The queries and the trials of a run, over all of a dataset or a part of it in another order."""
    queries, repeats = len(walk.run.config.query_ids), walk.run.config.repeat
    whole = queries * repeats
    assert f"{queries} {'task' if queries == 1 else 'tasks'}" in walk.markdown.partition("\n| ")[0]
    suites = re.findall(r'<testsuite name="[^"]*" tests="([0-9]+)"', walk.written(JunitReporter()))
    for summary, document, tests in zip(walk.report.frameworks, walk.documents, suites, strict=True):
        assert summary.counts.planned == whole
        assert len(document["results"]) == summary.counts.trials
        # One stands for all trials that were never begun.
        assert int(tests) == summary.counts.trials + (summary.counts.trials < whole)
        assert list(dict.fromkeys(row["query_id"] for row in document["results"])) == [
            query for query in walk.run.config.query_ids if query in {trial.query_id for trial in summary.trials}
        ]
        assert re.search(rf"\b{summary.counts.answered} of {whole}\b", walk.page)


OUTPUTS = (
    documents_agree,
    pages_agree,
    the_bar_of_times_adds_up_to_the_mean_of_the_table,
    the_page_of_one_file_agrees,
    tables_agree,
    comparisons_give_the_means_of_the_table_over_queries_that_count_once,
    a_comparison_has_one_p_value,
    every_output_begins_with_the_same_sentences,
    sentences_have_the_figures_of_the_table,
    costs_agree,
    recorded_answers_agree,
    helpers_have_the_figures_of_the_table_on_pages_and_in_documents,
    a_slice_is_counted_alike,
)


@for_each("holds", OUTPUTS)
def test_every_output_has_the_same_figures(walk: Walk, holds: Callable[[Walk], None]) -> None:
    holds(walk)
