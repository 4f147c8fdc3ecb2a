"""The reasons of failures: of each kind how many, the first one's words, and the command that shows all."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.records import Failure, TrialResult
from trialbed.report._worst import trial_name

MAX_MESSAGE = 300
"""Characters of a message; the whole stands in the trial's entry."""

Found = tuple[int, TrialResult, Failure]
"""The place of a trial's entry, the trial, and a failure in it."""


def failure_reasons(results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """One record for each kind of failure of trials, the most frequent first.

    Args:
        results: in the order of the document's entries.
    """
    found = [
        (place, result, result.outcome.failure)
        for place, result in enumerate(results)
        if result.outcome.failure is not None
    ]
    groups = _grouped(found, lambda item: item[2].kind)
    return [{"kind": group[0][2].kind, "status": group[0][1].status, **_reason(group)} for group in groups]


def untold_reasons(results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """One record for each score that could not be determined for some trials with an answer."""
    named = [
        (score.name, (place, result, score.failure or Failure(kind="scorer", message="no reason is given")))
        for place, result in enumerate(results)
        if result.status == "answered"
        for score in result.scores
        if score.value is None
    ]
    names = dict.fromkeys(name for name, _ in named)
    groups = {name: [item for other, item in named if other == name] for name in names}
    return [{"score": name, "kind": group[0][2].kind, **_reason(group)} for name, group in groups.items()]


def _grouped(found: Iterable[Found], key: Callable[[Found], Hashable]) -> list[list[Found]]:
    groups: dict[Hashable, list[Found]] = {}
    for item in found:
        groups.setdefault(key(item), []).append(item)
    return sorted(groups.values(), key=len, reverse=True)


def _reason(group: Sequence[Found]) -> dict[str, Any]:
    place, result, failure = group[0]
    return {
        "count": len(group),
        "message": _line(failure.message),
        "query_id": result.key.query_id,
        "repeat": result.key.repeat,
        "entry": place,
    }


def _line(text: str) -> str:
    """A message as one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE - 1]}…"


def reason_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The reasons of a document in words: why trials failed or were not measured, and scores could not be told.

    Each ends with the command that shows all of the first such trial.
    """
    summary = document["summary"]
    trials = summary["total_trials"]
    for found in summary["failures"]:
        count, ended = found["count"], found["status"]
        verb = ended if ended == "failed" else f"{'was' if trials == 1 else 'were'} not measured"
        yield f"{count} of {trials} trials {verb} ({found['kind']}): {_first(found, document['metadata'])}"
    # An agent with a model of its own, which the gateway does not see, has no tokens to be told.
    asked = summary["totals"]["model_requests"] > 0
    for group in _alike(found for found in summary["untold_reasons"] if asked or found["kind"] != "model"):
        scores, found = [item["score"] for item in group], group[0]
        count = "1 trial" if found["count"] == 1 else f"{found['count']} trials"
        where = _first(found, document["metadata"])
        yield f"{', '.join(scores)} could not be determined for {count} ({found['kind']}): {where}"


def _alike(found: Iterable[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """Reasons that differ in nothing but the score, such as those of the three counts of tokens."""
    groups: dict[Hashable, list[Mapping[str, Any]]] = {}
    for item in found:
        key = tuple((name, value) for name, value in item.items() if name != "score")
        groups.setdefault(key, []).append(item)
    return groups.values()


def _first(found: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    command = shlex.join(["bench", "show", about["run_id"], trial_name(about["agent_name"], found)])
    return f"{found['message'].rstrip('.')} [query {found['query_id']}: {command}]"
