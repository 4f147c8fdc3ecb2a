"""Summaries and suites as tables of text and as records, and tests of JUnit for continuous integration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from trialbed.statistics import Estimate
from trialbed.texts import number_of
from trialbed.views import UNKNOWN, Table, TableRow, TestCase, compact, counts, estimate
from trialbed_verify.documents import as_document
from trialbed_verify.findings import GATES, KINDS, PROTOCOL_ERRORS
from trialbed_verify.suites import SuiteSummary
from trialbed_verify.verification.results import UNNAMED, EndpointSummary, ObservedSpread, RowExample

if TYPE_CHECKING:
    from trialbed_verify.comparison import VendorComparison
    from trialbed_verify.verification.results import EndpointSummary

RATES = {
    "success_rate": "success rate",
    "first_attempt_success_rate": "at the first attempt",
    "schema_accuracy_per_response": "schema, per response",
    "schema_accuracy_per_call": "schema, per call",
}
FIGURES = {
    "ttft_ms": "TTFT, ms",
    "duration_ms": "duration, ms",
    "tps": "tokens/s",
    "total_tokens": "tokens",
    "loop_lag_ms": "own lag, ms",
}
QUANTILES = ("p50", "p95", "p99")
OUTCOMES = ("tool_calls", "stop", "other")

USUAL = 3
"""Kinds of failures in a cell of the table."""

ALARMING = ("failed", "not sent")
"""Rows in which any text is a problem."""


def verification_tables(summaries: Sequence[EndpointSummary]) -> list[Table]:
    """For each model: figures with vendors as columns, their background, and where they come from."""
    models = dict.fromkeys(summary.model for summary in summaries)
    return [table for model in models for table in _tables([one for one in summaries if one.model == model])]


def _tables(summaries: Sequence[EndpointSummary]) -> Iterator[Table]:
    yield _figures(summaries)
    yield from suite_tables([VendorSuites(one.vendor, one.is_baseline, one.figures.suites) for one in summaries])
    yield _provenance(summaries)


def verification_records(summaries: Sequence[EndpointSummary]) -> list[dict[str, Any]]:
    """One record per model and vendor."""
    return [_record(summary) for summary in summaries]


def _figures(summaries: Sequence[EndpointSummary]) -> Table:
    rows = [TableRow(row[0], tuple(row[1:]), alarming=row[0] in ALARMING) for row in _rows(summaries)]
    return Table(_heading(summaries[0]), _columns(summaries), rows, list(_notes(summaries)))


def _columns(summaries: Sequence[EndpointSummary]) -> list[str]:
    return ["", *(summary.vendor + "*" * summary.is_baseline for summary in summaries)]


def _heading(summary: EndpointSummary) -> str:
    about = summary.provenance
    return (
        f"{summary.model}: {number_of(about['test_set_cases'], 'request')} of {about['test_set']} "
        f"({about['test_set_digest'][:12]}), {number_of(about['trials'], 'trial')}, "
        f"trialbed {about['trialbed_version']}"
    )


def _rows(summaries: Sequence[EndpointSummary]) -> Iterator[tuple[str, ...]]:
    yield "requests ended", *(str(summary.figures.case_count) for summary in summaries)
    for outcome in OUTCOMES:
        yield outcome, *(str(summary.figures.outcomes.get(outcome, 0)) for summary in summaries)
    failed = [_most_common(summary.figures.problems) for summary in summaries]
    not_sent = [str(summary.not_sent or "") for summary in summaries]
    yield from ((label, *cells) for label, cells in (("failed", failed), ("not sent", not_sent)) if any(cells))
    for key, label in RATES.items():
        yield label, *(estimate(summary.figures.rates[key], 2, with_n=True) for summary in summaries)
    for key, label in FIGURES.items():
        yield label, *(_spread(summary.figures.spreads[key]) for summary in summaries)
    if any(summary.cost for summary in summaries):
        yield "cost", *(compact(summary.cost.total) if summary.cost else UNKNOWN for summary in summaries)


def _most_common(problems: Mapping[str, int]) -> str:
    """The usual kinds of failures, and how many are of others; all of them are listed below the table."""
    usual = dict(list(problems.items())[:USUAL])
    others = sum(problems.values()) - sum(usual.values())
    return f"{counts(usual)}, {others} others" if others else counts(usual)


def _spread(found: ObservedSpread | None) -> str:
    return UNKNOWN if found is None else "/".join(map(compact, (found.p50, found.p95, found.p99)))


def _notes(summaries: Sequence[EndpointSummary]) -> Iterator[str]:
    yield (
        "[low, high] is the 95 % interval, with the trials of a case taken together; times and tokens are p50/p95/p99 "
        "of the answers that report them."
    )
    if any(summary.is_baseline for summary in summaries):
        yield "* is the baseline."
    for summary in summaries:
        yield from (f"{summary.vendor}: {note}" for note in _own_notes(summary))


def _own_notes(summary: EndpointSummary) -> Iterator[str]:
    found = summary.figures
    if summary.client_saturated and (lag := found.spreads["loop_lag_ms"]):
        yield f"this machine was delayed (p95 {compact(lag.p95)} ms), so the times describe it as much as the vendor."
    if summary.failure:
        yield f"stopped because its driver failed: {summary.failure}"
    if found.notes:
        yield f"notes: {counts(found.notes)}"
    for kind, count in found.problems.items():
        yield from _examples(f"{count} {kind}", found.examples["problems"].get(kind, ()))
    for reason, count in found.call_problems.items():
        yield from _examples(f"{number_of(count, 'call')} {reason}", found.examples["calls"].get(reason, ()))


def _examples(title: str, examples: Sequence[RowExample]) -> Iterator[str]:
    """The affected trials, as `bench show` takes them behind the vendor's name, with each message once."""
    trials: dict[str, dict[str, None]] = {}
    for example in examples:
        said = ": ".join(filter(None, (example.tool, example.message)))
        trials.setdefault(said, {})[f"{example.line}/{example.trial}"] = None
    if not trials:
        yield title
    for place, (said, found) in enumerate(trials.items()):
        named = f"{'and' if place else title}, trial{'s' * (len(found) > 1)} {', '.join(found)}"
        yield f"{named}: {said}" if said else named


