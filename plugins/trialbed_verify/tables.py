"""Summaries, comparisons and ranks of vendors as tables of text, as records, and as tests of JUnit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any

from trialbed.texts import group_by_key, number_of
from trialbed.views import UNKNOWN, Table, TableRow, TestCase, TestOutcome, compact, counts, estimate, number
from trialbed.wire.redaction import redact
from trialbed_verify.findings import GATES, KINDS, PROTOCOL_ERRORS
from trialbed_verify.rows import object_in
from trialbed_verify.summary import QUANTILES, SERVED, UNNAMED
from trialbed_verify.table import SIDES

if TYPE_CHECKING:
    from trialbed_verify.panel import GateResult, Mean, Panel, PanelGate
    from trialbed_verify.ranking import Ranking, Standings

Document = Mapping[str, Any]
Row = Sequence[str]
"""The texts of a row, its label first."""
Naming = Callable[["PanelGate"], str]
"""Names a gate of the panel."""

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

ASKED = ("base_url", "model_id", "provider", "temperature", "max_tokens", "stream", "extra_body", "tokenizer")
SENT = ("results", "test_set", "trials", "request_concurrency", "vendor_concurrency", "retries", "timeout_s", "proxy")
DIGESTS = ("test_set_digest", "configuration_digest")
ABOUT = (*SENT, "trialbed_version", "python", "platform")
"""Keys of a summary's provenance, and those of the configuration in it, that say where answers come from."""

SECONDS, DIGITS = 19, 12
"""Shown characters of a time (to the second) and of a digest."""

ALARMING = ("failed", "not sent")
"""Label prefixes of rows with problems."""

MOST_VALUES = 40
"""Shown values of one property of a suite; the summary has all."""

INTERVALS = "[low, high]: 95 % interval over cases; times and tokens: p50/p95/p99 of the answers that report them."
WILSON = "The share of cases that are right, with its 95 % Wilson interval; the trials of a case count as one."


def vendor_table(title: str, vendors: Sequence[Document], rows: Iterable[Row], notes: Iterable[str] = ()) -> Table:
    """Return a table with a column for each vendor; rows without known values are left out."""
    names = [one["vendor"] + "*" * one["is_baseline"] for one in vendors]
    known = [(label, tuple(cells)) for label, *cells in rows if not {*cells} <= {"", UNKNOWN}]
    lines = [TableRow(label, cells, label.startswith(ALARMING)) for label, cells in known]
    return Table(title, ["", *names], lines, list(notes))


def _rows_of_all(found: Sequence[Document], label: str = "", text: Callable[[Any], str] = str) -> Iterator[Row]:
    """Yield a row for each key that any vendor has, which its label ends with."""
    for key in dict.fromkeys(key for one in found for key in one):
        yield f"{label}{key}", *(text(one[key]) if key in one else "" for one in found)


def figure_rows(vendors: Sequence[Document], named: Callable[[str], str] = str) -> Iterator[Row]:
    """Yield the counts, rates, times and tokens of vendors, and the kinds of failures and findings, as named."""

    def kinds(key: str) -> list[Document]:
        return [{named(kind): count for kind, count in one[key].items()} for one in vendors]

    yield "requests ended", *(str(one["case_count"]) for one in vendors)
    yield from ((name, *(str(one["outcomes"].get(name, 0)) for one in vendors)) for name in OUTCOMES)
    yield from _rows_of_all(kinds("problems"), "failed: ")
    yield "not sent", *(str(one.get("not_sent") or "") for one in vendors)
    yield from ((label, *(_rate(one[key]) for one in vendors)) for key, label in RATES.items())
    for key, label in SPREADS.items():
        yield label, *("/".join(compact(one[key][name]) for name in QUANTILES) if one[key] else "-" for one in vendors)
    yield "cost", *(compact(one["cost"] and one["cost"]["total"]) for one in vendors)
    yield from _rows_of_all(kinds("call_problems"), "wrong calls: ")
    yield from _rows_of_all(kinds("notes"), "findings: ")


def _rate(found: Document | None) -> str:
    return estimate(found, 2, with_n=True)


