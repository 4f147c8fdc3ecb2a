"""Every output of a run gives the same number for the same words: tables, pages, documents, exports, comparisons."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from golden.loading import load_runs

from trialbed.contracts import Reporter
from trialbed.engine import known_queries
from trialbed.report import Report, conclusions, legacy_summary, percent, read_report
from trialbed.report.comparison import ComparisonOptions, RunComparison, compare_groups, comparison_tables, read_sides
from trialbed.scoring import TIMES
from trialbed.store import StoredRun, open_store
from trialbed.views import compact
from trialbed_pages.report import run_report
from trialbed_pages.runs import FigureCache, RunFigures, differences
from trialbed_pages.runs.plots import time_plot
from trialbed_plugins.reporters import CsvReporter, HtmlReporter, JunitReporter, MarkdownReporter, TableReporter

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
)
"""The beginnings of the ids of the stored runs that are walked."""

Figure = tuple[str, str]
"""A framework, and what is said of it, such as ``mean wall_time``."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("stored") / "trialbed.db"
    load_runs(str(path))
    return str(path)


class Walk:
    """A run and all of its outputs."""

    def __init__(self, run: StoredRun, store: str, data_dir: Path) -> None:
        self.run, self.store, self.data_dir = run, store, data_dir
        self.report: Report = read_report(run, known_queries(run.config, data_dir))
        self.figures: RunFigures = FigureCache(data_dir).of(run)

    @property
    def is_alike(self) -> bool:
        """Whether figures are over all trials of every framework."""
        return len(self.report.frameworks) == 1 or not self.report.incomplete

    @cached_property
    def compared(self) -> list[RunComparison]:
        sides = read_sides(self.run.run_id, self.store)
        how = ComparisonOptions(allow_incomplete=True, resamples=50)
        return compare_groups([sides], how) if len(sides) > 1 else []

    @cached_property
    def markdown(self) -> str:
        return self.written(MarkdownReporter())

    @cached_property
    def page(self) -> str:
        """The page of one file."""
        return run_report(self.run, data_dir=self.data_dir)

    @cached_property
    def shown(self) -> Mapping[Figure, float | None]:
        """The figures of the run, as CSV has them."""
        return {
            (record["agent_name"], f"{kind} {record['score']}"): float(record[kind]) if record[kind] else None
            for record in csv.DictReader(io.StringIO(self.written(CsvReporter())))
            for kind in ("mean", "low", "high", "median", "n")
        }

    def written(self, reporter: Reporter) -> str:
        stream = io.StringIO()
        reporter.report(self.report, stream)
        return stream.getvalue()


