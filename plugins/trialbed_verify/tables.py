"""Summaries as tables of text and as records, and tests of JUnit for continuous integration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from trialbed.texts import number_of
from trialbed.views import UNKNOWN, Table, TableRow, TestCase, TestOutcome, compact, counts, estimate
from trialbed_verify.findings import GATES, KINDS, PROTOCOL_ERRORS
from trialbed_verify.summary import QUANTILES, SERVED, UNNAMED

Document = Mapping[str, Any]

RATES = {
    "success_rate": "success rate",
    "first_attempt_success_rate": "at the first attempt",
    "schema_accuracy_per_response": "schema, per response",
    "schema_accuracy_per_call": "schema, per call",
}
SPREADS = {
    "ttft_ms": "TTFT, ms",
    "duration_ms": "duration, ms",
    "tps": "tokens/s",
    "total_tokens": "tokens",
    "loop_lag_ms": "own lag, ms",
}
OUTCOMES = ("tool_calls", "stop", "other")

USUAL = 3
"""Kinds of failures in a cell of the table."""

ALARMING = ("failed", "not sent")
"""Rows in which any text is a problem."""

MANY = 6
"""Vendors from which on each has a row, as columns for all of them are too wide to read."""

MOST_VALUES = 40
"""Values of one property of a suite that are shown; the summary has them all."""

INTERVALS = (
    "[low, high] is the 95 % interval, with the trials of a case taken together; times and tokens are p50/p95/p99 "
    "of the answers that report them."
)


def vendor_table(title: str, vendors: Sequence[Document], rows: Iterable[Sequence[str]], notes: Iterable[str]) -> Table:
    """Return a table of vendors' figures: a column for each vendor or, for many vendors, a row.

    Args:
        rows: a figure each: its label, and its text for each vendor.
    """
    names = [one["vendor"] + "*" * one["is_baseline"] for one in vendors]
    rows = list(rows)
    if len(names) < MANY:
        lines = [TableRow(label, tuple(cells), label in ALARMING) for label, *cells in rows]
        return Table(title, ["", *names], lines, list(notes))
    labels, columns = [row[0] for row in rows], zip(*(row[1:] for row in rows), strict=True)
    lines = [
        TableRow(name, cells, any(text for label, text in zip(labels, cells, strict=True) if label in ALARMING))
        for name, cells in zip(names, columns, strict=False)
    ]
    return Table(title, ["vendor", *labels], lines, list(notes))


def figure_rows(vendors: Sequence[Document]) -> Iterator[tuple[str, ...]]:
    """Yield the counts, rates, times and tokens of vendors, from their summaries."""
    cells: dict[str, Callable[[Document], str]] = {"requests ended": lambda one: str(one["case_count"])}
    cells |= {name: partial(lambda name, one: str(one["outcomes"].get(name, 0)), name) for name in OUTCOMES}
    cells |= {
        "failed": lambda one: _most_common(one["problems"]),
        "not sent": lambda one: str(one.get("not_sent") or ""),
    }
    cells |= {label: partial(lambda key, one: estimate(one[key], 2, with_n=True), key) for key, label in RATES.items()}
    cells |= {label: partial(lambda key, one: _spread(one[key]), key) for key, label in SPREADS.items()}
    for label, text in cells.items():
        found = [text(one) for one in vendors]
        if any(found):
            yield label, *found
    if any(one["cost"] for one in vendors):
        totals = [(one["cost"] and one["cost"]["total"], one["success_count"]) for one in vendors]
        yield "cost", *(UNKNOWN if total is None else compact(total) for total, _ in totals)
        yield "cost of 1,000 answers", *(compact(1000 * total / n) if total and n else UNKNOWN for total, n in totals)


def verification_tables(summaries: Sequence[Document]) -> list[Table]:
    """For each model: figures of its vendors, their background, and where they come from."""
    tables = []
    for model in dict.fromkeys(one["model"] for one in summaries):
        vendors = [one for one in summaries if one["model"] == model]
        tables.append(vendor_table(_heading(vendors[0]), vendors, figure_rows(vendors), _notes(vendors)))
        tables += suite_tables(vendors)
        sources = (row for row in _sources(vendors) if set(row[1:]) != {UNKNOWN})
        tables.append(vendor_table("Where they come from", vendors, sources, _setting(vendors[0])))
    return tables


def _heading(summary: Document) -> str:
    about = summary["provenance"]
    return (
        f"{summary['model']}: {number_of(about['test_set_cases'], 'request')} of {about['test_set']} "
        f"({about['test_set_digest'][:12]}), {number_of(about['trials'], 'trial')}, "
        f"trialbed {about['trialbed_version']}"
    )


def _most_common(problems: Mapping[str, int]) -> str:
    """The usual kinds of failures, and how many are of others; all of them are listed below the table."""
    usual = dict(list(problems.items())[:USUAL])
    others = sum(problems.values()) - sum(usual.values())
    return f"{counts(usual)}, {others} others" if others else counts(usual)


def _spread(found: Document | None) -> str:
    return UNKNOWN if found is None else "/".join(compact(found[name]) for name in QUANTILES)


def _notes(summaries: Sequence[Document]) -> Iterator[str]:
    yield INTERVALS
    if any(one["is_baseline"] for one in summaries):
        yield "* is the baseline."
    for one in summaries:
        yield from (f"{one['vendor']}: {note}" for note in _own_notes(one))


def _own_notes(summary: Document) -> Iterator[str]:
    examples = summary["examples"]
    if summary["client_saturated"]:
        lag = compact(summary["loop_lag_ms"]["p95"])
        yield f"this machine was delayed (p95 {lag} ms), so the times describe it as much as the vendor."
    if summary["failure"]:
        yield f"stopped because its driver failed: {summary['failure']}"
    if summary["notes"]:
        yield f"notes: {counts(summary['notes'])}"
    for kind, count in summary["problems"].items():
        yield from _examples(f"{count} {kind}", examples["problems"].get(kind, ()))
    for reason, count in summary["call_problems"].items():
        yield from _examples(f"{number_of(count, 'call')} {reason}", examples["calls"].get(reason, ()))


def _examples(title: str, examples: Sequence[Document]) -> Iterator[str]:
    """The affected trials, as `bench show` takes them behind the vendor's name, with each message once."""
    trials: dict[str, dict[str, None]] = {}
    for one in examples:
        said = ": ".join(filter(None, (one.get("tool"), one["message"])))
        trials.setdefault(said, {})[f"{one['line']}/{one['trial']}"] = None
    if not trials:
        yield title
    for place, (said, found) in enumerate(trials.items()):
        named = f"{'and' if place else title}, trial{'s' * (len(found) > 1)} {', '.join(found)}"
        yield f"{named}: {said}" if said else named