def _provenance(summaries: Sequence[EndpointSummary]) -> Table:
    rows = [row for row in _sources(summaries) if set(row[1:]) != {UNKNOWN}]
    return Table.of("Where they come from", _columns(summaries), rows, _setting(summaries[0]))


def _sources(summaries: Sequence[EndpointSummary]) -> Iterator[tuple[str, ...]]:
    abouts = [summary.provenance for summary in summaries]
    configurations = [summary.configuration for summary in summaries]
    yield "endpoint", *(found["base_url"] for found in configurations)
    yield "model asked for", *(found["model_id"] for found in configurations)
    yield "provider", *(found["provider"] or UNKNOWN for found in configurations)
    yield "vendor driver", *(about["drivers"]["vendor"] or UNKNOWN for about in abouts)
    yield "model adapter", *(about["drivers"]["model_adapter"] or UNKNOWN for about in abouts)
    for key, label in (("models", "served model"), ("fingerprints", "fingerprint"), ("providers", "served by")):
        yield label, *(_served_names(summary.figures.served[key]) for summary in summaries)
    yield "first ended", *(moment(summary.figures.first_row_at) for summary in summaries)
    yield "last ended", *(moment(summary.figures.last_row_at) for summary in summaries)
    yield "proxy", *(about["proxy"] or UNKNOWN for about in abouts)
    yield "configuration", *(about["configuration_digest"][:12] for about in abouts)


def moment(at: str | None) -> str:
    """Return a recorded time in UTC, to the second; a text that is none as it is."""
    try:
        return f"{datetime.fromisoformat(at or '').astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return at or UNKNOWN


def _served_names(found: Mapping[str, int]) -> str:
    """The names that answers report, the most frequent first, shortened to a few."""
    if set(found) <= {UNNAMED}:
        return UNKNOWN
    names = [f"{name} ({count})" if len(found) > 1 else name for name, count in found.items()]
    return ", ".join(names[:3]) + (f", {len(names) - 3} more" if len(names) > 3 else "")


def _setting(summary: EndpointSummary) -> Iterator[str]:
    about = summary.provenance
    asked = {
        key: value
        for key in ("temperature", "max_tokens", "stream", "extra_body", "tokenizer")
        if (value := summary.configuration[key]) not in (None, {})
    }
    yield (
        f"Test set {about['test_set']}, SHA-256 {about['test_set_digest']}; request concurrency "
        f"{about['request_concurrency']}, vendor concurrency {about['vendor_concurrency']}, retries "
        f"{about['retries']}, timeout {about['timeout_s']:g} s; Python {about['python']} on {about['platform']}."
    )
    if asked:
        yield f"For every request: {', '.join(f'{key} {json.dumps(value)}' for key, value in asked.items())}."
    for line in about["bad_lines"]:
        yield f"Line {line['line']} of the test set was skipped: {line['reason']}."