def verification_tables(summaries: Sequence[Document]) -> list[Table]:
    """Return the tables of each model, with its vendors' figures, suites, and sources of answers."""
    tables = []
    for model, vendors in group_by_key((one["model"], one) for one in summaries).items():
        about = vendors[0]["provenance"]
        title = f"{model}: {number_of(about['test_set_cases'], 'request')} of {about['test_set']}"
        notes = [INTERVALS, *(note for one in vendors for note in _vendor_notes(one))]
        tables.append(vendor_table(title, vendors, figure_rows(vendors), notes))
        tables += [*suite_tables(vendors), source_table(vendors)]
    return tables


def _vendor_notes(summary: Document) -> Iterator[str]:
    vendor, examples = summary["vendor"], summary["examples"]
    if summary["is_baseline"]:
        yield f"* {vendor} is the baseline."
    if summary["client_saturated"]:
        yield f"{vendor}: this machine was delayed (own lag), so the times describe it as much as the vendor."
    if summary["failure"]:
        yield f"{vendor}: stopped because its driver failed: {summary['failure']}"
    for kind, own in (item for kinds in ("problems", "calls") for item in examples[kinds].items()):
        texts = [": ".join(filter(None, (one.get("tool"), one["message"]))) for one in own]
        # The trials are named as `bench show` takes them behind the vendor's name.
        trials = (f"{one['line']}/{one['trial']}" for one in own)
        for text, found in group_by_key(zip(texts, trials, strict=True)).items():
            yield f"{vendor}: {kind}, trial {', '.join(dict.fromkeys(found))}: {text}"


def source_table(vendors: Sequence[Document]) -> Table:
    """Return the known origins of vendors' answers; shared facts are in a note."""
    rows = list(_rows_of_all([_source(one) for one in vendors]))
    common = "; ".join(f"{label} {cell}" for label, cell, *others in rows if {cell, *others} == {cell})
    apart = [row for row in rows if len({*row[1:]}) > 1]
    return vendor_table("Where the answers come from", vendors, apart, filter(None, [common]))


def _source(summary: Document) -> dict[str, str]:
    about = summary["provenance"]
    found = {key: object_in(about, "configuration").get(key) for key in ASKED}
    found |= {f"driver of the {kind}": name for kind, name in object_in(about, "drivers").items()}
    found |= {f"served {kind}": _served(summary[f"served_{kind}"]) for kind in SERVED}
    found |= {f"{end} ended": (summary[f"{end}_row_at"] or "")[:SECONDS] for end in ("first", "last")}
    found |= {key: about.get(key) for key in ABOUT} | {key: str(about.get(key) or "")[:DIGITS] for key in DIGESTS}
    found["skipped lines"] = ", ".join(f"{one['line']} ({one['reason']})" for one in about.get("bad_lines", ()))
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in found.items() if value != {}}
    return {key.replace("_", " "): redact(text) for key, text in texts.items() if text not in ("", "null")}


def _served(found: Mapping[str, int]) -> str:
    """Return the names that answers report, the most frequent first, shortened to a few."""
    names = [f"{name} ({count})" if len(found) > 1 else name for name, count in found.items()]
    return "" if {*found} <= {UNNAMED} else _some(names)


def suite_tables(vendors: Sequence[Document]) -> Iterator[Table]:
    """Yield a table for each suite of these vendors."""
    for name in dict.fromkeys(name for vendor in vendors for name in vendor["suites"]):
        rows = _suite_rows([vendor["suites"].get(name, {}) for vendor in vendors])
        yield vendor_table(f"Suite {name}", vendors, rows, [WILSON])


def _suite_rows(found: Sequence[Document]) -> Iterator[Row]:
    yield "right", *(_rate(one.get("score")) for one in found)
    for title in dict.fromkeys(title for one in found for title in one.get("by", ())):
        rows = list(_rows_of_all([one.get("by", {}).get(title, {}) for one in found], f"{title}: ", _rate))
        yield from rows if len(rows) <= MOST_VALUES else ()
    yield from _rows_of_all([one.get("parameters", {}) for one in found], "parameter ", lambda one: str(one["finding"]))
    missed = [{name: _missed(one, name) for name in one.get("misses", ())} for one in found]
    yield from _rows_of_all(missed, "missed: ")


def _missed(suite: Document, name: str) -> str:
    lines = ", ".join(dict.fromkeys(str(example["line"]) for example in suite["examples"].get(name, ())))
    return f"{suite['misses'][name]} (lines {lines})"


def verification_record(summary: Document) -> dict[str, Any]:
    """Return the figures of a vendor as one record."""
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
    record |= {name: about["configuration"][name] for name in ASKED[:3]}
    record |= {"served_models": _served(summary["served_models"]) or UNKNOWN}
    record |= {name: summary[name] for name in ("first_row_at", "last_row_at")}
    return record | {name: about[name] for name in ("test_set_digest", "configuration_digest", "trialbed_version")}


