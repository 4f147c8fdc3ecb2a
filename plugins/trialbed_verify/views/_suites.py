"""The findings of suites as tables of text, with vendors as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from trialbed.statistics import Estimate
from trialbed.views import UNKNOWN, Table, estimate
from trialbed_verify.suites import Excess, SuiteSummary

ALPHA = 0.05

MOST_ROWS = 40
"""Values of one property that are shown; the summary has them all."""


class VendorSuites(NamedTuple):
    """The suites of a vendor, for a column of tables."""

    vendor: str
    is_baseline: bool
    suites: Mapping[str, SuiteSummary]


def suite_tables(vendors: Sequence[VendorSuites]) -> Iterator[Table]:
    """A table for each suite that one of these vendors has."""
    for name in dict.fromkeys(name for vendor in vendors for name in vendor.suites):
        yield _table(name, vendors)


def _table(name: str, vendors: Sequence[VendorSuites]) -> Table:
    found = [vendor.suites.get(name) for vendor in vendors]
    columns = ["", *(f"{vendor.vendor}{'*' * vendor.is_baseline}" for vendor in vendors)]
    rows = [("right", *(_score(one.score if one else None) for one in found))]
    for title in dict.fromkeys(title for one in found if one for title in one.by):
        values = dict.fromkeys(value for one in found if one for value in one.by.get(title, ()))
        if len(values) <= MOST_ROWS:
            for value in values:
                cells = (_score(one.by.get(title, {}).get(value)) if one else UNKNOWN for one in found)
                rows.append((f"{title}: {value}", *cells))
    rows += _parameters(found)
    return Table.of(f"Suite {name}", columns, rows, _notes(vendors, found))


def _lines(found: SuiteSummary, name: str) -> str:
    """The lines of the first answers that miss an expectation, each once."""
    return ", ".join(dict.fromkeys(str(example.line) for example in found.examples.get(name, ())))


def _score(score: Estimate | None) -> str:
    return estimate(score, 2, with_n=True)


def _parameters(found: Sequence[SuiteSummary | None]) -> Iterator[tuple[str, ...]]:
    for parameter in dict.fromkeys(parameter for one in found if one for parameter in one.parameters):
        known = (one and one.parameters.get(parameter) for one in found)
        yield f"{parameter} is", *(about.finding if about else UNKNOWN for about in known)


def _notes(vendors: Sequence[VendorSuites], found: Sequence[SuiteSummary | None]) -> Iterator[str]:
    yield "The share of cases that are right, with its 95 % Wilson interval; the trials of a case count as one."
    for vendor, one in zip(vendors, found, strict=True):
        if one and one.misses:
            missed = (f"{name} {count} times (lines {_lines(one, name)})" for name, count in one.misses.items())
            yield f"{vendor.vendor} misses {', '.join(missed)}."
        if one and one.beyond_fresh:
            yield f"{vendor.vendor}: {_beyond(one.beyond_fresh)}"


def _beyond(found: Excess) -> str:
    apart = found.difference
    figure = f"{estimate(apart, 3)} of the {apart.n} cases, p {found.p:.2g}"
    if apart.interval is not None and apart.interval.low > 0 and found.p <= ALPHA:
        return f"right more often than with other names and values, by {figure}: as if it knew the suite by heart."
    return f"right as often with other names and values, as far as is shown; the difference is {figure}."
