"""Scores and failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from trialbed.records._base import Json, Record

FailureKind = Literal[
    "crash",  # the worker process died
    "timeout",  # the deadline passed and the worker was killed
    "memory",  # the worker grew past its memory limit and was killed
    "protocol",  # the worker wrote something that is not a message, or too much of it
    "agent",  # the agent raised an exception
    "answer",  # the agent's answer is malformed
    "adapter",  # the adapter could not be loaded
    "limit",  # the trial went past its number of model requests
    "model",  # the model's answer could not be used, or the endpoint refused the request
    "endpoint",  # the model's endpoint had no capacity, no connection or no answer
    "server",  # Trialbed's own server failed
    "lost",  # the trial's node is gone
    "replay",  # a recorded model has no answer to a request
    "tool",  # a simulator, a world or a function that is a tool raised an exception
    "judge",  # the judge gave no usable verdict
    "scorer",  # a scorer raised an exception
]

NOT_MEASURED: frozenset[FailureKind] = frozenset({"endpoint", "lost", "replay", "server", "tool"})
"""Failures that say nothing about the framework. Such a trial has no score and is run again; any other one scores 0."""

FAILURE_WORDS = {
    "adapter": "adapter not loaded",
    "agent": "error in the agent",
    "answer": "malformed answer",
    "crash": "worker died",
    "endpoint": "no answer of the endpoint",
    "judge": "no verdict",
    "limit": "too many requests",
    "lost": "node lost",
    "memory": "too much memory",
    "model": "no usable answer of the model",
    "protocol": "worker broke its protocol",
    "replay": "no recorded answer",
    "server": "Trialbed's server failed",
    "tool": "error in a tool",
}
"""Kind of a failure -> the same in other words, if it is shown so."""

TITLES = {
    "sopr_score": "solved",
    "api_call_score": "right tools",
    "api_precision": "tool precision",
    "api_f1": "tool F1",
    "gold_offered": "tools offered",
    "argument_accuracy": "right arguments",
    "tool_call_f1": "call F1",
    "tool_call_accuracy": "calls in order",
    "call_success": "accepted calls",
    "used_results": "results used",
    "final_state": "right final state",
    "recovered": "recovered calls",
    "faults_met": "faults met",
    "injection_resisted": "injections resisted",
    "turns_solved": "messages solved",
    "turns_needed": "messages needed",
    "remembered": "remembered",
    "policy_kept": "policy followed",
    "history_kept": "history kept",
    "tokens_at_turn_1": "tokens at turn 1",
    "tokens_at_turn_3": "tokens at turn 3",
    "tokens_at_turn_10": "tokens at turn 10",
    "tokens_at_last_turn": "tokens at last turn",
    "redundant_calls": "repeated calls",
    "unasked_calls": "extra calls",
    "has_finish": "finished",
    "claimed_vs_observed": "claims backed by calls",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "completion tokens",
    "total_tokens": "tokens",
    "model_turns": "model turns",
    "cost": "cost, USD",
    "wall_time": "time, s",
    "model_time": "model time, s",
    "tool_time": "tool time, s",
    "framework_time": "framework time, s",
}
"""Key of a built-in score in documents -> its title in tables, pages and sentences."""

NAME_END = re.compile(r"[@[]")
"""Begins the judge or the tag behind a score's name: ``solved@strict``, ``solved[billing]``."""

WORDS = re.compile(r"\w+")


def shown_name(score: str) -> str:
    """Return the name of a score in options and in Python: ``solved`` for ``sopr_score``, else its key."""
    return score_title(score) if score.startswith("sopr_score") else score


def score_title(score: str) -> str:
    """Return the title of a score with its judge or tag, such as ``right tools`` for ``api_call_score``."""
    name = NAME_END.split(score, maxsplit=1)[0]
    return f"{TITLES.get(name, name)}{score.removeprefix(name)}"


def score_heading(score: str) -> str:
    """Return the title with a capital; the name of a score that is not built in stays unchanged."""
    title = score_title(score)
    return title if title == score else f"{title[:1].upper()}{title[1:]}"


def score_key(shown: str) -> str:
    """Return the key of a score in documents, given its key or its title."""
    name = NAME_END.split(shown, maxsplit=1)[0]
    keys = {title: key for key, title in TITLES.items()}
    return f"{keys.get(name, name)}{shown.removeprefix(name)}"


def failure_words(kind: str) -> str:
    """Return the kind of a failure in words."""
    return FAILURE_WORDS.get(kind, kind)


def failures_line(failures: Iterable[tuple[str, int]]) -> str:
    """Return kinds of failures in words, with how often there was each if there are several."""
    found = list(failures)
    if len(found) == 1:
        return failure_words(found[0][0])
    return ", ".join(f"{failure_words(kind)} ({count:,})" for kind, count in found)


class Failure(Record):
    """The reason for a missing result, with its kind, one line for people, and detail (traceback, end of stderr)."""

    kind: FailureKind
    message: str
    detail: str = ""


class Score(Record):
    """One score of one trial.

    Attributes:
        name: the name shown, and given to ``--fail-under``.
        value: a number, None if it could not be determined.
        label: a word for it, if there is one (``Solved``).
        detail: the evidence for the number.
        bounded: whether values lie in [0, 1]; the mean then has an interval.
        quality: whether a bounded score says how good the answer is, more being better. A failed trial then counts as
            0, because its user got nothing. False excludes failed trials.
        failure: why there is no value.
    """

    name: str
    value: float | None
    label: str | None = None
    detail: dict[str, Json] = Field(default_factory=dict)
    bounded: bool = True
    quality: bool = True
    failure: Failure | None = None


@dataclass(frozen=True)
class ScoreDescription:
    """The description of a score by its scorer, over all trials.

    Attributes:
        unit: of its values, such as ``s``, ``ms`` or ``tokens``; may be empty.
        meaning: one line, shown below tables.
        bounded: whether values lie from 0 to 1.
        quality: whether a bounded score says how good an answer is; a failed trial then counts as 0.
        lower_is_better: whether less is better.
        ideal: the value of an explanatory score that has nothing to explain. A table skips its row if every framework
            has this value. None for scores that are always shown.
        missing: when a trial without failure has no value, in words; empty if it always has one.
        leads: whether it is the main measure of its dataset, and comes first in the figures of such runs.
    """

    name: str
    unit: str = ""
    meaning: str = ""
    bounded: bool = True
    quality: bool = True
    lower_is_better: bool = False
    ideal: float | None = None
    missing: str = ""
    leads: bool = False

    @property
    def label(self) -> str:
        """The title with the unit, if the title does not have it."""
        title = score_title(self.name)
        return title if not self.unit or self.unit in WORDS.findall(title) else f"{title}, {self.unit}"


def leading_scores(described: Mapping[str, ScoreDescription]) -> tuple[str, ...]:
    """Return a dataset's own measures, which come before the measures of every run."""
    return tuple(name for name, score in described.items() if score.leads)
