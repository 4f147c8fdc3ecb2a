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
    "lost",  # the node on which it ran is gone
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
"""Kind of a failure -> the same in words, where that is another."""

SHOWN_NAMES = {"sopr_score": "solved"}
"""Scores that people know by another name than the key of documents."""

NAME_END = re.compile(r"[@[]")
"""Begins the judge or the tag behind a score's name: ``solved@strict``, ``solved[billing]``."""


def shown_name(score: str) -> str:
    """Return the name of a score as people see it: ``solved`` for ``sopr_score``, with its judge or tag behind it."""
    name = NAME_END.split(score, maxsplit=1)[0]
    return f"{SHOWN_NAMES.get(name, name)}{score.removeprefix(name)}"


def score_key(shown: str) -> str:
    """Return the key of a score in documents, by either of its names."""
    name = NAME_END.split(shown, maxsplit=1)[0]
    keys = {told: key for key, told in SHOWN_NAMES.items()}
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
    """The reason why there is no result: the kind, one line for people, and detail (traceback, end of stderr)."""

    kind: FailureKind
    message: str
    detail: str = ""


class Score(Record):
    """One score of one trial.

    Attributes:
        name: as shown and as named by ``--fail-under``.
        value: a number, None where it could not be determined.
        label: a word for it where there is one (``Solved``).
        detail: the evidence for the number.
        bounded: whether values lie in [0, 1], so that the mean has an interval.
        quality: whether a bounded score says how good the answer is, more being better: a trial that failed counts as
            0 then, as its user got nothing. False leaves failed trials out.
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
    """A score as its scorer declares it, over all trials.

    Attributes:
        unit: of its values, such as ``s``, ``ms`` or ``tokens``; empty for none.
        meaning: in a line, as it stands below a table.
        bounded: whether values lie from 0 to 1.
        quality: whether a bounded score says how good an answer is, so that a failed trial counts as 0.
        lower_is_better: whether less is better.
        ideal: the value at which a score that explains others says nothing, so that a table leaves its row out where
            every framework has it; None for scores that are always shown.
        missing: when a trial without failure has no value, in words; empty if it always has one.
        leads: whether it is the measure of its dataset, which leads the figures of runs that have it.
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
        """The name with the unit, where the name does not say it."""
        name = shown_name(self.name)
        return name if not self.unit or self.unit in self.name.split("_") else f"{name}, {self.unit}"


def leading_scores(described: Mapping[str, ScoreDescription]) -> tuple[str, ...]:
    """Return the measures of a dataset itself, which come before those of every run."""
    return tuple(name for name, score in described.items() if score.leads)
