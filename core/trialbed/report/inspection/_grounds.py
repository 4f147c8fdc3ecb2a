"""The grounds of a trial's scores, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trialbed.report.inspection._problems import as_text

if TYPE_CHECKING:
    from trialbed.records import Score

BY_EXPECTATIONS = "expectations"
"""The method of a verdict that no judge gave, as the expectations of the task decide."""

NOTHING: tuple[Any, ...] = (None, [], {}, "")
OUTCOMES = {True: "met", False: "not met", None: "not known"}
SHOWN = 5
"""Calls that are named in a line."""

LISTED = ("sent", "claimed", "right")
"""Details of scores that list calls, which are shown before."""

OFTEN_NONE = ("failed", "repeated")
"""Counts that say something only where they are not 0."""

WORDS = {
    ("api_call_score", "missing"): "not called",
    ("api_call_score", "extra"): "not expected",
    ("gold_offered", "missing"): "not offered",
    ("claimed_vs_observed", "invented"): "claimed, and not made",
    ("claimed_vs_observed", "unreported"): "made, and not claimed",
    ("claimed_vs_observed", "unasked"): "not asked for by the model",
}
"""(score, key of its detail) -> the key in words, where it says too little itself."""


def reason_text(score: Score) -> str:
    """Return why a score is as it is, as its scorer says; of expectations, how many are not met.

    Which ones they are stands among the problems of the trial.
    """
    if score.failure is not None:
        return score.failure.message
    reason = str(score.detail.get("reason") or "")
    return reason.partition(": ")[0] if score.detail.get("method") == BY_EXPECTATIONS else reason


def detail_text(score: Score) -> str:
    """Return the rest of a score's detail in words; empty where it says nothing."""
    return "; ".join(
        f"{WORDS.get((score.name, key), key.replace('_', ' '))}: {_value_text(value)}"
        for key, value in score.detail.items()
        if value not in NOTHING and key not in LISTED and not (key in OFTEN_NONE and value == 0)
    )


def expectation_lines(score: Score) -> Iterator[str]:
    """Yield each expectation of a task, with whether the trial meets it, where a score lists several.

    A reason that the score itself gives is not repeated.
    """
    said = str(score.detail.get("reason") or "")
    for one in _list_expectations(score):
        reason = str(one.get("reason") or "")
        word, text = OUTCOMES.get(one.get("met"), ""), one.get("text", "")
        yield f"{word}: {text}" + (f": {reason}" if reason and reason not in said else "")


def _list_expectations(score: Score) -> list[Mapping[str, Any]]:
    listed = score.detail.get("expectations")
    if not isinstance(listed, list) or len(listed) < 2:
        return []
    return [one for one in listed if isinstance(one, dict)]


def _value_text(value: Any) -> str:
    if not isinstance(value, list):
        return as_text(value)
    names = [_name(one) for one in value]
    if None in names:
        return as_text(value)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more


def _name(value: Any) -> str | None:
    """Return a name, or the names of an Api's tool and its own, as they are shown; None for anything else."""
    if isinstance(value, str):
        return value
    is_pair = isinstance(value, list) and all(isinstance(part, str) for part in value)
    return "/".join(filter(None, value)) if is_pair else None