def verification_tests(summary: Document) -> Iterator[TestCase]:
    """Yield tests of answers, of their calls against schemas, and of each gate of findings; skipped without answers."""
    problems, wrong = summary["problems"], summary["schema_validation_error_count"]
    missing = [counts(problems), f"{unsent} were not sent" if (unsent := summary.get("not_sent")) else ""]
    unknown = "" if summary["case_count"] else "nothing was sent"
    tests = [("requests are answered", "unanswered", "; ".join(filter(None, missing)), unknown)]
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
        name = f"{summary['model']} at {summary['vendor']}"
        yield TestCase(name, title, outcome=outcome, kind=kind, message=fault or unknown)


WORDS = SPREADS | {"completion_tokens": "tokens received"}
"""Figures -> their names in tables."""

COUNTS = ("cases", "TP", "FP", "FN", "TN")
SIMILARITY = {"precision": "precision", "recall": "recall", "f1": "F1", "chance_f1": "F1 of chance", "kappa": "kappa"}
SCOPES = ("answered", "delivered")
SCOPES_MEANING = "Decisions: whether tools are called. answered: by both. delivered: a failure counts as a missed call."

PANEL_COLUMNS = ("gate", "finding", "baseline", "vendor", "excess", "distance", "at most", "margin", "p (Holm)")
WIDE_COLUMNS = ("baseline", "vendor", "distance", "p (Holm)")
"""Columns omitted on narrow terminals."""

FLOOR = 1.5
"""Deals as unusual as the answers, with the answers themselves, below which there is none but them."""

LEGEND = (
    "baseline: how far its trials are from each other; vendor: how far the vendor's are from them; for faults, the "
    "share of each. excess: the second less the first; distance: between both distributions. "
    "Both are 0 for an identical vendor, whatever the model's own spread. [low, high]: one-sided 95 % bounds, which "
    "decide. at most: the bound of the one that is farther off for its margin, which is the margin shown; a distance "
    "has half of the gate's. breaking: answers that would break a caller, and that the other trials of the baseline "
    "never give."
)


def comparison_tables(one: Document, named: Naming = attrgetter("name")) -> Iterator[Table]:
    """Yield the verdict on a vendor, its decisions, and the rates and figures of both sides."""
    columns = ("", *(one[side]["vendor"] for side in SIDES))
    yield _panel_table(one, named)
    yield Table.of("Decisions", ("", *SCOPES), _similarity(one), _decision_notes(one), [SCOPES_MEANING])
    yield Table.of("Rates", columns, _rates(one), _failures(one))
    yield Table.of("Tokens and times", (*columns, "paired difference"), _figures(one))


def _panel_table(found: Document, named: Naming) -> Table:
    """Return the verdict and every gate that applies, with an example of each difference in the notes."""
    # Gates with the same figures share a row, because most gates are equal without a difference.
    panel = found["panel"]
    cells = ((tuple(_panel_cells(one, panel.deals)), named(one.gate)) for one in panel.applicable)
    gates = group_by_key(cells)
    rows = [TableRow(", ".join(names), cells, cells[0] == "different") for cells, names in gates.items()]
    table = Table(verdict_title(found), PANEL_COLUMNS, rows, list(_panel_notes(found)), legend=[LEGEND])
    return replace(table, narrow=table.without(*WIDE_COLUMNS))


def verdict_title(found: Document) -> str:
    """Return the verdict on a vendor."""
    return f"{found['vendor']['vendor']} compared with {found['baseline']['vendor']}: {found['panel'].verdict}"


def _panel_cells(one: GateResult, deals: int) -> Iterator[str]:
    yield from (one.finding, number(one.baseline, 3), number(one.vendor, 3))
    bound, margin = one.decisive_figure
    yield from (_bounds(one.excess), _bounds(one.distance), number(bound.at_most if bound else None, 3), f"{margin:g}")
    # If no deal was as unusual as the answers, the p-value is an upper bound.
    tested = one.finding != "not judged" or one.differing is not None
    yield (f"≤ {one.p_holm:.2g}" if one.p * (deals + 1) < FLOOR else f"{one.p_holm:.3f}") if tested else UNKNOWN