def _sources(summaries: Sequence[Document]) -> Iterator[tuple[str, ...]]:
    abouts = [summary["provenance"] for summary in summaries]
    configurations = [about["configuration"] for about in abouts]
    yield "endpoint", *(found["base_url"] for found in configurations)
    yield "model asked for", *(found["model_id"] for found in configurations)
    yield "provider", *(found["provider"] or UNKNOWN for found in configurations)
    for key, label in (("vendor", "vendor driver"), ("model_adapter", "model adapter")):
        yield label, *(about["drivers"][key] or UNKNOWN for about in abouts)
    for kind, label in zip(SERVED, ("served model", "fingerprint", "served by"), strict=True):
        yield label, *(_served_names(summary[f"served_{kind}"]) for summary in summaries)
    for key, label in (("first_row_at", "first ended"), ("last_row_at", "last ended")):
        yield label, *(moment(summary[key]) for summary in summaries)
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


def _setting(summary: Document) -> Iterator[str]:
    about = summary["provenance"]
    keys = ("temperature", "max_tokens", "stream", "extra_body", "tokenizer")
    asked = {key: value for key in keys if (value := about["configuration"][key]) not in (None, {})}
    yield (
        f"Test set {about['test_set']}, SHA-256 {about['test_set_digest']}; request concurrency "
        f"{about['request_concurrency']}, vendor concurrency {about['vendor_concurrency']}, retries "
        f"{about['retries']}, timeout {about['timeout_s']:g} s; Python {about['python']} on {about['platform']}."
    )
    if asked:
        yield f"For every request: {', '.join(f'{key} {json.dumps(value)}' for key, value in asked.items())}."
    for line in about["bad_lines"]:
        yield f"Line {line['line']} of the test set was skipped: {line['reason']}."


def verification_records(summaries: Sequence[Document]) -> list[dict[str, Any]]:
    """One record per model and vendor."""
    return [_record(summary) for summary in summaries]


