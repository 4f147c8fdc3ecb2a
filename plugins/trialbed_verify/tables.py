"""Summaries, comparisons and ranks of vendors as tables of text, as records, and as tests of JUnit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trialbed.texts import group_by_key, number_of
from trialbed.views import UNKNOWN, Table, TableRow, TestCase, TestOutcome, compact, counts, estimate, number
from trialbed_verify.findings import GATES, KINDS, PROTOCOL_ERRORS
from trialbed_verify.rows import object_in
from trialbed_verify.summary import QUANTILES, SERVED, UNNAMED
from trialbed_verify.table import SIDES

if TYPE_CHECKING:
    from trialbed_verify.compare import VendorComparison
    from trialbed_verify.panel import GateResult, Panel, PanelGate
    from trialbed_verify.ranking import ModelComparison, RankedVendor, Ranking, Standings, VerifiedVendors

Document = Mapping[str, Any]
Row = Sequence[str]
"""The texts of a row, its label first."""

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
VIOLATIONS = {kind: about.gate for kind, about in KINDS.items() if about.severity == "violation"}
ENDS = ("value", "low", "high", "n")

USUAL = 3
"""Kinds of failures, and names of what served answers, in a cell of a table."""

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


def vendor_table(title: str, vendors: Sequence[Document], rows: Iterable[Row], notes: Iterable[str]) -> Table:
    """Return a table of vendors' figures: a column for each vendor or, for many vendors, a row.

    Args:
        rows: a figure each: its label, and its text for each vendor.
    """
    names = [one["vendor"] + "*" * one["is_baseline"] for one in vendors]
    if len(names) < MANY:
        lines = [TableRow(label, tuple(cells), label in ALARMING) for label, *cells in rows]
        return Table(title, ["", *names], lines, list(notes))
    labels, *columns = zip(("vendor", *names), *rows, strict=True)
    alarming = [place for place, label in enumerate(labels) if label in ALARMING]
    lines = [TableRow(own[0], own[1:], any(own[place] for place in alarming)) for own in columns]
    return Table(title, list(labels), lines, list(notes))


def figure_rows(vendors: Sequence[Document]) -> Iterator[Row]:
    """Yield the counts, rates, times and tokens of vendors, from their summaries."""
    rows: dict[str, list[str]] = {"requests ended": [str(one["case_count"]) for one in vendors]}
    rows |= {name: [str(one["outcomes"].get(name, 0)) for one in vendors] for name in OUTCOMES}
    rows["failed"] = [_most_common(one["problems"]) for one in vendors]
    rows["not sent"] = [str(one.get("not_sent") or "") for one in vendors]
    rows |= {label: [estimate(one[key], 2, with_n=True) for one in vendors] for key, label in RATES.items()}
    rows |= {label: [_spread(one[key]) for one in vendors] for key, label in SPREADS.items()}
    if any(one["cost"] for one in vendors):
        totals = [(one["cost"] and one["cost"]["total"], one["success_count"]) for one in vendors]
        rows["cost"] = [UNKNOWN if total is None else compact(total) for total, _ in totals]
        rows["cost of 1,000 answers"] = [compact(1000 * total / n) if total and n else UNKNOWN for total, n in totals]
    yield from ((label, *cells) for label, cells in rows.items() if any(cells))


def _most_common(problems: Mapping[str, int]) -> str:
    """The usual kinds of failures, and how many are of others; all of them are listed below the table."""
    usual = dict(list(problems.items())[:USUAL])
    others = sum(problems.values()) - sum(usual.values())
    return f"{counts(usual)}, {others} others" if others else counts(usual)


def _spread(found: Document | None) -> str:
    return UNKNOWN if found is None else "/".join(compact(found[name]) for name in QUANTILES)


def verification_tables(summaries: Sequence[Document]) -> list[Table]:
    """For each model: figures of its vendors, their background, and where they come from."""
    tables = []
    for model, vendors in group_by_key((one["model"], one) for one in summaries).items():
        about = vendors[0]["provenance"]
        *fewer, most = sorted({one["provenance"]["trials"] for one in vendors})
        title = (
            f"{model}: {number_of(about['test_set_cases'], 'request')} of {about['test_set']} "
            f"({about['test_set_digest'][:12]}), {f'{fewer[0]} to ' if fewer else ''}{number_of(most, 'trial')}, "
            f"trialbed {about['trialbed_version']}"
        )
        tables.append(vendor_table(title, vendors, figure_rows(vendors), _summary_notes(vendors)))
        tables += suite_tables(vendors)
        tables.append(vendor_table("Where they come from", vendors, source_rows(vendors), _settings_notes(about)))
    return tables


def _summary_notes(summaries: Sequence[Document]) -> Iterator[str]:
    yield INTERVALS
    if any(one["is_baseline"] for one in summaries):
        yield "* is the baseline."
    for one in summaries:
        yield from (f"{one['vendor']}: {note}" for note in _vendor_notes(one))


def _vendor_notes(summary: Document) -> Iterator[str]:
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
    trials = group_by_key(
        (": ".join(filter(None, (one.get("tool"), one["message"]))), f"{one['line']}/{one['trial']}")
        for one in examples
    )
    for said, found in trials.items():
        listed = dict.fromkeys(found)
        named = f"{title}, trial{'s' * (len(listed) > 1)} {', '.join(listed)}"
        yield f"{named}: {said}" if said else named
        title = "and"
    if not trials:
        yield title


def source_rows(summaries: Sequence[Document]) -> list[Row]:
    """Return where the answers of vendors come from, as far as it is known."""
    return [row for row in _sources(summaries) if {*row[1:]} != {UNKNOWN}]


def _sources(summaries: Sequence[Document]) -> Iterator[Row]:
    abouts = [summary["provenance"] for summary in summaries]
    for key, label in (("base_url", "endpoint"), ("model_id", "model asked for"), ("provider", "provider")):
        yield label, *(object_in(about, "configuration").get(key) or UNKNOWN for about in abouts)
    for key, label in (("vendor", "vendor driver"), ("model_adapter", "model adapter")):
        yield label, *(object_in(about, "drivers").get(key) or UNKNOWN for about in abouts)
    for kind, label in zip(SERVED, ("served model", "fingerprint", "served by"), strict=True):
        yield label, *(_served_names(summary[f"served_{kind}"]) for summary in summaries)
    for key, label in (("first_row_at", "first ended"), ("last_row_at", "last ended")):
        yield label, *(moment(summary[key]) for summary in summaries)
    yield "proxy", *(about.get("proxy") or UNKNOWN for about in abouts)
    yield "configuration", *(about.get("configuration_digest", UNKNOWN)[:12] for about in abouts)


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
    return ", ".join(names[:USUAL]) + (f", {len(names) - USUAL} more" if len(names) > USUAL else "")


def _settings_notes(about: Document) -> Iterator[str]:
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


def suite_tables(vendors: Sequence[Document]) -> Iterator[Table]:
    """A table for each suite that one of these vendors has."""
    for name in dict.fromkeys(name for vendor in vendors for name in vendor["suites"]):
        found = [vendor["suites"].get(name, {}) for vendor in vendors]
        yield vendor_table(f"Suite {name}", vendors, _suite_rows(found), _suite_notes(vendors, found))


def _suite_rows(found: Sequence[Document]) -> Iterator[Row]:
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


def verification_records(summaries: Sequence[Document]) -> list[dict[str, Any]]:
    """One record per model and vendor."""
    return [_record(summary) for summary in summaries]


def _record(summary: Document) -> dict[str, Any]:
    about, figures = summary["provenance"], list[tuple[str, Document | None, Sequence[str]]]()
    figures += [(key, summary[key], ENDS) for key in RATES]
    figures += [(key, summary[key], ("mean", *QUANTILES, "n")) for key in SPREADS]
    figures += [(f"suite_{name}", suite["score"], ENDS) for name, suite in summary["suites"].items()]
    record = {name: summary[name] for name in ("model", "vendor", "is_baseline")}
    record |= {"requests_ended": summary["case_count"], "not_sent": summary["not_sent"]}
    record |= {outcome: summary["outcomes"].get(outcome, 0) for outcome in OUTCOMES}
    record |= {"failed": summary["failure_count"], "problems": counts(summary["problems"])}
    for key, found, ends in figures:
        record |= {f"{key}_{end}".removesuffix("_value"): (found or {}).get(end) for end in ends}
    record |= {"cost": summary["cost"] and summary["cost"]["total"], "client_saturated": summary["client_saturated"]}
    record |= {name: about["configuration"][name] for name in ("base_url", "model_id", "provider")}
    record |= {"served_models": _served_names(summary["served_models"])}
    record |= {name: summary[name] for name in ("first_row_at", "last_row_at")}
    return record | {name: about[name] for name in ("test_set_digest", "configuration_digest", "trialbed_version")}


def verification_tests(summary: Document) -> Iterator[TestCase]:
    """Yield a test of the answers that came, one of the calls against their schemas, and one per gate of findings.

    A test for which there is no answer is skipped.
    """
    name, problems = f"{summary['model']} at {summary['vendor']}", summary["problems"]
    failed, wrong = summary["failure_count"], summary["schema_validation_error_count"]
    missing = [f"{failed} were not: {counts(problems)}"] if failed else []
    missing += [f"{unsent} were not sent"] if (unsent := summary.get("not_sent")) else []
    unknown = "" if summary["case_count"] else "nothing was sent"
    tests = [("requests are answered", "unanswered", "; ".join(missing), unknown)]
    unknown = "" if wrong or summary["successful_tool_call_count"] else "no answer has calls that can be checked"
    tests.append(("calls fit their schemas", "schema", f"{wrong} responses do not" if wrong else "", unknown))
    unknown = "" if summary["success_count"] else "no request was answered"
    for gate in (gate for gate in GATES if gate != "schema"):
        found = {kind: count for kind, count in summary["notes"].items() if VIOLATIONS.get(kind) == gate}
        if gate == "protocol":
            found |= {kind: count for kind, count in problems.items() if kind in PROTOCOL_ERRORS}
        tests.append((f"no violations: {gate}", "violation", counts(found), unknown))
    for title, kind, fault, unknown in tests:
        outcome: TestOutcome = "failure" if fault else "skipped" if unknown else "passed"
        yield TestCase(name, title, outcome=outcome, kind=kind, message=fault or unknown)


WORDS = SPREADS | {
    "completion_tokens": "tokens received",
    "trigger_rate": "answers with calls",
    "success_rate": "success",
    "schema_accuracy": "schema, per response",
}
"""Figures and the metrics of tests -> their names in tables."""

COUNTS = ("cases", "TP", "FP", "FN", "TN")
SIMILARITY = {"precision": "precision", "recall": "recall", "f1": "F1", "chance_f1": "F1 of chance", "kappa": "kappa"}
SCOPES = ("answered", "delivered")
UNDECIDED = "not decided by one trial"
CONCLUSIONS = {
    "different": "{vendor} differs from {baseline}",
    "equivalent": "{vendor} is equivalent to {baseline}",
    "inconclusive": "{vendor} is neither shown to equal {baseline} nor to differ",
    UNDECIDED: "one trial does not decide between {vendor} and {baseline}",
}
SCOPES_MEANING = (
    "Decisions are whether tools are called, and nothing else. answered: cases that both answered. delivered: a "
    "failure counts as a missed call."
)


def comparison_tables(
    comparisons: Sequence[VendorComparison], named: Callable[[PanelGate], str] = attrgetter("label")
) -> list[Table]:
    """Return for each vendor the verdict, its rates and the baseline's, figures, and tests.

    Args:
        named: names a gate of the panel; by default as options take it.
    """
    return [table for one in comparisons for table in _tables(one, named)]


def _tables(found: VendorComparison, named: Callable[[PanelGate], str]) -> Iterator[Table]:
    one, vendor, baseline = found.document, found.vendor, found.baseline
    yield _panel_table(found.panel, vendor, baseline, named)
    notes = [*map(_as_sentence, _pairing_notes(one)), *(f"{note}." for note in one["notes"]), *_decision_notes(one)]
    yield Table.of("Decisions", ("", *SCOPES), _similarity(one), notes)
    yield Table.of("Rates", ("", baseline, vendor), _rates(one), _failures(one))
    yield Table.of("Tokens and times", ("", baseline, vendor, "paired difference"), _figures(one))
    rows = [
        (WORDS[test["metric"]], test["method"], str(test["cases"]), *(_p_value(test[name]) for name in ("p", "p_holm")))
        for test in one["tests"]
    ]
    if rows:
        yield Table.of("Tests", ("", "method", "cases", "p", "p corrected (Holm)"), rows)


def _pairing_notes(one: Document) -> Iterator[str]:
    pairing, rows = one["pairing"], one["matched_success"] + one["skipped_failures"]
    yield f"{number_of(pairing['cases'], 'case')}, paired by {pairing['by']}; {number_of(rows, 'pair')} of rows"
    if pairing["asked_otherwise"]:
        yield f"Cases whose requests differ: {pairing['asked_otherwise']}"
    yield from _differing_files(one)


def _differing_files(one: Document) -> Iterator[str]:
    """Say which rows only one file has, and which settings differ."""
    pairing = one["pairing"]
    if left_out := pairing["only_baseline"] + pairing["only_vendor"]:
        yield f"{number_of(left_out, 'row')} {'is' if left_out == 1 else 'are'} left out because only one file has them"
    for text, count in pairing["settings"].items():
        yield f"settings of {number_of(count, 'request')} differ: {text}"


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _similarity(one: Document) -> Iterator[Row]:
    scopes = [one["similarity"][scope] for scope in SCOPES]
    yield from ((name, *(f"{scope[name]:g}" for scope in scopes)) for name in COUNTS)
    yield from ((label, *(estimate(scope[name]) for scope in scopes)) for name, label in SIMILARITY.items())
    if stable := one["stable_subset"]:
        yield "F1, stable cases", *(f"{estimate(stable[scope]['f1'])} n={stable[scope]['cases']}" for scope in SCOPES)


def _decision_notes(one: Document) -> Iterator[str]:
    if (itself := one["self_consistency"]["baseline"]) is None:
        yield "The baseline has one trial per case, so its self-consistency is unknown."
    else:
        yield (
            f"The baseline compared with itself ({number_of(itself['trials'], 'trial')}): "
            f"F1 {estimate(itself['self_f1'])}, flip rate {estimate(itself['flip_rate'])}, "
            f"{itself['stable_cases']} of {itself['cases']} cases stable."
        )
    yield SCOPES_MEANING
    k2, schema = one["tool_call_trigger_similarity"], one["tool_call_schema_accuracy"]["schema_accuracy"]
    yield (
        f"K2-style, of {number_of(one['matched_success'], 'pair')} without failures: TP {k2['TP']}, FP {k2['FP']}, "
        f"FN {k2['FN']}, TN {k2['TN']}, precision {k2['precision']}, recall {k2['recall']}, F1 {k2['f1']}, "
        f"schema accuracy {schema}."
    )


def _rates(one: Document) -> Iterator[Row]:
    success, schema = one["success_rate"], one["schema_accuracy"]
    yield "success", *(estimate(success[side], with_n=True) for side in SIDES)
    for unit in ("response", "call"):
        yield f"schema, per {unit}", *(estimate(schema[side][f"per_{unit}"], with_n=True) for side in SIDES)


def _failures(one: Document) -> Iterator[str]:
    for side in SIDES:
        outcomes = one["outcomes"][side]
        said = {"failed": outcomes["problems"], "ended otherwise": outcomes["other_finish_reasons"]}
        said["calls were wrong"] = one["schema_accuracy"][side]["reasons"]
        yield from (f"{one[side]['vendor']} {words}: {counts(found)}." for words, found in said.items() if found)


def _figures(one: Document) -> Iterator[Row]:
    for figure, own in one["figures"].items():
        digits, label, sides = 2 if figure == "tps" else 1, WORDS[figure], [own[side] for side in SIDES]
        if not any(side["n"] for side in sides):
            yield label, UNKNOWN, UNKNOWN, UNKNOWN
            continue
        missing = (f", {side['missing']} missing" * bool(side["missing"]) for side in sides)
        means = (estimate(side["mean"], digits) for side in (*sides, {"mean": own["difference"]}))
        yield f"{label}, mean", *map("".join, zip_longest(means, missing, fillvalue=""))
        spread = ["/".join(number(side[name]["value"], digits) for name in QUANTILES) for side in sides]
        yield f"{label}, {'/'.join(QUANTILES)}", *spread, ""


def _p_value(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def comparison_records(comparisons: Sequence[VendorComparison]) -> list[dict[str, Any]]:
    """Return one record per vendor and figure."""
    return [
        {"vendor": one.vendor, "baseline": one.baseline, "side": side, "figure": name, **found}
        for one in comparisons
        for side, name, found in _estimates(one)
    ]


def _estimates(found: VendorComparison) -> Iterator[tuple[str, str, Document]]:
    """Yield the side, the name and the value, with its interval, of every figure of a comparison."""
    one = found.document
    for gate in one["panel"]["gates"]:
        ends = ((name, gate[name]) for name in ("excess", "distance") if gate[name])
        yield from ((gate["finding"], f"panel_{gate['gate']}_{name}", mean) for name, mean in ends)
    for scope in SCOPES:
        yield from ((scope, name, one["similarity"][scope][name]) for name in SIMILARITY)
    if itself := one["self_consistency"]["baseline"]:
        yield from (("baseline", name, itself[name]) for name in ("self_f1", "flip_rate"))
    for side in SIDES:
        schema = one["schema_accuracy"][side]
        yield side, "success_rate", one["success_rate"][side]
        yield from (
            (side, f"schema_accuracy_{unit}", schema[unit]) for unit in ("per_response", "per_call") if schema[unit]
        )
        for figure, own in one["figures"].items():
            yield side, f"{figure}_mean", own[side]["mean"]
            yield from ((side, f"{figure}_{name}", own[side][name] | {"n": own[side]["n"]}) for name in QUANTILES)


def conclusion(found: VendorComparison) -> str:
    """Return the verdict on a vendor in words, its meaning for callers, and the cases that would settle an open one."""
    panel = found.panel
    verdict = CONCLUSIONS[panel.verdict].format(vendor=found.vendor, baseline=found.baseline)
    needed = [f"about {panel.needed:,} cases would settle it"] if panel.needed else []
    return f"{verdict}: {'; '.join([*_reasons(panel)[0], *needed])}."


def _reasons(panel: Panel) -> tuple[list[str], list[str]]:
    """Return the reasons of a verdict that its conclusion gives, and the others, which an open verdict has."""
    said = panel.reasons(attrgetter("meaning"))
    leading = 1 + bool(panel.options.other_models) if panel.needed else len(said)
    return said[:leading], said[leading:]


def brief_reasons(panel: Panel) -> Iterator[str]:
    """Yield in words the reasons of the verdict that its conclusion does not give."""
    rest = "; ".join(_reasons(panel)[1])
    if rest and not rest.startswith("about "):
        yield _as_sentence(rest)
    yield from map(_as_sentence, panel.remarks)


PANEL_COLUMNS = ("gate", "finding", "baseline", "vendor", "excess", "margin", "distance", "margin", "p (Holm)")

PANEL_DIGITS = 3

FLOOR = 1.5
"""Deals as unusual as the answers, with the answers themselves, below which there is none but them."""

LEGEND = (
    "baseline: how far its trials are from each other; vendor: how far the vendor's are from them; for faults, the "
    "share of each. excess: the second less the first; distance: between both distributions. Both are 0 for an "
    "identical vendor, whatever the model's own spread. [low, high]: one-sided 95 % bounds, which decide. breaking: "
    "answers that would break a caller, and that the other trials of the baseline never give. At "
    "most so many of 1,000 answers break a caller: the upper bound of its excess, and beyond it those that are too "
    "rare to have been seen."
)


def _panel_table(panel: Panel, vendor: str, baseline: str, named: Callable[[PanelGate], str]) -> Table:
    """Return the verdict and every gate that applies, with an example of each difference in the notes."""
    # Gates with the same figures share a row, as most have the same where nothing differs.
    gates = group_by_key((tuple(_panel_cells(one, panel.deals)), named(one.gate)) for one in panel.applicable)
    rows = [TableRow(", ".join(names), cells, cells[0] == "different") for cells, names in gates.items()]
    brief = [TableRow(row.label, (row.cells[0], *row.cells[3:5]), row.alarming) for row in rows]
    title = f"{vendor} compared with {baseline}: {panel.verdict}"
    notes = list(_panel_notes(panel, vendor, baseline))
    narrow = Table(title, ["gate", "finding", "excess", "margin"], brief, notes, legend=[LEGEND])
    return Table(title, list(PANEL_COLUMNS), rows, notes, narrow=narrow, legend=[LEGEND])


def _panel_cells(one: GateResult, deals: int) -> Iterator[str]:
    yield from (one.finding, number(one.baseline, PANEL_DIGITS), number(one.vendor, PANEL_DIGITS))
    for mean, margin in ((one.excess, one.gate.margin), (one.distance, one.gate.distance_margin)):
        yield UNKNOWN if mean is None else f"{mean.value:+.3f} [{mean.low:.3f}, {mean.high:.3f}]"
        yield UNKNOWN if margin is None else f"{margin:g}"
    # Where no deal was as unusual as the answers, the p-value is the most that it can be.
    tested = one.finding != "not judged" or one.differing is not None
    yield (f"≤ {one.p_holm:.2g}" if one.p * (deals + 1) < FLOOR else f"{one.p_holm:.3f}") if tested else UNKNOWN


def _panel_notes(panel: Panel, vendor: str, baseline: str) -> Iterator[str]:
    yield from map(_as_sentence, (panel.reason, *panel.remarks))
    for one in panel.gates:
        if one.finding == "different":
            yield f"{one.gate.label}: {one.gate.meaning} differ; {one.reason}."
            if found := one.example:
                where = f"line {found.line}" if found.line else "for example"
                yield f"  {where}, {baseline}: {found.baseline}"
                yield f"  {where}, {vendor}: {found.vendor}"
    ours, theirs = panel.trials
    whole = UNKNOWN if panel.whole is None else f"{panel.whole:.2g}"
    yield (
        f"{panel.cases} cases with {ours:.3g} and {theirs:.3g} trials that count; all gates "
        f"together: p = {whole} (up to {panel.deals:,} permutations of trials within cases)."
    )


def comparison_tests(found: VendorComparison, rejected: Sequence[str] = ()) -> Iterator[TestCase]:
    """Yield a test per gate of the panel that applies, and one of the verdict; those that are equivalent pass.

    The verdict fails if it is different or rejected, and a gate fails if it makes the verdict different. All others
    are skipped.
    """
    panel, failing = found.panel, {"different"} if found.panel.finding == "different" else set[str]()
    tests = [(one.gate.label, one.finding, f"{one.gate.meaning}: {one.reason}", failing) for one in panel.applicable]
    reason = f"{found.vendor}: the verdict is {panel.verdict}: {panel.reason}"
    tests.append(("verdict", panel.finding, reason, {"different", *rejected}))
    for name, finding, message, fails in tests:
        passes: TestOutcome = "passed" if finding == "equivalent" else "skipped"
        outcome, kind = "failure" if finding in fails else passes, finding.replace(" ", "-")
        yield TestCase(f"{found.vendor} against {found.baseline}", name, outcome=outcome, kind=kind, message=message)


BREAKING, PRICE = "answers in 1,000 that break a caller", "price of an answer"

MOST_NAMES, NAMED = 5, 3
"""Vendors up to which notes name all, and those that they name of more."""


def verified_tables(found: VerifiedVendors) -> list[Table]:
    """Return a table of comparisons for each model, and those of the ranking."""
    tables = [verdict_table(one, _verdict_notes(one), in_words=False) for one in found.models]
    return tables + (ranking_tables(found.ranking, verdicts=False) if found.ranking else [])


def verdict_table(found: ModelComparison, notes: Iterable[str] = (), *, in_words: bool = True) -> Table:
    """Return the verdict on each vendor of a model, those that differ first.

    Args:
        in_words: name the gates at which vendors differ in words, not by their labels.
    """
    compared = sorted(found.comparisons, key=lambda one: one.panel.finding != "different")
    rows = [_verdict(one.vendor, one.panel, in_words=in_words) for one in compared]
    notes = [*notes, *(f"{note}." for note in found.notes)]
    table = Table(found.title, ["vendor", "verdict", BREAKING, PRICE, "differs in", "cases"], rows, notes)
    return table if any(one.panel.price is not None for one in compared) else table.without(PRICE)


def _verdict(vendor: str, panel: Panel, *, in_words: bool) -> TableRow:
    from trialbed_verify.panel import breaking_in_thousand

    breaking, apart = panel.at("any"), [one.gate for one in panel.found("different")]
    share = UNKNOWN if breaking is None or breaking.excess is None else breaking_in_thousand(breaking.excess)
    price = UNKNOWN if panel.price is None else f"{round(100 * (panel.price - 1)):+d} %"
    subjects = ", ".join(gate.meaning if in_words else gate.label for gate in apart)
    cells = (panel.verdict, share, price, subjects or "nothing shown", str(panel.cases))
    return TableRow(vendor, cells, alarming=panel.finding == "different")


def _verdict_notes(found: ModelComparison) -> Iterator[str]:
    for reason, vendors in group_by_key((one.panel.reason, one.vendor) for one in found.comparisons).items():
        yield f"{_some(vendors)}: {reason}."
    for one in found.comparisons:
        yield from (f"{one.vendor}: {text}." for text in _differing_files(one.document))


def _some(names: Sequence[str]) -> str:
    """Name all, or the first ones and the number of the others if there are many."""
    others = f" and {len(names) - NAMED} others" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:NAMED] if others else names) + others


Names = Mapping[tuple[str, str], str]
"""Model and vendor -> the name in a table."""

RANGE = "rank 95 %"

RANK_DIGITS = {"tps": 2, "ttft_ms": 1, "avg_token": 1}

COST = "cost of 1,000"
"""The column of what 1,000 answers cost at the prices of the configuration, by which no vendor is ranked."""

MAY_LACK = ("rank", RANGE, "IRF", COST)
"""Columns that are left out if no vendor has them."""

EXPLAINED = (
    "IRF, inverse rank fusion, orders the vendors: the sum of 1 / (rank + {k}) over the vendor's ranks in each metric; "
    "more is better."
)

UNSETTLED = "neither is ahead in 95 % of resamples; where they are equal, both have the better rank"

SEVERAL = {
    "its decisions are": "their decisions are",
    "of its answers": "of their answers",
    "it differs in": "they differ in",
}
"""Words about one vendor, and those about several."""


def ranking_tables(ranking: Ranking, *, reasons: bool = True, verdicts: bool = True) -> list[Table]:
    """Return a table per model, and one of all if there are several; the first with ranks explains their score.

    Args:
        reasons: say why vendors are not ranked or placed last, which pages say already.
        verdicts: say why vendors differ from the baseline; tables of their comparisons say so already.
    """
    first = next((model for model, found in ranking.models.items() if found.ranked), None)
    tables = []
    for model, found in ranking.models.items():
        names = {row.name: row.vendor for row in found.rows}
        notes = [EXPLAINED.format(k=ranking.k)] if model == first else []
        notes += _order_notes(found, ranking.metrics, names)
        notes += (f"{text}." for text in _unranked(found) if reasons)
        notes += (text for text in _difference_notes(found) if verdicts)
        tables.append(_rank_table(model, found, ranking.metrics, names, notes))
    if len(tables) > 1:
        names = {row.name: f"{row.vendor} ({row.model})" for row in ranking.overall.rows}
        notes = list(_order_notes(ranking.overall, ranking.metrics, names))
        tables.append(_rank_table("all models", ranking.overall, ranking.metrics, names, notes))
    notes = [f"{note}." for note in ranking.notes]
    return [*tables, Table("Note", notes=notes)] if notes else tables


def _rank_table(title: str, found: Standings, metrics: Sequence[str], names: Names, notes: Sequence[str]) -> Table:
    from trialbed_verify.ranking import METRICS

    rows = found.rows
    columns = [
        ("vendor", [_starred(row, names) + " (different)" * row.is_different for row in rows]),
        ("rank", [_place(row) for row in rows]),
        (RANGE, [UNKNOWN if row.rank_low is None else f"{row.rank_low}-{row.rank_high}" for row in rows]),
        ("IRF", [number(row.irf) for row in rows]),
    ]
    for name in metrics:
        figures = [number(row.metrics[name].value, RANK_DIGITS.get(name, 4)) for row in rows]
        columns.append((METRICS[name].label, figures))
    columns.append((COST, [number(row.cost) for row in rows]))
    shown = {name: cells for name, cells in columns if name not in MAY_LACK or {*cells} != {UNKNOWN}}
    count = "six metrics" if len(metrics) == len(METRICS) else f"{len(metrics)} of six metrics"
    heading = f"{title}: ranked over {count}" if found.ranked else f"{title}: no vendor is ranked"
    legend = [f"{METRICS[name].label}: {METRICS[name].meaning}." for name in metrics]
    starred = ((_starred(row, names), note) for row in rows for note in row.notes)
    notes = [*notes, *(f"{names}: {note}." for names, _, note in _by_text(starred))]
    return Table.of(heading, list(shown), zip(*shown.values(), strict=True), notes, legend)


def _starred(row: RankedVendor, names: Names) -> str:
    return names[row.name] + "*" * row.is_baseline


def _place(row: RankedVendor) -> str:
    return UNKNOWN if row.rank is None else f"{row.rank}{' tie' * bool(row.tie)}{' last' * (row.status == 'behind')}"


def _order_notes(found: Standings, metrics: Sequence[str], names: Names) -> Iterator[str]:
    """Yield the vendors whose order the data do not settle, and those that are equal in a metric."""
    from trialbed_verify.ranking import METRICS

    for place, row in enumerate(found.ranked, 1):
        if others := [names[other.name] for other in found.ranked[place:] if other.name in (row.tied_with or ())]:
            yield f"{names[row.name]} ties with {_some(others)}: {UNSETTLED}."
    for metric in metrics:
        sharing = group_by_key((float(row.ranks[metric]), names[row.name]) for row in found.ranked)
        for rank, equal in sorted(sharing.items()):
            if len(equal) > 1:
                yield f"Equal in {METRICS[metric].label}, rank {rank:g} each: {_some(equal)}."


def _difference_notes(found: Standings) -> Iterator[str]:
    """Say why vendors are shown to differ from the baseline."""
    panels = ((row.vendor, row.panel.reason) for row in found.rows if row.panel and row.is_different)
    for names, verb, reason in _by_text(panels):
        yield f"{names} {verb} not the baseline's equal{'s' * (verb == 'are')}: {reason}."


def _unranked(found: Standings) -> Iterator[str]:
    for rows, words in ((found.behind, "placed last"), (found.not_ranked, "not ranked")):
        why = ((row.vendor, "; ".join(row.reasons)) for row in rows)
        yield from (f"{names} {verb} {words}: {reason}" for names, verb, reason in _by_text(why))


def _by_text(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield each text once: the names that it is true of, the verb for as many, and the text."""
    for text, names in group_by_key((text, name) for name, text in found).items():
        *others, last = names
        listed = _some(names) if len(names) > MOST_NAMES else " and ".join(filter(None, (", ".join(others), last)))
        for one, several in SEVERAL.items() if others else ():
            text = text.replace(one, several)
        yield listed, "are" if others else "is", text