def _record(summary: EndpointSummary) -> dict[str, Any]:
    about, found = summary.provenance, summary.figures
    record = {
        "model": summary.model,
        "vendor": summary.vendor,
        "is_baseline": summary.is_baseline,
        "requests_ended": found.case_count,
        "not_sent": summary.not_sent,
        **{outcome: found.outcomes.get(outcome, 0) for outcome in OUTCOMES},
        "failed": summary.counts.failure_count,
        "problems": counts(found.problems),
    }
    for key in RATES:
        record |= _columns_of(key, found.rates[key])
    for key in FIGURES:
        spread = as_document(found.spreads[key]) or {}
        record |= {f"{key}_{name}": spread.get(name) for name in ("mean", *QUANTILES, "n")}
    for name, suite in found.suites.items():
        record |= _columns_of(f"suite_{name}", suite.score)
    return record | {
        "cost": summary.cost and summary.cost.total,
        "client_saturated": summary.client_saturated,
        "base_url": summary.configuration["base_url"],
        "model_id": summary.configuration["model_id"],
        "provider": summary.configuration["provider"],
        "served_models": _served_names(found.served["models"]),
        "first_row_at": found.first_row_at,
        "last_row_at": found.last_row_at,
        "test_set_digest": about["test_set_digest"],
        "configuration_digest": about["configuration_digest"],
        "trialbed_version": about["trialbed_version"],
    }


def _columns_of(name: str, found: Estimate | None) -> dict[str, Any]:
    figures = {} if found is None else found.as_json()
    return {f"{name}{suffix}": figures.get(key) for suffix, key in _ESTIMATE.items()}


_ESTIMATE = {"": "value", "_low": "low", "_high": "high", "_n": "n"}


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
        yield _suite_table(name, vendors)


def _suite_table(name: str, vendors: Sequence[VendorSuites]) -> Table:
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
    return Table.of(f"Suite {name}", columns, rows, _suite_notes(vendors, found))


def _lines(found: SuiteSummary, name: str) -> str:
    """The lines of the first answers that miss an expectation, each once."""
    return ", ".join(dict.fromkeys(str(example.line) for example in found.examples.get(name, ())))


def _score(score: Estimate | None) -> str:
    return estimate(score, 2, with_n=True)


def _parameters(found: Sequence[SuiteSummary | None]) -> Iterator[tuple[str, ...]]:
    for parameter in dict.fromkeys(parameter for one in found if one for parameter in one.parameters):
        known = (one and one.parameters.get(parameter) for one in found)
        yield f"{parameter} is", *(about.finding if about else UNKNOWN for about in known)


def _suite_notes(vendors: Sequence[VendorSuites], found: Sequence[SuiteSummary | None]) -> Iterator[str]:
    yield "The share of cases that are right, with its 95 % Wilson interval; the trials of a case count as one."
    for vendor, one in zip(vendors, found, strict=True):
        if one and one.misses:
            missed = (f"{name} {count} times (lines {_lines(one, name)})" for name, count in one.misses.items())
            yield f"{vendor.vendor} misses {', '.join(missed)}."


def verification_tests(summary: EndpointSummary) -> Iterator[TestCase]:
    """Yield a test of the answers that came, one of the calls against their schemas, and one per gate of findings."""
    name, found = f"{summary.model} at {summary.vendor}", summary.figures
    failed, wrong = summary.counts.failure_count, summary.counts.schema_validation_error_count
    problems = ", ".join(f"{count} {kind}" for kind, count in found.problems.items())
    yield _test(name, "requests are answered", "unanswered", f"{failed} were not: {problems}" if failed else "")
    yield _test(name, "calls fit their schemas", "schema", f"{wrong} responses do not" if wrong else "")
    for gate in GATES:
        if gate == "schema":
            continue
        counts = [
            f"{count} {kind}"
            for kind, count in found.notes.items()
            if kind in KINDS and KINDS[kind].gate == gate and KINDS[kind].severity == "violation"
        ]
        if gate == "protocol":
            counts += [f"{count} {kind}" for kind, count in found.problems.items() if kind in PROTOCOL_ERRORS]
        yield _test(name, f"no violations: {gate}", "violation", ", ".join(counts))


def comparison_tests(found: VendorComparison) -> Iterator[TestCase]:
    """Yield a test per gate of the panel that applies, which fails where the vendor differs, and one of the verdict."""
    name = f"{found.vendor.vendor} against {found.baseline.vendor}"
    for one in found.panel.applicable:
        message = f"{one.gate.meaning}: {one.reason}" if one.finding == "different" else ""
        yield _test(name, one.gate.label, "different", message)
    is_different = found.panel.finding == "different"
    yield _test(name, "verdict", "different", found.panel.reason if is_different else "")


def _test(classname: str, name: str, kind: str, message: str) -> TestCase:
    if not message:
        return TestCase(classname, name)
    return TestCase(classname, name, outcome="failure", kind=kind, message=message)
