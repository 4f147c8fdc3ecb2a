"""Result files of vendors as pages of ``bench view``: their answers, how they differ, and the ranks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from trialbed.contracts import FileView, FileViewer
from trialbed.texts import one_line, percent
from trialbed.views import (
    UNKNOWN,
    Disclosure,
    Disclosures,
    Excerpt,
    Folded,
    IntervalPlot,
    PlotPoint,
    Table,
    TableRow,
    estimate,
)
from trialbed.wire.redaction import redact
from trialbed_verify.compare import VendorComparison
from trialbed_verify.findings import kind_in_words
from trialbed_verify.panel import GateExample, GateResult, Mean, Panel, PanelGate, breaking_in_thousand, gate_meaning
from trialbed_verify.ranking import (
    ModelComparison,
    RankedVendor,
    VerifiedRows,
    VerifiedVendors,
    compare_and_rank,
)
from trialbed_verify.rows import sent_request
from trialbed_verify.summary import answer_counts, answer_figures, cost
from trialbed_verify.table import AnswerRow, Answers, read_one
from trialbed_verify.tables import (
    INTERVALS,
    Document,
    brief_reasons,
    comparison_tables,
    conclusion,
    figure_rows,
    moment,
    rank_sentence,
    ranking_tables,
    suite_tables,
    vendor_table,
)
from trialbed_verify.vendor_rows import FileRows, VendorRows

Part: TypeAlias = Table | IntervalPlot | Disclosures | Folded

COLUMNS = ("vendor", "verdict", "answers in 1,000 that break a caller", "differs in", "cases")

ANSWERS = "All figures of the answers: rates, times, tokens, failures, findings and files"

NOTE = "What came is shown as the results file has it; keys are redacted, and long texts are cut off."

PLOTTED = {"success_rate": "success rate", "schema_accuracy_per_response": "schema, per response"}
KINDS = {"problems": "failures", "call_problems": "wrong calls", "notes": "findings, in answers"}

LONGEST = 20_000
"""Characters of one excerpt; the results file has the rest."""

NAMED, LONGEST_NAME = 3, 40
"""Vendors up to which a title names each, and the characters of a name."""

FIRST_LINE = 4_000_000
"""Bytes of a first line that are read to recognise a file."""

LEAST = 3
"""Gates that are drawn at least."""

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


def verification_parts(rows: Sequence[VendorRows], found: VerifiedVendors | None) -> list[Any]:
    """Return all about the vendors of one verification: how they differ, their ranks, and, folded, their answers.

    Args:
        found: their comparisons and ranks; None if there is nothing to compare.
    """
    lead, *parts = answers([own for own in rows if next(iter(own), None)])
    if found is None or len(rows) == 1:
        return [lead, *parts]
    return [*_comparisons(found), *_ranks(found), lead, Folded(ANSWERS, parts)]


def comparison_page(found: Sequence[VendorComparison]) -> list[Part]:
    """Return the conclusion on each vendor, and every gate with its interval and its examples."""
    ordered = different_first(found)
    return [
        Table("", notes=list(map(conclusion, ordered))),
        *(part for one in ordered for part in comparison_parts(one)),
    ]


def answers(rows: Sequence[VendorRows]) -> list[Part]:
    """Return for each model its vendors' figures, with plots of the rates, and examples of failures and findings.

    Raises:
        DataError: rows cannot be read, or are of several vendors.
    """
    vendors = [ShownVendor.of(read_one(own, compared=False)) for own in rows]
    models = list(dict.fromkeys(one.model for one in vendors))
    parts: list[Part] = []
    for model in models:
        parts += _model(model if len(models) > 1 else "", [one.figures for one in vendors if one.model == model])
    # Vendors of which a request failed or a call does not fit come first.
    faulty_first = sorted(vendors, key=lambda one: not (one.figures["problems"] or one.figures["call_problems"]))
    examples = [entry for one in vendors for entry in _examples(one)]
    return [
        Table("", notes=list(map(_sentence, faulty_first))),
        *parts,
        *([Disclosures("Examples of failures and findings", examples, [NOTE])] if examples else []),
        Table.of("Files", ("file", "vendor", "first answer", "last answer"), map(_file, vendors)),
    ]


class ShownVendor(NamedTuple):
    """A vendor with one model: its answers, and their figures as in a summary."""

    model: str
    answers: Answers
    figures: Document

    @classmethod
    def of(cls, found: Answers) -> ShownVendor:
        """Count the answers of a vendor."""
        about = {"vendor": found.vendor, "is_baseline": found.is_of_baseline, "remarks": found.notes}
        about["cost"] = cost(found.rows, found.prices)
        figures = {**about, **answer_counts(found.rows), **answer_figures(found)}
        return cls(found.model or "a model", found, figures)


def _sentence(one: ShownVendor) -> str:
    """Say how many requests a vendor answers, and whether its calls are right."""
    found = one.figures
    said = f"{found['vendor']} answers {_share(found['success_rate'])} of {found['case_count']} requests"
    if problems := found["problems"]:
        said += f" ({'; '.join(_failed(kind, count) for kind, count in problems.items())})"
    if valid := found["schema_accuracy_per_response"]:
        said += f"; of its answers with calls, {_share(valid)} fit the schemas of their tools"
    return f"{said}."


def _failed(kind: str, count: int) -> str:
    """Return a kind of failures in words, where it has any, and how often there was one."""
    return f"{count} {kind}" if (words := kind_in_words(kind)) == kind else f"{count}: {words}"


def _share(found: Document) -> str:
    return "all" if found["value"] == 1 else percent(found["value"])


def _model(model: str, vendors: Sequence[Document]) -> Iterator[Part]:
    def titled(words: str) -> str:
        return f"{model}: {words}" if model else f"{words[:1].upper()}{words[1:]}"

    notes = [INTERVALS, *(["* is the baseline."] if any(one["is_baseline"] for one in vendors) else [])]
    notes += [f"{one['vendor']}: {note}." for one in vendors for note in one["remarks"]]
    yield vendor_table(titled("rates, times and tokens"), vendors, figure_rows(vendors), notes)
    for key, title in PLOTTED.items():
        points = [
            PlotPoint(
                one["vendor"] + "*" * one["is_baseline"],
                one[key]["value"],
                one[key]["low"],
                one[key]["high"],
                estimate(one[key], 2),
            )
            for one in vendors
            if one[key] and one[key]["low"] is not None
        ]
        if points:
            yield IntervalPlot(titled(f"{title}, with its 95 % interval"), points, limits=(0.0, 1.0))
    tables = [(titled(title), _kinds(vendors, key)) for key, title in KINDS.items()]
    yield from (vendor_table(title, vendors, rows, ()) for title, rows in tables if rows)
    if not any(rows for _, rows in tables):
        yield Table(titled("failures, wrong calls and findings"), notes=["None."])
    yield from suite_tables(vendors)


def _kinds(vendors: Sequence[Document], key: str) -> list[tuple[str, ...]]:
    """Return a row for each kind that any vendor has, the most frequent first."""
    total = sum((Counter(one[key]) for one in vendors), Counter[str]())
    return [
        (kind_in_words(kind), *(str(one[key].get(kind) or "") for one in vendors)) for kind, _ in total.most_common()
    ]


def _file(one: ShownVendor) -> tuple[str, ...]:
    first, last = (moment(one.figures[name]) for name in ("first_row_at", "last_row_at"))
    return one.answers.source.file_name, one.figures["vendor"] + "*" * one.figures["is_baseline"], first, last


def _examples(one: ShownVendor) -> Iterator[Disclosure]:
    """Show the first example of each kind of failure and of finding, with its request and its answer."""
    firsts: dict[str, AnswerRow] = {}
    for row in one.answers.rows:
        for kind in (*([row.problem] if row.problem else ()), *row.findings):
            firsts.setdefault(kind, row)
    examples = one.figures["examples"]
    for kind, first in sorted(firsts.items(), key=lambda item: item[0] not in one.figures["problems"]):
        found = (examples["problems"].get(kind) or examples["findings"].get(kind) or [{"message": ""}])[0]
        count = one.figures["problems"].get(kind) or sum(kind in row.findings for row in one.answers.rows)
        number = "1 answer" if count == 1 else f"{count:,} answers"
        where = f", line {first.data_index} of the test set" if first.data_index else ""
        meaning = kind_in_words(kind)
        said = "" if found["message"] in (meaning, "") else f": {found['message']}"
        body = one.answers.source.row_at(first.place)
        seen = {"What was seen": found["evidence"]} if found.get("evidence") else {}
        shown = {**seen, "The request": sent_request(body), "The answer": body.get("response")}
        title = f"{one.figures['vendor']}: {meaning}, {number}{where}{said}"
        yield Disclosure(title, [Excerpt(name, _excerpt(value)) for name, value in shown.items()])


def differences(found: VendorComparison) -> Disclosures | None:
    """Show an answer of each side for each gate at which a vendor differs; None if there is none."""
    vendor, baseline = found.vendor, found.baseline
    entries = [
        _difference(one.gate.meaning, one.example, vendor, baseline)
        for one in found.panel.gates
        if one.finding == "different" and one.example is not None
    ]
    return Disclosures(f"Examples of what differs at {vendor}", entries, [NOTE]) if entries else None


def _difference(subject: str, example: GateExample, vendor: str, baseline: str) -> Disclosure:
    where = f"line {example.line} of the test set" if example.line else "a case"
    ours, theirs = example.baseline_row.read(), example.vendor_row.read()
    shown = {"The request": sent_request(theirs), f"The answer of {baseline}": ours.get("response")}
    shown[f"The answer of {vendor}"] = theirs.get("response")
    title = f"{subject}, {where}: {example.baseline} | {example.vendor}"
    return Disclosure(title, [Excerpt(name, _excerpt(value)) for name, value in shown.items()])


def _excerpt(value: Any) -> str:
    """Return a text, or JSON with one line for each of the object's own keys."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and value:
        lines = (f"{json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
        text = "{" + ",\n ".join(lines) + "}"
    # Lone surrogates, which some vendors send, cannot be written in any file.
    text = redact(text).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST} more characters"


