"""Invariants: the breaches in all trials of a framework, for whatever they were run."""

from __future__ import annotations

from trialbed.records import Record
from trialbed_adapter_lab.harness import INVARIANTS, Oracle

LONGEST = 300
"""Characters of a breach that are kept."""


class InvariantFinding(Record):
    """One invariant of the kit in the trials of a framework.

    Attributes:
        invariant: its name, as the kit's harness exports it.
        trials: those that were looked at. ``broken``: those in which it did not hold.
        first: the first breach in words; empty if it held in all.
    """

    invariant: str
    trials: int
    broken: int = 0
    first: str = ""


def invariant_findings(oracle: Oracle) -> tuple[InvariantFinding, ...] | None:
    """Return the findings of an oracle; None if it looked at no trial."""
    if not oracle.trials:
        return None
    return tuple(
        InvariantFinding(
            invariant=invariant.__name__,
            trials=oracle.trials,
            broken=oracle.broken[invariant],
            first="".join(oracle.breaches(invariant)[:1])[:LONGEST],
        )
        for invariant in INVARIANTS
    )
