"""Attempts to get at things that are none of an agent's business, and their results."""

from __future__ import annotations

from dataclasses import dataclass

ALWAYS = ("secrets in the environment", "tokens of other trials")
"""Things that are kept from agents without a sandbox, too."""

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
        got: as the agent says; empty where it was kept out.
        held: whether it was kept out, or is not meant to be without a sandbox.
    """

    probe: str
    got: str
    held: bool