def comparisons(rows: Sequence[VendorRows]) -> list[Part]:
    """Return the verdicts, and for each vendor every gate with its interval and its examples."""
    return list(_comparisons(*_compare_and_rank(rows)))


def ranks(rows: Sequence[VendorRows]) -> list[Part]:
    """Return the ranks, with their intervals."""
    return list(_ranks(*_compare_and_rank(rows)))


def _comparisons(found: VerifiedVendors, notes: Sequence[str] = ()) -> Iterator[Part]:
    """Yield the parts about comparisons; the notes say how their baselines were chosen."""
    lead, *parts = comparison_page(found.comparisons)
    yield lead
    if notes:
        yield Table("How they were compared", notes=notes)
    yield from map(_verdicts, found.models)
    yield from parts


def _verdicts(found: ModelComparison) -> Table:
    verdicts = list(map(_verdict, different_first(found.comparisons)))
    return Table(found.title, COLUMNS, verdicts, [f"{note}." for note in found.notes])


def _verdict(one: VendorComparison) -> TableRow:
    panel = one.panel
    breaking = panel.at("any")
    share = UNKNOWN if breaking is None or breaking.excess is None else breaking_in_thousand(breaking.excess)
    cells = (panel.verdict, share, panel.different_subjects or "nothing shown", str(one.document["pairing"]["cases"]))
    return TableRow(one.vendor, cells, alarming=panel.finding == "different")


