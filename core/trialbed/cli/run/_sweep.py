"""A run at several numbers of tools: score against number, and who lost what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from trialbed.report import Report, ReportedTrial, Summary
    from trialbed.report.attribution import AttributedCall
    from trialbed.views import Table

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


def check_sweep(given: Mapping[str, Any]) -> None:
    """Refuse options that are about one run.

    Args:
        given: options and their values.

    Raises:
        click.UsageError: one of them is given.
    """
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if names:
        raise click.UsageError(f"{names[0]} is about one run; give --max-tools one number with it")


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
    from trialbed.report.attribution import BY_FRAMEWORK

    if call.reason.startswith(BY_FRAMEWORK):
        return "framework"
    if call.lost == "trial failed":
        return FAILURES.get(trial.failure.kind if trial.failure else "", "framework")
    return STAGES[str(call.lost)]


def sweep_table(reports: Sequence[Report]) -> Table:
    """Score against the number of tools, framework by framework."""
    from trialbed.records import shown_name
    from trialbed.views import Table

    summaries = [summary for report in reports for summary in report.frameworks]
    columns = ["framework", "tools", *map(shown_name, SCORES), *LOSERS]
    notes = (
        "tools: the most that were offered. selector to rig: gold calls that each lost, of all. "
        "selector: not offered; model: not called, with wrong arguments or without use of the result; "
        "framework: offered wrongly, not made, failed, or ended at a call that the model could have mended; "
        "rig: failed at the virtual API or in Trialbed.",
        *_incomplete(summaries),
    )
    return Table.of("score against number of tools", columns, _rows(summaries), notes)


def _rows(summaries: Sequence[Summary]) -> Iterator[tuple[str, ...]]:
    from trialbed.views import number

    names = list(dict.fromkeys(summary.framework for summary in summaries))
    for summary in sorted(summaries, key=lambda item: (names.index(item.framework), _tools(item))):
        void = bool(summary.integrity.void)
        lost = Counter({"calls": 0}) if void else losers(summary)
        found = [None if void else summary.scores.get(name) for name in SCORES]
        scores = [number(score.value if score else None, 3) for score in found]
        shares = [f"{lost[name]} {lost[name] / lost['calls']:.0%}" if lost["calls"] else "-" for name in LOSERS]
        yield summary.framework, f"{_tools(summary):,}", *scores, *shares


def _tools(summary: Summary) -> int:
    return summary.run.config.max_tools


def _incomplete(summaries: Sequence[Summary]) -> Iterator[str]:
    for summary in summaries:
        if summary.incomplete:
            yield f"INCOMPLETE: trials of {summary.framework} with {_tools(summary)} tools were not measured."