@pytest.fixture(scope="module", params=NAMES)
def walk(request: pytest.FixtureRequest, store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with open_store(store) as reader:
        yield Walk(reader.run(request.param), store, tmp_path_factory.mktemp("data"))


def table_rows(text: str) -> list[list[str]]:
    """The cells of the first table of a text in Markdown."""
    first = next(part for part in text.split("\n\n") if part.startswith("|"))
    lines = [line for line in first.splitlines() if line.startswith("|")]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def agree(walk: Walk, others: Mapping[Figure, float | None], *, least: int = 1) -> None:
    expected = walk.shown
    found = {key: value for key, value in others.items() if key in expected}
    assert len(found) >= least
    for key, value in found.items():
        told = expected[key]
        assert (value is None) == (told is None), key
        assert value is None or told is None or math.isclose(value, told, rel_tol=1e-9, abs_tol=1e-12), (
            key,
            value,
            told,
        )


def test_documents(walk: Walk) -> None:
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


def test_pages(walk: Walk) -> None:
    found: dict[Figure, float | None] = {}
    for name in walk.run.config.frameworks:
        for score in ("sopr_score", "api_call_score", "total_tokens", *TIMES):
            mean = walk.figures.mean(name, score)
            found |= {(name, f"mean {score}"): mean.value, (name, f"n {score}"): mean.n}
            if mean.interval and walk.figures.columns.kinds[score].bounded:
                found |= {(name, f"low {score}"): mean.interval.low, (name, f"high {score}"): mean.interval.high}
            if walk.is_alike:
                found[name, f"median {score}"] = (
                    None if score in ("sopr_score", "api_call_score") else (walk.figures.median(name, score))
                )
    agree(walk, found)


def test_the_bar_of_times_adds_up_to_the_mean_of_the_table(walk: Walk) -> None:
    expected = walk.shown
    for bar in time_plot(walk.figures, walk.run.config.frameworks).bars:
        whole = expected.get((bar.label, "mean wall_time"))
        if whole is not None:
            assert bar.text == compact(whole)
            assert math.isclose(bar.total, whole, rel_tol=0.006)


def test_the_page_of_one_file(walk: Walk) -> None:
    expected = walk.shown
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', walk.page.split("</table>")[0], re.DOTALL)
    for name in walk.run.config.frameworks:
        (row,) = [row for row in rows if re.sub(r"<[^>]*>", "", row).strip().startswith(name)]
        cells = re.findall(r"<td>(.*?)</td>", row, re.DOTALL)
        tokens, wall, framework = cells[1:4]
        for cell, score in ((tokens, "total_tokens"), (wall, "wall_time"), (framework, "framework_time")):
            summary = walk.report[name].scores.get(score)
            if walk.is_alike and summary is not None:
                assert cell == ("\N{EN DASH}" if summary.median is None else compact(summary.median)), (name, score)
        mean = expected[name, "mean sopr_score"]
        assert f"<b>{'-' if mean is None else f'{mean:.2f}'}" in row


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


def test_the_table(walk: Walk) -> None:
    """Each cell of the table in Markdown, which terminal and HTML have too."""
    expected, seen = walk.shown, 0
    frameworks = walk.run.config.frameworks
    for label, *cells in table_rows(walk.markdown):
        score = label.partition(",")[0].replace("solved", "sopr_score")
        for framework, cell in zip(frameworks, cells, strict=False):
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


def test_comparisons_give_the_means_of_the_table_or_say_that_they_do_not(walk: Walk) -> None:
    for one in walk.compared:
        (table, *_) = comparison_tables([one])
        notes = [note.partition(":")[0] for note in table.notes if "each counted once" in note]
        noted = {name for names in notes for name in names.split(", ")}
        for side in ("baseline", "candidate"):
            name = getattr(one, side).name
            means = {score: getattr(found, side) for score, found in one.scores.items()}
            for score, mean in means.items():
                if walk.is_alike and score.replace("sopr_score", "solved") not in noted:
                    agree(walk, {(name, f"mean {score}"): mean})


def findings(walk: Walk) -> dict[tuple[str, str, str], Any]:
    return {
        (one.against, summary.framework, score): found
        for summary in walk.report.frameworks
        for one in summary.comparisons
        for score, found in one.scores.items()
    }


def test_a_comparison_has_one_p_value(walk: Walk) -> None:
    expected = findings(walk)
    compared = {
        (one.baseline.name, one.candidate.name, score): found
        for one in walk.compared
        for score, found in one.findings.items()
    }
    paged = {(one.baseline, one.candidate, one.score): one for one in differences(walk.figures).findings}
    for others in (compared, paged):
        assert others.keys() == expected.keys()
        for key, found in others.items():
            told = expected[key]
            assert (found.p_adjusted, found.verdict, found.needed) == (told.p_adjusted, told.verdict, told.needed), key
            assert (found.difference, found.interval) == (told.difference, told.interval), key


def test_no_verdict_contradicts_its_figures_without_a_word(walk: Walk) -> None:
    texts = [re.sub(r"\\(.)", r"\1", line) for line in walk.markdown.splitlines()]
    for (against, framework, score), found in findings(walk).items():
        holds_0 = found.interval.low <= 0 <= found.interval.high
        is_shown = found.verdict in ("better", "worse")
        if found.changed_queries and (not holds_0 or found.p_adjusted < 0.05) != is_shown:
            assert any(framework in text and found.explanation in text for text in texts), (against, framework, score)
            assert found.explanation


def test_every_output_begins_with_the_same_sentences(walk: Walk) -> None:
    sentences = list(map(str, conclusions(walk.report)))
    assert len(sentences) == len(walk.run.config.frameworks)
    table, page, junit = map(walk.written, (TableReporter(), HtmlReporter(), JunitReporter()))
    # Lines are broken where the terminal ends.
    assert " ".join(table.split()).startswith(" ".join(sentences))
    markdown = [re.sub(r"\\(.)", r"\1", line) for line in walk.markdown.splitlines()]
    assert [line.removeprefix("* ") for line in markdown[: len(sentences)]] == sentences
    for sentence in sentences:
        assert html.escape(sentence) in page.partition("<table")[0]
        assert f'name="conclusion" value="{html.escape(sentence)}"' in junit
        assert html.escape(sentence) in walk.page.partition("<table")[0]
    assert walk.figures.conclusions == sentences


def test_sentences_have_the_figures_of_the_table(walk: Walk) -> None:
    expected = walk.shown
    for one in conclusions(walk.report):
        mean = expected.get((one.framework, f"mean {one.score}"))
        if mean is None:
            assert "has no result yet" in str(one)
        else:
            assert f" {percent(mean)} " in str(one)
        lost = walk.report[one.framework].attribution
        if one.lost is not None and lost is not None and lost.gold_calls > lost.counts["used"]:
            assert f"{lost.gold_calls - lost.counts['used']:,} lost calls" in str(one).replace(
                "its one", "1 lost calls"
            )