def _bounds(found: Mean | None) -> str:
    return UNKNOWN if found is None else f"{found.value:+.3f} [{found.low:.3f}, {found.high:.3f}]"


def _panel_notes(found: Document) -> Iterator[str]:
    panel = found["panel"]
    yield from map(as_sentence, (panel.reason, *panel.remarks))
    for one in panel.found("different"):
        yield f"{one.gate.name}: {one.gate.meaning} differ; {one.reason}."
        if example := one.example:
            where = f"line {example.line}" if example.line else "for example"
            yield from (f"  {where}, {found[side]['vendor']}: {getattr(example, side)}" for side in SIDES)
    ours, theirs = panel.trials
    together = f"all gates together: p = {UNKNOWN if panel.whole is None else f'{panel.whole:.2g}'}"
    deals = f"up to {panel.deals:,} permutations of trials within cases"
    yield f"{panel.cases} cases with {ours:.3g} and {theirs:.3g} trials that count; {together} ({deals})."


def as_sentence(text: str) -> str:
    """Return a text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def _differing_files(one: Document) -> Iterator[str]:
    """Say in how many cases the requests differ, which rows only one file has, and which settings differ."""
    pairing = one["pairing"]
    counted = {"cases whose requests differ": pairing["asked_otherwise"]}
    counted["rows that are left out because only one file has them"] = pairing["only_baseline"] + pairing["only_vendor"]
    yield from (f"{words}: {count}" for words, count in counted.items() if count)
    for text, count in pairing["settings"].items():
        yield f"settings of {number_of(count, 'request')} differ: {text}"


def _similarity(one: Document) -> Iterator[Row]:
    scopes = [one["similarity"][scope] for scope in SCOPES]
    yield from ((name, *(f"{scope[name]:g}" for scope in scopes)) for name in COUNTS)
    yield from ((label, *(estimate(scope[name]) for scope in scopes)) for name, label in SIMILARITY.items())
    if stable := one["stable_subset"]:
        yield "F1, stable cases", *(f"{estimate(stable[scope]['f1'])} n={stable[scope]['cases']}" for scope in SCOPES)


def _decision_notes(one: Document) -> Iterator[str]:
    pairing, pairs = one["pairing"], one["matched_success"] + one["skipped_failures"]
    yield f"{number_of(pairing['cases'], 'case')}, paired by {pairing['by']}; {number_of(pairs, 'pair')} of rows."
    yield from (*map(as_sentence, _differing_files(one)), *(f"{note}." for note in one["notes"]))
    if (itself := one["self_consistency"]["baseline"]) is None:
        yield "The baseline has one trial per case, so its self-consistency is unknown."
    else:
        trials, stable = number_of(itself["trials"], "trial"), f"{itself['stable_cases']} of {itself['cases']} cases"
        rates = f"F1 {estimate(itself['self_f1'])}, flip rate {estimate(itself['flip_rate'])}"
        yield f"The baseline compared with itself ({trials}): {rates}, {stable} stable."


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
        digits, sides = 2 if figure == "tps" else 1, [own[side] for side in SIDES]
        if any(side["n"] for side in sides):
            missing = [f", {side['missing']} missing" * bool(side["missing"]) for side in sides]
            means = map(add, (estimate(side["mean"], digits) for side in sides), missing)
            yield f"{WORDS[figure]}, mean", *means, estimate(own["difference"], digits)
            spread = ["/".join(number(side[name]["value"], digits) for name in QUANTILES) for side in sides]
            yield f"{WORDS[figure]}, {'/'.join(QUANTILES)}", *spread, ""


def comparison_records(comparisons: Sequence[Document]) -> list[dict[str, Any]]:
    """Return one record per vendor and figure."""
    return [
        {name: one[name]["vendor"] for name in ("vendor", "baseline")} | {"side": side, "figure": figure, **found}
        for one in comparisons
        for side, figure, found in _estimates(one)
    ]


def _estimates(one: Document) -> Iterator[tuple[str, str, Document]]:
    """Yield the side, the name and the value, with its interval, of every figure of a comparison."""
    for result in one["panel"].gates:
        means = {"excess": result.excess, "distance": result.distance}
        known = ((name, mean.as_json()) for name, mean in means.items() if mean)
        yield from ((result.finding, f"panel_{result.gate.name}_{name}", mean) for name, mean in known)
    for scope in SCOPES:
        yield from ((scope, name, one["similarity"][scope][name]) for name in SIMILARITY)
    if itself := one["self_consistency"]["baseline"]:
        yield from (("baseline", name, itself[name]) for name in ("self_f1", "flip_rate"))
    for side in SIDES:
        schema = one["schema_accuracy"][side]
        yield side, "success_rate", one["success_rate"][side]
        units = [unit for unit in ("per_response", "per_call") if schema[unit]]
        yield from ((side, f"schema_accuracy_{unit}", schema[unit]) for unit in units)
        for figure, own in one["figures"].items():
            yield side, f"{figure}_mean", own[side]["mean"]
            yield from ((side, f"{figure}_{name}", own[side][name] | {"n": own[side]["n"]}) for name in QUANTILES)


def comparison_tests(found: Document, rejected: Sequence[str] = ()) -> Iterator[TestCase]:
    """Yield a test per applicable gate of the panel, and a test of the verdict. Equivalent results pass.

    The verdict fails if it is different or rejected, and a gate fails if it makes the verdict different. All others
    are skipped.
    """
    panel, vendor, baseline = found["panel"], found["vendor"]["vendor"], found["baseline"]["vendor"]
    failing = {"different"} & {panel.finding}
    tests = [(one.gate.name, one.finding, f"{one.gate.meaning}: {one.reason}", failing) for one in panel.applicable]
    reason = f"{vendor}: the verdict is {panel.verdict}: {panel.reason}"
    tests.append(("verdict", panel.finding, reason, {"different", *rejected}))
    for name, finding, message, fails in tests:
        passes: TestOutcome = "passed" if finding == "equivalent" else "skipped"
        outcome, kind = "failure" if finding in fails else passes, finding.replace(" ", "-")
        yield TestCase(f"{vendor} against {baseline}", name, outcome=outcome, kind=kind, message=message)


BREAKING, PRICE = "answers in 1,000 that break a caller", "price of an answer"
VERDICT_COLUMNS = ("vendor", "verdict", BREAKING, PRICE, "differs in", "cases")

MOST_NAMES, NAMED = 5, 3
"""Most vendors that notes name completely, and the number named otherwise."""


def verified_tables(found: Document) -> list[Table]:
    """Return a table of comparisons for each model, and the tables of the ranking."""
    tables = []
    for one in found["models"]:
        notes = _notes_of_all((own["panel"].reason, own["vendor"]["vendor"]) for own in one["comparisons"])
        tables.append(verdict_table(one, notes, attrgetter("name")))
    return tables + (ranking_tables(found["ranking"]) if found["ranking"] else [])


def verdict_table(found: Document, notes: Iterable[str], named: Naming) -> Table:
    """Return the verdict on each vendor of a model, different ones first."""
    model, baseline = found["model"], found["baseline"]
    title = f"{model} compared with {baseline}" if baseline else f"{model}: not compared"
    named_panels = [(one["vendor"]["vendor"], one["panel"]) for one in found["comparisons"]]
    rows = [TableRow(vendor, _verdict(panel, named), panel.finding == "different") for vendor, panel in named_panels]
    rows.sort(key=lambda row: not row.alarming)
    files = [f"{one['vendor']['vendor']}: {text}." for one in found["comparisons"] for text in _differing_files(one)]
    return _drop_empty(Table(title, VERDICT_COLUMNS, rows, [*notes, *files, *(f"{note}." for note in found["notes"])]))


def _verdict(panel: Panel, named: Naming) -> tuple[str, ...]:
    from trialbed_verify.panel import breaking_in_thousand

    breaking, apart = panel.at("breaking"), ", ".join(named(one.gate) for one in panel.found("different"))
    share = UNKNOWN if breaking is None or breaking.excess is None else breaking_in_thousand(breaking.excess)
    price = UNKNOWN if panel.price is None else f"{round(100 * (panel.price - 1)):+d} %"
    return panel.verdict, share, price, apart or "nothing shown", str(panel.cases)


def _drop_empty(table: Table) -> Table:
    columns = zip(table.columns, zip(*table.lines, strict=True), strict=False)
    return table.without(*(name for name, cells in columns if {*cells} == {UNKNOWN}))


def _notes_of_all(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each text once, behind the names of the vendors that it is true of."""
    yield from (f"{_some(names)}: {text}." for text, names in group_by_key(found).items())


