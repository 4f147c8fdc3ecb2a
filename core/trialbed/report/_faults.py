"""A sentence on the faults that a run puts in on purpose, without which its results would mislead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.errors import UsageError
from trialbed.records import FaultPlan, read_fault_plan
from trialbed.report._shares import percent
from trialbed.texts import one_line

MOST = 200
"""Characters of a plan that is not read."""


def fault_note(plan: str | None) -> str:
    """Return how often which faults were put in, by a run's plan; empty where there are none.

    A plan of another version, which this one cannot read, is given as it is.
    """
    found = fault_words(plan) if plan is not None else ""
    return f"Faults were put in on purpose: {found}" if found else ""


def fault_words(plan: str) -> str:
    """Return how often a plan puts which faults in; empty where it puts in none."""
    try:
        return "; ".join(_parts(read_fault_plan(plan)))
    except UsageError:
        return f"by a plan that this version cannot read: {one_line(plan, MOST)}"


def _parts(plan: FaultPlan) -> Iterator[str]:
    if plan.tools is not None and plan.tools.rate and plan.tools.faults:
        yield f"{percent(plan.tools.rate)} of the calls of tools{_kinds(plan.tools.faults)}"
    if plan.model is not None and plan.model.rate and plan.model.faults:
        yield f"{percent(plan.model.rate)} of the requests to the model{_kinds(plan.model.faults)}"


def _kinds(names: Sequence[str]) -> str:
    return f" ({', '.join(name.replace('_', ' ') for name in names)})"
