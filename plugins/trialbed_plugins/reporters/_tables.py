"""The figures of a run as a table and as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from trialbed.records import shown_name
from trialbed.report import Report, Summary
from trialbed.scoring import JUDGED
from trialbed.texts import number_of
from trialbed.views import UNKNOWN, IntervalPlot, PlotPoint, Table, TableRow, compact, counts
from trialbed_plugins.reporters._columns import (
    SKEWED,
    Column,
    comparable,
    score_names,
    telling_names,
)
from trialbed_plugins.reporters._notes import brief_notes, mean_text, run_legend, run_notes

REFERENCE = "reference"
"""The framework that the others are compared with; it is repeated in every block of a folded table."""


OVERHEAD = "framework_time"
"""The cost of a framework itself, which stands before all that is read less often."""

MOST_COLUMNS = 4
"""Frameworks from more than which on a terminal that is too narrow shows them as rows."""

HEADLINE = {"api_call_score": "api_call", "total_tokens": "tokens", "wall_time": "time, s"}
"""Figures that stand first where frameworks are rows, beside ``sopr_score``, and their headings there."""

Wanted = tuple[str, Callable[[Column], str]]
"""A heading, and a framework's cell below it."""

BRIEF = {JUDGED: shown_name(JUDGED), **HEADLINE}
"""Figures of the short table beside the one that leads, and their headings."""


def run_table(report: Report) -> Table:
    """Every figure of a run: frameworks are columns."""
    names = [summary.framework for summary in report.frameworks]
    pinned = 1 if names[0] == REFERENCE and len(names) > 1 else 0
    columns = comparable(report)
    alike = _alike(columns)
    table = Table(
        _heading(report),
        ("", *names),
        _rows(columns, alike),
        [
            *run_notes(columns),
            *(
                f"The same as {_label(name, columns)}: {', '.join(map(shown_name, others))}."
                for name, others in alike.items()
                if others
            ),
        ],
        pinned=pinned,
        legend=list(run_legend(columns)),
    )
    if len(names) <= MOST_COLUMNS:
        return table
    return replace(table, narrow=_as_rows(table, columns, _narrow_columns(columns)))


def brief_table(report: Report) -> Table:
    """The most important figures of a run: a row for each framework."""
    columns = comparable(report)
    leading, *_ = telling_names(columns) or [JUDGED]
    return _as_rows(Table(_heading(report), (), [], list(brief_notes(columns))), columns, _first_columns(leading))


def _as_rows(table: Table, columns: Sequence[Column], wanted: Iterable[Wanted]) -> Table:
    """A table with a row for each framework; figures that none has are left out."""
    found = [(heading, [cell(column) for column in columns]) for heading, cell in wanted]
    shown = [(heading, cells) for heading, cells in found if set(cells) - {UNKNOWN, ""}]
    rows = [TableRow(column.name, tuple(cells[place] for _, cells in shown)) for place, column in enumerate(columns)]
    return Table(table.title, ("", *(heading for heading, _ in shown)), rows, table.notes, legend=table.legend)


def _first_columns(leading: str) -> Iterator[Wanted]:
    """Yield the most important figures, of which one leads, where frameworks are rows."""
    yield "without failure", lambda column: f"{column.summary.counts.answered}/{column.summary.counts.planned}"
    yield shown_name(leading), partial(_cell, leading)
    yield from ((heading, partial(_one_figure, name)) for name, heading in BRIEF.items() if name != leading)
    yield from ((status, partial(_ends, status)) for status in ("failed", "not measured"))


def _narrow_columns(columns: Sequence[Column]) -> Iterator[Wanted]:
    """Yield every figure, which can be compared down each column: the most important ones first."""
    yield from _first_columns(JUDGED)
    if all(column.whole for column in columns):
        yield "solved/unsure/unsolved", _verdicts
    others = [name for name in telling_names(columns) if name not in HEADLINE and name != JUDGED]
    for name in sorted(others, key=lambda name: name != OVERHEAD):
        yield _label(name, columns), partial(_one_figure, name)


def _ends(status: str, column: Column) -> str:
    return counts(_kinds(status, column.summary))


def _one_figure(name: str, column: Column) -> str:
    """A score without its interval: the median of times and tokens, the mean of others."""
    found = column.scores.get(name)
    if found is None:
        return UNKNOWN
    value = found.median if found.median is not None and found.unit in SKEWED else found.value
    return UNKNOWN if value is None else f"{value:.2f}" if found.interval else compact(value)


def run_plots(report: Report) -> list[IntervalPlot]:
    """Every score that has intervals, with one point per framework."""
    columns = comparable(report)
    known = report.described
    return [
        IntervalPlot(
            f"{shown_name(name)}: {known[name].meaning}" if name in known and known[name].meaning else shown_name(name),
            [_point(name, column) for column in columns],
            limits=(0.0, 1.0),
        )
        for name in telling_names(columns)
        if any(name in column.scores and column.scores[name].interval for column in columns)
    ]


def run_records(report: Report) -> list[dict[str, Any]]:
    """One record per framework and score."""
    config = report.run.config
    return [
        {
            "agent_name": column.name,
            "framework_version": _version(column.summary),
            "test_set": config.test_set,
            "model": config.of(column.name).model,
            "run_id": report.run.run_id,
            "score": name,
            **_record(name, column),
        }
        for column in comparable(report)
        for name in score_names([column])
    ]