def _some(names: Sequence[str]) -> str:
    others = f" and {len(names) - NAMED} others" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:NAMED] if others else names) + others


RANK_FIELDS = ("model", "vendor", "status", "rank", "tie", "rank_low", "rank_high", "irf")
RANK_DIGITS = {"tps": 2, "ttft_ms": 1, "avg_token": 1}
RANK_COLUMNS = ("vendor", "rank", "rank 95 %", "IRF")
COST = "cost of 1,000"
"""The column for the cost of 1,000 answers at the configured prices, which is not ranked."""

OUT = {"behind": "placed last", "not_ranked": "not ranked"}

EXPLAINED = "IRF, inverse rank fusion: the sum of 1 / (rank + {k}) over a vendor's ranks by metric; more is better."
UNSETTLED = "neither is ahead in 95 % of resamples; if they are equal, both have the better rank"


def ranking_tables(ranking: Ranking) -> list[Table]:
    """Return a table per model, and a joint one for several models; the last one explains the figures."""
    from trialbed_verify.ranking import METRICS

    titled = [(model, found, _rank_notes(found)) for model, found in ranking.models.items()]
    titled += [("all models", ranking.overall, iter(()))] if len(titled) > 1 else []
    tables = [_rank_table(model, found, ranking.metrics, _notes_of_all(notes)) for model, found, notes in titled]
    legend = [f"{METRICS[name].label}: {METRICS[name].meaning}." for name in ranking.metrics]
    explained = [EXPLAINED.format(k=ranking.k)] if ranking.overall.ranked else []
    notes = [*tables[-1].notes, *(f"{note}." for note in ranking.notes), *explained]
    return [*tables[:-1], replace(tables[-1], notes=notes, legend=legend)]


