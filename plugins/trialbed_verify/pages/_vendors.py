"""The figures of each vendor: rates with intervals, times, failures by kind, and findings, with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from trialbed.statistics import Estimate, quantile
from trialbed.texts import percent
from trialbed.views import (
    UNKNOWN,
    Disclosures,
    IntervalPlot,
    PlotPoint,
    Table,
    TableRow,
    compact,
    estimate,
)
from trialbed_verify.comparison import QUANTILES, Results, Trials, read_one, schema_accuracy, success_rate
from trialbed_verify.findings import kind_in_words
from trialbed_verify.pages._sources import Source, examples_of_faults
from trialbed_verify.vendor_rows import VendorRows
from trialbed_verify.verification.results import ResultRow
from trialbed_verify.views import VendorSuites, moment, suite_tables

Part: TypeAlias = Table | IntervalPlot | Disclosures

TIMES = {"ttft_ms": "TTFT, ms", "duration_ms": "duration, ms", "tps": "tokens/s", "total_tokens": "tokens"}


@dataclass(frozen=True)
class VendorFile:
    """A vendor with one model: its rows, and all that is counted over them."""

    results: Results
    source: Source

    @property
    def label(self) -> str:
        """Return its name, marked if it is the baseline."""
        return self.results.vendor + "*" * self.results.is_of_baseline

    @cached_property
    def rates(self) -> Mapping[str, Estimate]:
        """Return the rates by their headings, with the trials of a case taken together."""
        trials = list(self.results.cases(by_name=self.results.names_cases).values())
        return {title: rate(trials) for title, rate in RATES.items()}


def read_vendors(rows: Sequence[VendorRows]) -> list[VendorFile]:
    """Read the answers of each vendor, without what only comparisons need.

    Raises:
        DataError: rows cannot be read, or are of several vendors.
    """
    found = []
    for own in rows:
        source = Source(own)
        found.append(VendorFile(read_one(own, source.add), source))
    return found


def vendor_parts(vendors: Sequence[VendorFile]) -> list[Part]:
    """Return for each model its vendors' figures, with plots of the intervals and of the time to the first token."""
    models = list(dict.fromkeys(one.results.model or "a model" for one in vendors))
    parts = [
        part
        for model in models
        for part in _model(
            model if len(models) > 1 else "",
            [one for one in vendors if (one.results.model or "a model") == model],
        )
    ]
    examples = examples_of_faults([(one.results.vendor, one.source) for one in vendors])
    lead = Table("", notes=[_sentence(one) for one in sorted(vendors, key=lambda one: not _is_faulty(one))])
    return [lead, *parts, *([examples] if examples else []), _files(vendors)]


def _is_faulty(one: VendorFile) -> bool:
    """Return whether a request of a vendor failed, or one of its calls does not fit: its sentence comes first."""
    return bool(one.source.failed) or any(_reasons(one.results.rows))


def _sentence(one: VendorFile) -> str:
    """Say how many requests a vendor answers, and whether its calls are right."""
    rows = one.results.rows
    answered, valid = one.rates.values()
    said = f"{one.results.vendor} answers {_share(answered)} of {len(rows)} requests"
    if one.source.failed:
        said += f" ({'; '.join(_failed(kind, count) for kind, count in one.source.failed.items())})"
    if valid.value is not None:
        said += f"; of its answers with calls, {_share(valid)} fit the schemas of their tools"
    return f"{said}."


def _failed(kind: str, count: int) -> str:
    """Return a kind of failures in words, where it has any, and how often there was one."""
    return f"{count} {kind}" if (words := kind_in_words(kind)) == kind else f"{count}: {words}"


def _share(found: Estimate) -> str:
    if found.value is None:
        return "none"
    return "all" if found.value == 1 else percent(found.value)