def _record(name: str, column: Column) -> dict[str, Any]:
    found, ends = column.scores[name], column.summary.counts
    low, high = found.interval or (None, None)
    return {
        "mean": found.value,
        "low": low,
        "high": high,
        "median": found.median,
        "n": found.denominator,
        "trials": ends.trials,
        "errors": ends.trials - ends.answered,
    }


def _point(name: str, column: Column) -> PlotPoint:
    found = column.scores.get(name)
    low, high = (found.interval if found else None) or (None, None)
    return PlotPoint(column.name, column.value(name), low, high, _cell(name, column))


def _heading(report: Report) -> str:
    """The subject and the settings of a run, which are the same for every framework."""
    config = report.run.config
    queries = number_of(len(config.query_ids), "query", "queries")
    *first, last = config.models or ("",)
    models = f"{', '.join(first)} and {last}" if first else last
    return (
        f"{config.test_set}: {queries}, model {models}, judge {config.judge}, selector {config.selector}, "
        f"seed {config.seed}, run {report.run.run_id}"
    )


def _alike(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return each score that has a row, with those beside it whose figures are the same for every framework."""
    rows: dict[tuple[object, ...], str] = {}
    found: dict[str, list[str]] = {}
    for name in telling_names(columns):
        known = [column.scores.get(name) for column in columns]
        figures = tuple(one and (one.value, *(one.interval or ()), one.denominator) for one in known)
        if any(one and one.interval for one in known) and figures in rows and name not in BRIEF:
            found[rows[figures]].append(name)
        else:
            found[name] = []
            rows.setdefault(figures, name)
    return found


def _rows(columns: Sequence[Column], names: Iterable[str]) -> list[TableRow]:
    counted = [column.summary.counts for column in columns]
    return [
        TableRow("version", tuple(_version(column.summary) or UNKNOWN for column in columns)),
        TableRow("trials without failure", tuple(f"{ends.answered} of {ends.planned}" for ends in counted)),
        *_end_rows("failed", columns),
        *_end_rows("not measured", columns),
        *_all_verdicts(columns),
        *(row for name in names for row in _score(name, columns)),
    ]


def _version(summary: Summary) -> str | None:
    return summary.info.version if summary.info else None


def _end_rows(status: str, columns: Sequence[Column]) -> list[TableRow]:
    """The trials that failed or were not measured, by kind, if there are any."""
    cells = tuple(_ends(status, column) for column in columns)
    return [TableRow(status, cells, alarming=True)] if any(cells) else []


def _kinds(status: str, summary: Summary) -> dict[str, int]:
    kinds = {found.kind: found.count for found in summary.failures if found.status == status}
    never_begun = summary.counts.not_measured - sum(kinds.values()) if status == "not measured" else 0
    return {**kinds, "not begun": never_begun} if never_begun else kinds


def _all_verdicts(columns: Sequence[Column]) -> list[TableRow]:
    if not all(column.whole for column in columns):
        return []
    return [TableRow("solved/unsure/unsolved", tuple(_verdicts(column) for column in columns))]


def _verdicts(column: Column) -> str:
    if column.summary.integrity.void:
        return UNKNOWN
    ends = column.summary.counts
    return f"{ends.solved}/{ends.unsure}/{ends.unsolved}" + _other_n(column, ends.judged, quality=True)


def _score(name: str, columns: Sequence[Column]) -> Iterator[TableRow]:
    yield TableRow(_label(name, columns), tuple(_cell(name, column) for column in columns))
    if name == "cost":
        yield TableRow("cost per solved, USD", tuple(compact(column.summary.cost_per_solved) for column in columns))
        yield TableRow("cost of all trials, USD", tuple(_whole_cost(column.summary) for column in columns))
    if name == "model_time":
        halves = tuple(_middle_half(name, column) for column in columns)
        if set(halves) != {UNKNOWN}:
            yield TableRow("model_time, middle half, s", halves)


def _whole_cost(summary: Summary) -> str:
    """The cost of all trials and attempts; a lower bound where the model did not report the tokens of every answer."""
    tokens = summary.tokens
    return f"{'at least ' if tokens.unreported else ''}{compact(tokens.cost)}"


def _label(name: str, columns: Sequence[Column]) -> str:
    known = columns[0].described
    return known[name].label if name in known else shown_name(name)


def _cell(name: str, column: Column) -> str:
    found = column.scores.get(name)
    if found is None or found.value is None:
        return UNKNOWN
    if found.interval is None and found.median is not None and found.unit in SKEWED:
        return f"{compact(found.value)} / {compact(found.median)}"
    text = mean_text(found) if found.interval else compact(found.value)
    return text + _other_n(column, found.denominator, quality=found.quality)


def _middle_half(name: str, column: Column) -> str:
    found = column.scores.get(name)
    if found is None or found.quartiles is None:
        return UNKNOWN
    low, high = found.quartiles
    return f"{compact(low)} to {compact(high)}"


def _other_n(column: Column, n: int, *, quality: bool) -> str:
    """The denominator, where it is not the number of trials that the notes say."""
    ends = column.summary.counts
    usual = ends.answered + (ends.failed if quality else 0)
    return "" if n == usual else f" n={n}"