def _record(summary: Document) -> dict[str, Any]:
    about = summary["provenance"]
    record = {name: summary[name] for name in ("model", "vendor", "is_baseline")}
    record |= {"requests_ended": summary["case_count"], "not_sent": summary["not_sent"]}
    record |= {outcome: summary["outcomes"].get(outcome, 0) for outcome in OUTCOMES}
    record |= {"failed": summary["failure_count"], "problems": counts(summary["problems"])}
    for key in RATES:
        record |= _columns_of(key, summary[key])
    for key in SPREADS:
        record |= {f"{key}_{name}": (summary[key] or {}).get(name) for name in ("mean", *QUANTILES, "n")}
    for name, suite in summary["suites"].items():
        record |= _columns_of(f"suite_{name}", suite["score"])
    record |= {"cost": summary["cost"] and summary["cost"]["total"], "client_saturated": summary["client_saturated"]}
    record |= {name: about["configuration"][name] for name in ("base_url", "model_id", "provider")}
    record["served_models"] = _served_names(summary["served_models"])
    record |= {name: summary[name] for name in ("first_row_at", "last_row_at")}
    return record | {name: about[name] for name in ("test_set_digest", "configuration_digest", "trialbed_version")}


def _columns_of(name: str, found: Document | None) -> dict[str, Any]:
    ends = {"": "value", "_low": "low", "_high": "high", "_n": "n"}
    return {f"{name}{suffix}": (found or {}).get(key) for suffix, key in ends.items()}


def suite_tables(vendors: Sequence[Document]) -> Iterator[Table]:
    """A table for each suite that one of these vendors has."""
    for name in dict.fromkeys(name for vendor in vendors for name in vendor["suites"]):
        found = [vendor["suites"].get(name, {}) for vendor in vendors]
        yield vendor_table(f"Suite {name}", vendors, _suite_rows(found), _suite_notes(vendors, found))


def _suite_rows(found: Sequence[Document]) -> Iterator[tuple[str, ...]]:
    yield "right", *(_score(one.get("score")) for one in found)
    for title in dict.fromkeys(title for one in found for title in one.get("by", ())):
        own = [one.get("by", {}).get(title, {}) for one in found]
        values = dict.fromkeys(value for scores in own for value in scores)
        for value in values if len(values) <= MOST_VALUES else ():
            yield f"{title}: {value}", *(_score(scores.get(value)) for scores in own)
    parameters = [one.get("parameters", {}) for one in found]
    for name in dict.fromkeys(name for own in parameters for name in own):
        yield f"{name} is", *(own[name]["finding"] if name in own else UNKNOWN for own in parameters)


def _score(score: Document | None) -> str:
    return estimate(score, 2, with_n=True)


def _suite_notes(vendors: Sequence[Document], found: Sequence[Document]) -> Iterator[str]:
    yield "The share of cases that are right, with its 95 % Wilson interval; the trials of a case count as one."
    for vendor, one in zip(vendors, found, strict=True):
        missed = []
        for name, count in one.get("misses", {}).items():
            lines = ", ".join(dict.fromkeys(str(example["line"]) for example in one["examples"].get(name, ())))
            missed.append(f"{name} {count} times (lines {lines})")
        if missed:
            yield f"{vendor['vendor']} misses {', '.join(missed)}."


def verification_tests(summary: Document) -> Iterator[TestCase]:
    """Yield a test of the answers that came, one of the calls against their schemas, and one per gate of findings."""
    name, problems = f"{summary['model']} at {summary['vendor']}", summary["problems"]
    failed, wrong = summary["failure_count"], summary["schema_validation_error_count"]
    unanswered = f"{failed} were not: {counts(problems)}" if failed else ""
    yield junit_case(name, "requests are answered", "unanswered", unanswered)
    yield junit_case(name, "calls fit their schemas", "schema", f"{wrong} responses do not" if wrong else "")
    violations = {kind: KINDS[kind].gate for kind in KINDS if KINDS[kind].severity == "violation"}
    for gate in (gate for gate in GATES if gate != "schema"):
        found = {kind: count for kind, count in summary["notes"].items() if violations.get(kind) == gate}
        if gate == "protocol":
            found |= {kind: count for kind, count in problems.items() if kind in PROTOCOL_ERRORS}
        yield junit_case(name, f"no violations: {gate}", "violation", counts(found))


def junit_case(classname: str, name: str, kind: str, message: str, outcome: TestOutcome = "failure") -> TestCase:
    """Return a test that ends so, with a message; one that passes if the message is empty."""
    if not message:
        return TestCase(classname, name)
    return TestCase(classname, name, outcome=outcome, kind=kind, message=message)
