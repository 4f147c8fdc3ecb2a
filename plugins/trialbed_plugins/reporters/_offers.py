"""A run at several numbers of tools: score against number, and who lost what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from trialbed.records import shown_name
from trialbed.report import Report, ReportedTrial, Summary
from trialbed.report.attribution import BY_FRAMEWORK, AttributedCall
from trialbed.views import Table, number

SCORES = ("sopr_score", "api_call_score", "gold_offered")

LOSERS = ("selector", "model", "framework", "rig")
"""The parties that can lose a gold call; the rig is the virtual API and Trialbed itself."""

STAGES = {
    "not offered": "selector",
    "not called": "model",
    "wrong arguments": "model",
    "not used": "model",
    "not made": "framework",
    "api failed": "rig",
}
"""Stage -> who lost a call at it."""

FAILURES = {"model": "model", "limit": "model"} | dict.fromkeys(
    ("budget", "endpoint", "replay", "server", "tool", "judge", "scorer"), "rig"
)
"""Kind of failure -> who lost the calls of the trial; the framework at all others."""


def losers(summary: Summary) -> Counter[str]:
    """Count the gold calls that each lost in the trials of a framework, and all of them as ``calls``."""
    found: Counter[str] = Counter()
    for trial in summary.trials:
        for call in trial.gold_calls or ():
            found["calls"] += 1
            if call.lost is not None:
                found[_loser(call, trial)] += 1
    return found


def _loser(call: AttributedCall, trial: ReportedTrial) -> str:
    if call.reason.startswith(BY_FRAMEWORK):
        return "framework"
    if call.lost == "trial failed":
        return FAILURES.get(trial.failure.kind if trial.failure else "", "framework")
    return STAGES[str(call.lost)]


def offer_tables(report: Report) -> list[Table]:
    """Score against the number of tools, framework by framework; none where all columns are offered as many."""
    if len({_tools(summary) for summary in report.frameworks}) < 2:
        return []
    columns = ["framework", "tools", *map(shown_name, SCORES), *LOSERS]
    legend = (
        "tools: the most that were offered. selector to rig: gold calls that each lost, of all. "
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
        lost = Counter({"calls": 0}) if void else losers(summary)
        found = [None if void else summary.scores.get(name) for name in SCORES]
        scores = [number(score.value if score else None, 3) for score in found]
        shares = [f"{lost[name]} {lost[name] / lost['calls']:.0%}" if lost["calls"] else "-" for name in LOSERS]
        yield _name(summary), f"{_tools(summary):,}", *scores, *shares


def _name(summary: Summary) -> str:
    """The column without the number of tools, which its label ends with where it is not the run's own."""
    return re.sub(r"[@,]max_tools=[0-9]+$", "", summary.framework)


def _tools(summary: Summary) -> int:
    return summary.run.config.of(summary.framework).max_tools


def _incomplete(summaries: Sequence[Summary]) -> Iterator[str]:
    for summary in summaries:
        if summary.incomplete:
            yield f"INCOMPLETE: trials of {_name(summary)} with {_tools(summary)} tools were not measured."
