"""The findings of suites, summed up row by row."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

from trialbed.statistics import Estimate, wilson_interval
from trialbed_verify.suites._expectations import misses
from trialbed_verify.suites._probes import ProbeTally
from trialbed_verify.suites._records import SuiteExample, SuiteSummary

Row = Mapping[str, Any]

MOST_VALUES = 200
"""Values of one property that are broken down; a test set of one's own could have one per case."""

EXAMPLES = 3


class SuiteTally:
    """The scores of every suite that rows belong to; needs memory for a few numbers per case."""

    def __init__(self) -> None:
        self._suites: dict[str, _One] = {}

    def add(self, row: Row) -> None:
        """Count a row, if it is of a suite."""
        about = row.get("suite")
        if isinstance(about, Mapping) and isinstance(about.get("name"), str):
            self._suites.setdefault(about["name"], _One()).add(row, about)

    def summaries(self) -> dict[str, SuiteSummary]:
        """Suite -> its summary; empty if no row is of a suite."""
        return {name: one.summary() for name, one in self._suites.items()}


class _One:
    """One suite."""

    def __init__(self) -> None:
        self._rows = 0
        self._cases: dict[str, array[float]] = {}
        self._by: dict[str, dict[str, set[str]]] = {}
        self._misses: Counter[str] = Counter()
        self._examples: dict[str, list[tuple[int, int, str]]] = {}
        self._probes = ProbeTally()

    def add(self, row: Row, about: Mapping[str, Any]) -> None:
        self._rows += 1
        self._probes.add(row, about)
        found = misses(row)
        if found is None:
            return
        case, by = str(about.get("case")), about.get("by")
        self._cases.setdefault(case, array("d")).append(float(not found))
        for name, value in by.items() if isinstance(by, Mapping) else ():
            values = self._by.setdefault(str(name), {})
            if str(value) in values or len(values) < MOST_VALUES:
                values.setdefault(str(value), set()).add(case)
        self._misses.update(found)
        # The first ones in the order of the test set, in whichever order answers arrive.
        example = (_whole(row.get("data_index")), _whole(row.get("trial")), case)
        for name in found:
            self._examples[name] = sorted([*self._examples.get(name, ()), example])[:EXAMPLES]

    def summary(self) -> SuiteSummary:
        """Return the summary."""
        return SuiteSummary(
            rows=self._rows,
            scored=sum(map(len, self._cases.values())),
            cases=len(self._cases),
            score=self._score(set(self._cases)),
            by={
                name: {value: self._score(values[value]) for value in sorted(values, key=_order)}
                for name, values in sorted(self._by.items())
            },
            misses=dict(self._misses.most_common()),
            examples={
                name: [SuiteExample(case, line or None, trial) for line, trial, case in places]
                for name, places in self._examples.items()
            },
            parameters=self._probes.findings(),
        )

    def _score(self, cases: set[str]) -> Estimate | None:
        """The mean over cases; the trials of a case are one observation, as they may all agree."""
        means = [sum(self._cases[case]) / len(self._cases[case]) for case in cases]
        if not means:
            return None
        value = min(1.0, sum(means) / len(means))
        return Estimate(value, wilson_interval(value, len(means)), len(means))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _order(value: str) -> tuple[float, str]:
    """Numbers by size, then other values by name: answers arrive in any order."""
    try:
        return float(value), value
    except ValueError:
        return math.inf, value
