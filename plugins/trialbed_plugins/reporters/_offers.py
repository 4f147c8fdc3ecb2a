"""A run at several numbers of tools: score against number, and who lost what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from trialbed.attribution import LOSERS
from trialbed.records import shown_name
from trialbed.report import Report, Summary
from trialbed.texts import number_of
from trialbed.views import Table, number

SCORES = ("sopr_score", "api_call_score", "gold_offered")


def offer_tables(report: Report) -> list[Table]:
    """Score against the number of tools, framework by framework; none where all columns are offered as many."""
    if len({_tools(summary) for summary in report.frameworks}) < 2:
        return []
    columns = ["framework", "tools", *map(shown_name, SCORES), *LOSERS]
    legend = (
        "tools: the most that were offered. selector to rig: expected calls that each lost, of all. "
        "selector: not offered; model: not called, with wrong arguments or without use of the result; "
        "framework: offered wrongly, not made, failed, or ended at a call that the model could have mended; "
        "rig: failed at the virtual API or in Trialbed.",
    )
    notes = list(_incomplete(report.frameworks))
    return [Table.of("score against number of tools", columns, _rows(report.frameworks), notes, legend=legend)]


def _rows(summaries: Sequence[Summary]) -> Iterator[tuple[str, ...]]:
    names = list(dict.fromkeys(map(_name, summaries)))
    for summary in sorted(summaries, key=lambda item: (names.index(_name(item)), _tools(item))):
        void = bool(summary.integrity.void)
        lost = None if void else summary.attribution
        calls = lost.gold_calls if lost else 0
        found = [None if void else summary.scores.get(name) for name in SCORES]
        scores = [number(score.value if score else None, 3) for score in found]
        by = lost.losers if lost else {}
        shares = [f"{by.get(name, 0)} {by.get(name, 0) / calls:.0%}" if calls else "-" for name in LOSERS]
        yield _name(summary), f"{_tools(summary):,}", *scores, *shares


def _name(summary: Summary) -> str:
    """The column without the number of tools, which its label ends with where it is not the run's own."""
    return re.sub(r"[@,]max_tools=[0-9]+$", "", summary.framework)


def _tools(summary: Summary) -> int:
    return summary.run.config.of(summary.framework).max_tools


def _incomplete(summaries: Sequence[Summary]) -> Iterator[str]:
    for summary in summaries:
        if missing := summary.counts.not_measured:
            tools, was = number_of(_tools(summary), "tool"), "was" if missing == 1 else "were"
            yield f"INCOMPLETE: {number_of(missing, 'trial')} of {_name(summary)} with {tools} {was} not measured."
