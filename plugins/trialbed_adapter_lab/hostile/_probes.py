"""Attempts to get at what is none of an agent's business, and the results of them."""

from __future__ import annotations

from dataclasses import dataclass

ALWAYS = ("secrets in the environment", "tokens of other trials")
"""What is kept from agents without a sandbox, too."""

PROBES = (
    *ALWAYS,
    "gold of the dataset",
    "the store",
    "the keys of the project",
    "secrets of the engine",
    "another port",
)
"""Every attempt."""


@dataclass(frozen=True)
class ReachResult:
    """The result of an attempt to get at something.

    Attributes:
        got: what the agent got; empty where it was kept out.
        held: whether it was kept out, or is not meant to be without a sandbox.
    """

    probe: str
    got: str
    held: bool