def _ranks(found: VerifiedVendors, notes: Sequence[str] = ()) -> Iterator[Part]:
    ranking = found.ranking
    notes = [*notes, *(f"{note}." for model in found.models for note in model.notes)]
    if ranking is not None:
        yield Table("", notes=list(starmap(rank_sentence, ranking.models.items())))
    if notes:
        yield Table("How they were ranked", notes=notes)
    if ranking is None:
        return
    for model, standings in ranking.models.items():
        points = [_point(row) for row in standings.ranked if row.rank_low is not None]
        # One alone, or several of which each may be at any rank, have no order to draw.
        if len({(point.low, point.high) for point in points}) > 1:
            worst = max(point.high or 1 for point in points)
            title = f"{model}: ranks, with their 95 % intervals"
            yield IntervalPlot(title, points, limits=(0.5, worst + 0.5), whole=True)
    yield from ranking_tables(ranking, reasons=False, verdicts=False)


def _point(row: RankedVendor) -> PlotPoint:
    ends = "" if row.rank_low == row.rank_high else f" [{row.rank_low}, {row.rank_high}]"
    text = f"{row.rank}{' tie' * bool(row.tie)}{ends}"
    return PlotPoint(row.vendor, row.rank or 0, row.rank_low, row.rank_high, text)


def _compare_and_rank(rows: Sequence[VendorRows]) -> tuple[VerifiedVendors, list[str]]:
    found, notes, results = [], [], [read_one(own, compared=False) for own in rows]
    for model in dict.fromkeys(one.model for one in results):
        vendors = [one for one in results if one.model == model]
        baseline = next((one for one in vendors if one.is_of_baseline), None)
        if baseline is None:
            baseline = vendors[0]
            notes.append(UNMARKED.format(model=model, vendor=baseline.vendor))
        found += [VerifiedRows(model or "a model", one.vendor, one.source, one is baseline) for one in vendors]
    return compare_and_rank(found), notes


