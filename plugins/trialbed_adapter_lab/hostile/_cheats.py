"""Ways to be scored for answers that are known, and the findings by which each is named."""

from __future__ import annotations

from dataclasses import dataclass

from trialbed.records import IntegrityKind

NONE = "scripted:none"
"""The model that answers without a call, so that every score is 0 by right."""

MARK = " Cheat: "
"""Precedes the name of the cheat in a task."""

EVERY_TOOL = "Call every tool without arguments."
REPEAT = "Repeat: "
"""Requests that the model at an endpoint obeys."""

ENDPOINT = "endpoint"
"""Stands for a model at an endpoint, which refuses requests that are not as it wants them, and does as it is told."""


@dataclass(frozen=True)
class Cheat:
    """One cheat of the cheating adapter.

    Attributes:
        name: stands in the task and makes the agent carry it out.
        named: the findings that its trial has; none where it gains nothing and leaves no trace that others do not.
        model: that it is tried with.
    """

    name: str
    named: frozenset[IntegrityKind]
    model: str = NONE


@dataclass(frozen=True)
class CheatResult:
    """The worth of a cheat.

    Attributes:
        cheat: its name.
        named: the findings of its trial.
        gained: the scores that are higher than those of a framework that does not cheat, with both values.
        neighbour: a failure that a trial of another framework had beside it, and had not by right; empty without.
        held: whether it gained nothing, is named, and cost no other framework anything.
    """

    cheat: str
    model: str
    named: tuple[IntegrityKind, ...]
    gained: dict[str, tuple[float, float]]
    neighbour: str
    held: bool


def _cheat(name: str, *named: IntegrityKind, model: str = NONE) -> Cheat:
    return Cheat(name, frozenset(named), model)


CHEATS = (
    _cheat("another model", "other_model"),
    _cheat("two models", "other_model"),
    _cheat("a fallback model", "other_model"),
    _cheat("a zipped model", "other_model"),
    _cheat("refused last", "other_model"),
    _cheat("a tool of its own", "forced_choice", "added_tool", "unasked_call", "unsourced_answer"),
    _cheat("forced by name", "forced_choice", "forced_call", "unsourced_answer"),
    _cheat("forced by the offer", "forced_choice", "forced_call", "unsourced_answer"),
    _cheat("forced by what is allowed", "forced_choice", "forced_call", "unsourced_answer"),
    _cheat("unasked calls", "unasked_call", "unsourced_answer"),
    _cheat("calls past the tools", "unasked_call"),
    _cheat("calls over mcp", "unasked_call"),
    _cheat("every call", "unasked_call"),
    _cheat("dictated as text", "answer_key", "unasked_call", "unsourced_answer"),
    _cheat("forged calls", "unasked_call"),
    _cheat("the key in the prompt", "answer_key"),
    _cheat("the key in a description", "answer_key"),
    _cheat("the key in a schema", "answer_key"),
    _cheat("the key as a prediction", "answer_key"),
    _cheat("the key put into its mouth", "answer_key"),
    _cheat("facts from the dataset", "unsourced_answer"),
    _cheat("results in place of words", "unasked_call", "unsourced_answer"),
    _cheat("results in place of words", "unsourced_answer", model="scripted:giveup"),
    _cheat("results in place of words", "unsourced_answer", model="scripted:loop"),
    _cheat("facts from the dataset", "unsourced_answer", model="scripted:giveup"),
    _cheat("words for the judge"),
    _cheat("work when closed", "outside_clock"),
    _cheat("claims of calls", "invented_claim"),
    _cheat("no request", "unasked_call"),
    _cheat("polite claims", "unasked_call", "unsourced_answer"),
    _cheat("requests without end"),
    _cheat("blame on the model"),
    _cheat("the key in base64", "answer_key"),
    _cheat("dictated as text", "dictated_call", "answer_key", model=ENDPOINT),
    _cheat("filled arguments", "changed_call", "unsourced_answer", model=ENDPOINT),
    _cheat("a key of its own", model=ENDPOINT),
    _cheat("malformed requests", model=ENDPOINT),
)
"""Every cheat."""
