"""The failures of a run: the worst queries, and why trials failed, were not measured or have no score."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from trialbed.records import shown_name
from trialbed.report._records import QueryId, Reason, Summary, WorstQuery
from trialbed.store import TrialRow
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.report._report import Report

SHOWN = 5
"""Queries that are listed if no other number is asked for."""

DIGITS = 12
"""Digits of mean qualities, so that those of the same trials in another order are equal."""

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""


def worst_queries(report: Report, most: int = SHOWN) -> list[WorstQuery]:
    """Return the queries on which most went wrong, the worst first; none if everything went right.

    Trials that were not measured come last.
    """
    import numpy as np

    table = report.table
    # The mean of the scores that say how a trial went; one without a value is 0.
    means = np.mean([np.nan_to_num(table.values(name, zeros=True)) for name in JUDGING], axis=0)
    counts = table["api_errors"] + table["invalid_calls"] + table["request_errors"]
    flawed = (~table.answered | (means < 1) | (counts > 0)).tolist()
    quality, faults, measured = means.tolist(), counts.tolist(), table.measured.tolist()
    by_query: dict[int, list[int]] = {}
    for place, number in enumerate(table["query"].tolist()):
        by_query.setdefault(number, []).append(place)

    def order(places: list[int]) -> tuple[bool, float, float]:
        known = [quality[place] for place in places if measured[place]]
        return not known, round(sum(known) / max(len(known), 1), DIGITS), -sum(faults[place] for place in places)

    found = []
    for places in sorted((own for own in by_query.values() if any(flawed[at] for at in own)), key=order)[:most]:
        rows = [table.row(place) for place in places]
        trials: dict[str, list[TrialRow]] = {}
        for row in rows:
            trials.setdefault(row.key.framework, []).append(row)
        worst = min(
            (row for row in rows if flawed[row.place]),
            key=lambda row: (row.status == "not measured", quality[row.place], -faults[row.place]),
        )
        found.append(WorstQuery(worst.query_id, report.queries[worst.query_id].text, trials, worst))
    return found


def trial_name(framework: str, query: QueryId, repeat: int = 0) -> str:
    """Return the name of a trial within its run, as ``bench show`` takes it: ``reference/17/2``."""
    # In quotes if a number would be taken for one.
    shown = f'"{query}"' if isinstance(query, str) and query.isdigit() else str(query)
    return f"{framework}/{shown}" + (f"/{repeat}" if repeat else "")


def how_to_complete(summaries: Iterable[Summary]) -> str:
    """Return the command that runs the trials that were not measured, as a clause."""
    kinds = {reason.kind for summary in summaries for reason in summary.failures}
    if "budget" in kinds:
        return "the same command with a larger --budget runs what is missing"
    if "replay" in kinds:
        return "the same command with --on-miss ask puts to the model what its recording lacks"
    if "tool" in kinds:
        return "mend the tool first: the same command then runs what is missing"
    return "the same command runs what is missing"


def reason_lines(summary: Summary) -> Iterator[str]:
    """The reasons in words: why trials failed or were not measured, and scores could not be determined.

    Each ends with the command that shows all of the first such trial.
    """
    trials = summary.counts.trials
    for found in summary.failures:
        ended = found.status
        verb = ended if ended == "failed" else f"{'was' if trials == 1 else 'were'} not measured"
        told = f"{found.count} of {number_of(trials, 'trial')} {verb} ({found.kind}){_of_them(found)}"
        yield f"{told}: {_first(found, summary)}"
    # An agent with a model of its own, which the gateway does not see, has no tokens to be counted.
    asked = summary.tokens.requests > 0
    groups: dict[Reason, list[Reason]] = {}  # that differ only in the score, such as those of the counts of tokens
    for found in summary.untold:
        if asked or found.kind != "model":
            groups.setdefault(replace(found, score=""), []).append(found)
    for group in groups.values():
        scores, found = [shown_name(item.score) for item in group], group[0]
        count = number_of(found.count, "trial")
        where = _first(found, summary)
        yield f"{', '.join(scores)} could not be determined for {count} ({found.kind}){_of_them(found)}: {where}"


def _of_them(found: Reason) -> str:
    """Say which of the trials have the words that follow, where not all have."""
    if found.alike == found.count:
        return ""
    return "; the first of them" if found.alike == 1 else f"; {found.alike} of them"


def _first(found: Reason, summary: Summary) -> str:
    name = trial_name(summary.framework, found.query_id, found.repeat)
    command = shlex.join(["bench", "show", summary.run.run_id, name])
    return f"{found.message.rstrip('.')} [query {found.query_id}: {command}]"
