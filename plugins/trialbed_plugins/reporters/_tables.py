"""The figures of a run as a table and as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from trialbed.scoring import JUDGED
from trialbed.views import UNKNOWN, IntervalPlot, PlotPoint, Table, TableRow, compact, counts, estimate
from trialbed_plugins.reporters._notes import (
    AVERAGE,
    LEGEND,
    comparable,
    run_legend,
    run_notes,
    score_names,
    telling_names,
)

Document = Mapping[str, Any]

REFERENCE = "reference"
"""The framework that the others are compared with; it is repeated in every block of a folded table."""


OVERHEAD = "framework_time"
"""What it costs to use a framework, which stands before all that is read less often."""

MEDIANS = ("_time", "_tokens")
"""How figures end whose median says more than their mean."""

MOST_COLUMNS = 4
"""Frameworks from more than which on a terminal that is too narrow shows them as rows."""

HEADLINE = {"api_call_score": "api_call", "total_tokens": "tokens", "wall_time": "time, s"}
"""Figures that stand first where frameworks are rows, beside ``sopr_score``, and their headings there."""


def run_table(documents: Sequence[Document]) -> Table:
    """Every figure of a run: frameworks are columns."""
    names = [document["metadata"]["agent_name"] for document in documents]
    pinned = 1 if names[0] == REFERENCE and len(names) > 1 else 0
    shown = comparable(documents)
    table = Table(
        _heading(documents[0]),
        ("", *names),
        _rows(shown),
        list(run_notes(shown)),
        pinned=pinned,
        legend=list(run_legend(shown)),
    )
    return replace(table, narrow=_narrow_table(table, shown)) if len(names) > MOST_COLUMNS else table


def _narrow_table(table: Table, documents: Sequence[Document]) -> Table:
    """A row for each framework, which can be compared down each column: the most important figures first."""
    summaries = [document["summary"] for document in documents]
    found = [(heading, [cell(summary) for summary in summaries]) for heading, cell in _narrow_columns(summaries)]
    shown = [(heading, cells) for heading, cells in found if set(cells) - {UNKNOWN, ""}]
    rows = [
        TableRow(document["metadata"]["agent_name"], tuple(cells[place] for _, cells in shown))
        for place, document in enumerate(documents)
    ]
    return Table(table.title, ("", *(heading for heading, _ in shown)), rows, table.notes, legend=table.legend)


def _narrow_columns(summaries: Sequence[Document]) -> Iterator[tuple[str, Callable[[Document], str]]]:
    yield "answered", lambda summary: f"{summary['answered_count']}/{_planned(summary)}"
    yield JUDGED, partial(_cell, JUDGED)
    yield from ((heading, partial(_one_figure, name)) for name, heading in HEADLINE.items())
    for status in ("failed", "not measured"):
        yield status, partial(_ends, status)
    if all("solved_count" in summary for summary in summaries):
        yield "solved/unsure/unsolved", _status_counts
    others = [name for name in telling_names(summaries) if name not in HEADLINE and name != JUDGED]
    for name in sorted(others, key=lambda name: name != OVERHEAD):
        yield _with_unit(name), partial(_one_figure, name)


def _ends(status: str, summary: Document) -> str:
    return counts(_kinds(status, summary))


def _one_figure(name: str, summary: Document) -> str:
    """A score without its interval: the median of times and tokens, the mean of others."""
    median = summary["medians"].get(name) if name.endswith(MEDIANS) else None
    value = summary.get(f"{AVERAGE}{name}") if median is None else median
    return UNKNOWN if value is None else f"{value:.2f}" if name in summary["intervals"] else compact(value)


def run_plots(documents: Sequence[Document]) -> list[IntervalPlot]:
    """Every score that has intervals, with one point per framework."""
    documents = comparable(documents)
    summaries = [document["summary"] for document in documents]
    bounded = [name for name in telling_names(summaries) if any(name in found["intervals"] for found in summaries)]
    return [
        IntervalPlot(
            f"{name}: {LEGEND[name]}" if name in LEGEND else name,
            [_point(name, document) for document in documents],
            limits=(0.0, 1.0),
        )
        for name in bounded
    ]


def run_records(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One record per framework and score."""
    return [
        {
            "agent_name": document["metadata"]["agent_name"],
            "framework_version": document["metadata"]["framework_version"],
            "test_set": document["metadata"]["test_set"],
            "model": document["metadata"]["model"],
            "run_id": document["metadata"]["run_id"],
            "score": name,
            **_record(name, document["summary"]),
        }
        for document in comparable(documents)
        for name in score_names([document["summary"]])
    ]


