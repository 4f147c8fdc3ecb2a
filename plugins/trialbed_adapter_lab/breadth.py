"""The deliberate defects that the kit was tried on, and how broad its checks are by them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from importlib.resources import files

from trialbed.records import Record

UNKNOWN = 1000
"""The breadth of a check that no defect was tried on."""


class TriedDefect(Record):
    """A deliberate defect, and the report of the kit on it.

    Attributes:
        cause: the fault of the adapter, in words.
        failed: the checks that fail, in the order in which a report shows them.
        found: those that report a finding.
        named: whether the first of them names the cause.
    """

    name: str
    cause: str
    failed: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    named: bool = False

    @property
    def first(self) -> str:
        """The check that heads the report; empty where nothing is reported."""
        return next(iter((*self.failed, *self.found)), "")


def breadth(check: str) -> int:
    """Return the number of deliberate defects for which a check failed when they were last tried."""
    return _counts().get(check, UNKNOWN)


@cache
def tried_defects() -> tuple[TriedDefect, ...]:
    """Return the defects in the order of their themes."""
    rows = json.loads(files("trialbed_adapter_lab").joinpath("defects.json").read_bytes())
    return tuple(TriedDefect.model_validate(row) for row in rows)


@cache
def _counts() -> Counter[str]:
    return Counter(check for defect in tried_defects() for check in (*defect.failed, *defect.found))