def comparison_parts(found: VendorComparison) -> Iterator[Part]:
    """Yield why a vendor is judged as it is: in words, as a plot and with answers; and below a line all its figures."""
    vendor = found.vendor
    panel, *others = comparison_tables([found], gate_meaning)
    gates = [one for one in found.panel.gates if one.excess]
    shown = _telling(gates)
    within = ", ".join(one.gate.meaning for one in gates if one not in shown)
    rest = [f"Shown to lie within the margin, and not drawn: {within}."] if within else []
    yield Table(panel.title, notes=[*_off(found.panel), *brief_reasons(found.panel), *rest])
    points = [_gate_point(one.gate, one.excess) for one in shown if one.excess]
    if points:
        title = f"How far {vendor} is beyond the baseline's own spread, in margins: -1 to 1 is allowed"
        yield IntervalPlot(title, points, zero=0.0, marks=(-1.0, 1.0))
    if (examples := differences(found)) is not None:
        yield examples
    table = replace(panel, title="Gates", notes=panel.notes[-1:])
    yield Folded(f"All figures of {vendor}: gates, decisions, rates, tokens, times and tests", [table, *others])


def different_first(comparisons: Sequence[VendorComparison]) -> list[VendorComparison]:
    """Return comparisons, those that show a difference before the others."""
    return sorted(comparisons, key=lambda one: one.panel.finding != "different")


def _off(panel: Panel) -> Iterator[str]:
    """Yield how far which subjects of a vendor that differs are off, and which are not settled, the farthest first."""
    if panel.finding != "different":
        return
    farthest = sorted(panel.gates, key=_reach, reverse=True)
    beyond = ", ".join(_off_by(one) for one in farthest if one.finding == "different")
    yield f"Shown to lie beyond the margin (figures in margins): {beyond}."
    if unsettled := ", ".join(one.gate.meaning for one in farthest if one.finding == "inconclusive"):
        yield f"Not settled, the farthest first: {unsettled}."


def _off_by(one: GateResult) -> str:
    gate, excess = one.gate, one.excess
    if excess is None:
        return gate.meaning
    if one.finding == "different" and not excess.is_beyond(gate.margin, directed=gate.is_directed):
        return f"{gate.meaning} (by their distribution)"
    return f"{gate.meaning} {_in_margins(excess, gate.margin)}"


def _telling(gates: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates that are not shown to lie within the margin, and as many others as make a plot, in their order.

    Of the others, those that come nearest to the margin.
    """
    unsettled = sum(one.finding != "equivalent" for one in gates)
    chosen = sorted(gates, key=lambda one: (one.finding == "equivalent", -_reach(one)))[: max(LEAST, unsettled)]
    return [one for one in gates if one in chosen]


def _reach(one: GateResult) -> float:
    """Return how far the interval of a gate goes, in margins."""
    return max(abs(one.excess.low), abs(one.excess.high)) / one.gate.margin if one.excess else 0.0


def _gate_point(gate: PanelGate, excess: Mean) -> PlotPoint:
    value, low, high = (end / gate.margin for end in (excess.value, excess.low, excess.high))
    return PlotPoint(gate.meaning, value, low, high, _in_margins(excess, gate.margin))


def _in_margins(found: Mean, margin: float) -> str:
    value, low, high = (end / margin for end in (found.value, found.low, found.high))
    return f"{value:+.2f} [{low:.2f}, {high:.2f}]"


class VendorViewer(FileViewer):
    """Shows results of ``bench verify`` and of tools like it."""

    contents: ClassVar[str] = "vendors"

    def recognises(self, path: Path) -> bool:
        """Return whether its first line is a result row."""
        row = _first_row(path)
        return "status" in row and "request" in row

    def views(self, files: Sequence[Path]) -> Sequence[FileView]:
        """Return the answers of each vendor; for several files their comparison and ranks too."""
        names, rows = _names(files), list(map(FileRows, files))
        found = [FileView("verification", f"Answers of {names}", files, partial(answers, rows))]
        if len(files) > 1:
            found.append(FileView("comparison", f"{names} compared", files, partial(comparisons, rows)))
            found.append(FileView("ranking", f"Ranks of {names}", files, partial(ranks, rows)))
        return found


def _first_row(path: Path) -> dict[str, Any]:
    """Return the first row of a file; an empty one where there is none."""
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline(FIRST_LINE))
    except (OSError, ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _names(files: Sequence[Path]) -> str:
    """Return the names of the files' vendors in words, or how many there are."""
    named = (str(_first_row(path).get("vendor") or path.stem) for path in files)
    names = list(dict.fromkeys(one_line(name, LONGEST_NAME) for name in named))
    if len(names) > NAMED:
        return f"{len(names)} vendors"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