def _record(name: str, summary: Document) -> dict[str, Any]:
    low, high = summary["intervals"].get(name) or (None, None)
    return {
        "mean": summary.get(f"{AVERAGE}{name}"),
        "low": low,
        "high": high,
        "median": summary["medians"].get(name),
        "n": summary["denominators"].get(name),
        "trials": summary["total_trials"],
        "errors": summary["error_count"],
    }


def _point(name: str, document: Document) -> PlotPoint:
    summary = document["summary"]
    low, high = summary["intervals"].get(name) or (None, None)
    return PlotPoint(
        document["metadata"]["agent_name"], summary.get(f"{AVERAGE}{name}"), low, high, _cell(name, summary)
    )


def _heading(document: Document) -> str:
    """The subject and the settings of a run, which are the same for every framework."""
    about = document["metadata"]
    queries = "1 query" if about["num_queries"] == 1 else f"{about['num_queries']} queries"
    return (
        f"{about['test_set']}: {queries}, model {about['model']}, "
        f"judge {about['evaluator_model']}, selector {about['selector']}, seed {about['seed']}, run {about['run_id']}"
    )


def _rows(documents: Sequence[Document]) -> list[TableRow]:
    summaries = [document["summary"] for document in documents]
    return [
        TableRow("version", tuple(document["metadata"]["framework_version"] or UNKNOWN for document in documents)),
        TableRow("trials answered", tuple(_answered(summary) for summary in summaries)),
        *_ended("failed", summaries),
        *_ended("not measured", summaries),
        *_statuses(summaries),
        *(row for name in telling_names(summaries) for row in _average(name, summaries)),
    ]


def _answered(summary: Document) -> str:
    return f"{summary['answered_count']} of {_planned(summary)}"


def _planned(summary: Document) -> int:
    return int(summary["answered_count"] + summary["failed_count"] + summary["not_measured_count"])


def _ended(status: str, summaries: Sequence[Document]) -> list[TableRow]:
    """The trials that failed or were not measured, by kind, if there are any."""
    cells = tuple(_ends(status, summary) for summary in summaries)
    return [TableRow(status, cells, alarming=True)] if any(cells) else []


def _kinds(status: str, summary: Document) -> dict[str, int]:
    kinds = {found["kind"]: found["count"] for found in summary["failures"] if found["status"] == status}
    never_begun = summary["not_measured_count"] - sum(kinds.values()) if status == "not measured" else 0
    return {**kinds, "not begun": never_begun} if never_begun else kinds


def _statuses(summaries: Sequence[Document]) -> list[TableRow]:
    if any("solved_count" not in summary for summary in summaries):
        return []
    return [TableRow("solved/unsure/unsolved", tuple(_status_counts(summary) for summary in summaries))]


def _status_counts(summary: Document) -> str:
    counts = "/".join(str(summary[f"{status}_count"]) for status in ("solved", "unsure", "unsolved"))
    return counts + _other_n(summary, "solved")


def _average(name: str, summaries: Sequence[Document]) -> Iterator[TableRow]:
    yield TableRow(_with_unit(name), tuple(_cell(name, summary) for summary in summaries))
    if name == "model_time":
        halves = tuple(_middle_half(name, summary) for summary in summaries)
        if set(halves) != {UNKNOWN}:
            yield TableRow("model_time, middle half, s", halves)


def _with_unit(name: str) -> str:
    return f"{name}, s" if name.endswith("_time") else name


def _cell(name: str, summary: Document) -> str:
    value = summary.get(f"{AVERAGE}{name}")
    if value is None:
        return UNKNOWN
    interval = summary["intervals"].get(name)
    if interval is not None:
        return estimate({"value": value, "low": interval[0], "high": interval[1]}, 2) + _other_n(summary, name)
    median = summary["medians"].get(name)
    if name.endswith(MEDIANS) and median is not None:
        return f"{compact(value)} / {compact(median)}"
    return compact(value) + _other_n(summary, name)


def _middle_half(name: str, summary: Document) -> str:
    ends = summary["quartiles"].get(name)
    return UNKNOWN if ends is None else f"{compact(ends[0])} to {compact(ends[1])}"


def _other_n(summary: Document, name: str) -> str:
    """The denominator, where it is not the number of trials that the notes say."""
    n = summary["denominators"].get(name)
    is_quality = name in summary["quality_scores"] or name == "solved"
    usual = summary["answered_count"] + (summary["failed_count"] if is_quality else 0)
    return "" if n is None or n == usual else f" n={n}"
