"""The reasons of failures: of each kind how many, the first one's words, and the command that shows all."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace

from trialbed.records import shown_name
from trialbed.report._records import Reason, Summary
from trialbed.report._worst import trial_name
from trialbed.texts import number_of


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
    for group in _alike(found for found in summary.untold if asked or found.kind != "model"):
        scores, found = [shown_name(item.score) for item in group], group[0]
        count = number_of(found.count, "trial")
        where = _first(found, summary)
        yield f"{', '.join(scores)} could not be determined for {count} ({found.kind}){_of_them(found)}: {where}"


def _alike(found: Iterable[Reason]) -> Iterable[list[Reason]]:
    """Reasons that differ in nothing but the score, such as those of the three counts of tokens."""
    groups: dict[Reason, list[Reason]] = {}
    for item in found:
        groups.setdefault(replace(item, score=""), []).append(item)
    return groups.values()


def _of_them(found: Reason) -> str:
    """Say which of the trials have the words that follow, where not all have."""
    if found.alike == found.count:
        return ""
    return "; the first of them" if found.alike == 1 else f"; {found.alike} of them"


def _first(found: Reason, summary: Summary) -> str:
    name = trial_name(summary.framework, found.query_id, found.repeat)
    command = shlex.join(["bench", "show", summary.run.run_id, name])
    return f"{found.message.rstrip('.')} [query {found.query_id}: {command}]"
