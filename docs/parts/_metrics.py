"""Metrics of conversations: their names, the rules for arguments, and the formats that are read."""

from __future__ import annotations

from parts._markdown import names, table
from trialbed import conversations, metrics

CONSTANTS = {
    "FORMATS": "every format that is recognised -> what it is",
    "METRICS": "every metric -> what it measures",
    "RULES": "every rule for arguments -> when values are right by it",
    "Reference": "the type of the calls that are right: calls, and sequences of calls of a parallel group",
    "Role": "the type of a message's role",
    "StepModel": "the type of what answers steps: an async callable from `Step` to an object or text",
}


def argument_rules() -> str:
    """Every rule by which arguments are compared."""
    return table(("rule", "right is"), [(f"`{name}`", words) for name, words in metrics.RULES.items()])


def conversation_formats() -> str:
    """Every format of conversations."""
    return table(("format", "what it is"), [(f"`{name}`", words) for name, words in conversations.FORMATS.items()])


def metric_names() -> str:
    """Every name that ``trialbed.metrics`` offers."""
    return names(metrics, CONSTANTS)


def conversation_names() -> str:
    """Every name that ``trialbed.conversations`` offers."""
    return names(conversations, CONSTANTS)