def rank_sentence(model: str, found: Standings) -> str:
    """Say who leads, whether that is shown, and who is placed last or not ranked, in one sentence."""
    said = []
    if found.ranked:
        first = found.ranked[0]
        leading = [row for row in found.ranked if row.rank == first.rank]
        behind = [row for row in found.ranked if row not in leading and row.name in (first.tied_with or ())]
        leads, tied = (" and ".join(row.vendor for row in rows) for rows in (leading, behind))
        is_shared = len(leading) > 1
        place = "share the first rank, as their scores are equal" if is_shared else "leads" if tied else "ranks first"
        ahead = f", {'and are' if is_shared else 'but is'} not shown to be ahead of {tied}" if tied else ""
        said.append(f"{leads} {place}{ahead}")
    return f"{model}: {'; '.join([*said, *_unranked(found)])}."


def ranking_records(ranking: Ranking) -> list[dict[str, Any]]:
    """Return one record per model and vendor, with the places in its model and among all."""
    overall = {row.name: row for row in ranking.overall.rows}
    return [_rank_record(row, overall[row.name]) for found in ranking.models.values() for row in found.rows]


def _rank_record(row: RankedVendor, overall: RankedVendor) -> dict[str, Any]:
    from trialbed_verify.ranking import METRICS

    record: dict[str, Any] = {"model": row.model, "vendor": row.vendor}
    record |= {name: getattr(row, name) for name in ("status", "rank", "tie", "rank_low", "rank_high", "irf")}
    record |= {"global_rank": overall.rank, "global_irf": overall.irf}
    record |= {name: row.metrics[name].value for name in METRICS}
    return record | {"reasons": "; ".join(row.reasons), "panel": row.panel and row.panel.finding}