def _model(model: str, vendors: Sequence[VendorFile]) -> Iterator[Part]:
    yield _figures(model, vendors)
    for title in RATES:
        found = {one.label: one.rates[title] for one in vendors}
        points = [
            PlotPoint(name, rate.value, *rate.interval[:2], estimate(rate, 2))
            for name, rate in found.items()
            if rate.value is not None and rate.interval
        ]
        if points:
            yield IntervalPlot(_titled(model, f"{title}, with its 95 % interval"), points, limits=(0.0, 1.0))
    yield from _faults(model, vendors)
    suites = [(one.results.vendor, one.results.is_of_baseline, one.source.tally.summaries()) for one in vendors]
    yield from suite_tables([VendorSuites(*own) for own in suites])


def _titled(model: str, words: str) -> str:
    """Return a title, which names the model where there are several."""
    return f"{model}: {words}" if model else f"{words[:1].upper()}{words[1:]}"


def _figures(model: str, vendors: Sequence[VendorFile]) -> Table:
    rows = [("answers", *(str(len(one.results.rows)) for one in vendors))]
    rows += [(title, *(estimate(one.rates[title], 2, with_n=True) for one in vendors)) for title in RATES]
    rows += [(title, *(_spread(one.results.rows, name) for one in vendors)) for name, title in TIMES.items()]
    notes = [
        "[low, high] is the 95 % interval, with the trials of a case taken together; times and tokens are p50/p95/p99 "
        "of the answers that report them."
    ]
    if any(one.results.is_of_baseline for one in vendors):
        notes.append("* is the baseline.")
    notes += [f"{one.label}: {note}." for one in vendors for note in one.results.notes]
    return Table.of(_titled(model, "rates, times and tokens"), ("", *(one.label for one in vendors)), rows, notes)


def _faults(model: str, vendors: Sequence[VendorFile]) -> Iterator[Table]:
    """Yield the failures, the wrong calls, and the findings that say more than these."""
    found = [
        _kinds(_titled(model, "failures"), vendors, lambda one: one.source.failed),
        _kinds(_titled(model, "wrong calls"), vendors, lambda one: Counter(_reasons(one.results.rows))),
    ]
    findings = _kinds(_titled(model, "findings, in answers"), vendors, lambda one: one.source.counts)
    told = [row for table in found for row in table.rows]
    found.append(replace(findings, rows=[row for row in findings.rows if row not in told]))
    yield from (table for table in found if table.rows)
    if not (told or findings.rows):
        yield Table(_titled(model, "failures, wrong calls and findings"), notes=["None."])


def _kinds(title: str, vendors: Sequence[VendorFile], counted: Callable[[VendorFile], Mapping[str, int]]) -> Table:
    """Return a row for each kind that any vendor has, the most frequent first."""
    counts = [counted(one) for one in vendors]
    total = Counter[str]()
    for found in counts:
        total.update(found)
    rows = [
        TableRow(kind_in_words(kind), tuple(str(found.get(kind) or "") for found in counts), alarming=True)
        for kind, _ in total.most_common()
    ]
    return Table(title, ("", *(one.label for one in vendors)), rows)


def _files(vendors: Sequence[VendorFile]) -> Table:
    rows = [
        (one.source.origin.file_name, one.label, moment(one.source.first_at), moment(one.source.last_at))
        for one in vendors
    ]
    return Table.of("Files", ("file", "vendor", "first answer", "last answer"), rows)


RATES: Mapping[str, Callable[[Sequence[Trials]], Estimate]] = {
    "success rate": success_rate,
    "schema, per response": lambda trials: schema_accuracy(trials).per_response,
}
"""Heading -> the rate."""


def _values(rows: Sequence[ResultRow], name: str) -> list[float]:
    return [value for row in rows if row.success and (value := getattr(row, name)) is not None]


def _spread(rows: Sequence[ResultRow], name: str) -> str:
    ordered = sorted(_values(rows, name))
    return "/".join(compact(quantile(ordered, share)) for share in QUANTILES.values()) if ordered else UNKNOWN


def _reasons(rows: Sequence[ResultRow]) -> Iterator[str]:
    return (reason for row in rows for call in row.calls or () for reason in call.reasons)