def _rank_table(title: str, found: Standings, metrics: Sequence[str], notes: Iterable[str]) -> Table:
    from trialbed_verify.ranking import METRICS

    lines, ties, is_of_many = list[Row](), list[str](), len({row.model for row in found.rows}) > 1
    names = {row.name: f"{row.vendor} ({row.model})" if is_of_many else row.vendor for row in found.rows}
    for row in found.rows:
        place = f"{row.rank}{' tie' * bool(row.tie)}{' last' * (row.status == 'behind')}"
        span = UNKNOWN if row.rank_low is None else f"{row.rank_low}-{row.rank_high}"
        figures = [number(row.metrics[name].value, RANK_DIGITS.get(name, 4)) for name in metrics]
        name = names[row.name] + "*" * row.is_baseline + " (different)" * row.is_different
        lines.append((name, UNKNOWN if row.rank is None else place, span, number(row.irf), *figures, number(row.cost)))
    for higher, row in enumerate(found.ranked, 1):
        if others := [names[other.name] for other in found.ranked[higher:] if other.name in (row.tied_with or ())]:
            ties.append(f"{names[row.name]} ties with {_some(others)}: {UNSETTLED}.")
    count = "six metrics" if len(metrics) == len(METRICS) else f"{len(metrics)} of six metrics"
    heading = f"{title}: ranked over {count}" if found.ranked else f"{title}: no vendor is ranked"
    columns = [*RANK_COLUMNS, *(METRICS[name].label for name in metrics), COST]
    return _drop_empty(Table.of(heading, columns, lines, [*ties, *notes]))


def _rank_notes(found: Standings) -> Iterator[tuple[str, str]]:
    """Yield the reasons why vendors have no rank or the last one, and remarks, each with the vendor."""
    for row in found.rows:
        if row.status in OUT:
            yield f"{OUT[row.status]}: {'; '.join(row.reasons)}", row.vendor
        if row.panel and row.is_different and row.status != "behind":
            yield f"not the baseline's equal: {row.panel.reason}", row.vendor
        yield from ((note, row.vendor + "*" * row.is_baseline) for note in row.notes)


def ranking_records(ranking: Ranking) -> list[dict[str, Any]]:
    """Return one record per model and vendor, with the places in its model and among all."""
    from trialbed_verify.ranking import METRICS

    overall, records = {row.name: row for row in ranking.overall.rows}, list[dict[str, Any]]()
    for row in (row for found in ranking.models.values() for row in found.rows):
        record = {name: getattr(row, name) for name in RANK_FIELDS}
        record |= {"global_rank": overall[row.name].rank, "global_irf": overall[row.name].irf}
        record |= {name: row.metrics[name].value for name in METRICS}
        records.append(record | {"reasons": "; ".join(row.reasons), "panel": row.panel and row.panel.finding})
    return records
