"""The page about vendors: verdicts, gates with examples, ranks, their answers, where these come from, and how to rerun.

``bench view``, ``bench show`` and every ``--format html`` show it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from trialbed.cli.stored import typed_command
from trialbed.contracts import FileView, FileViewer
from trialbed.errors import UsageError
from trialbed.texts import group_by_key, one_line, percent
from trialbed.views import (
    Disclosure,
    Disclosures,
    Excerpt,
    Folded,
    IntervalPlot,
    PlotPoint,
    Table,
    estimate,
)
from trialbed.wire.redaction import redact
from trialbed_verify.compare import VendorComparison
from trialbed_verify.findings import kind_in_words
from trialbed_verify.panel import GateExample, GateResult, Mean, Panel, PanelGate
from trialbed_verify.ranking import (
    RankedVendor,
    Ranking,
    VerifiedRows,
    VerifiedVendors,
    compare_and_rank,
)
from trialbed_verify.rows import FileRows, VendorRows, first_row, object_in, sent_request
from trialbed_verify.suites import SUITES
from trialbed_verify.summary import answer_counts, answer_figures, cost
from trialbed_verify.table import AnswerRow, Answers, read_one, read_rows
from trialbed_verify.tables import (
    INTERVALS,
    Document,
    brief_reasons,
    comparison_tables,
    conclusion,
    figure_rows,
    rank_sentence,
    ranking_tables,
    source_rows,
    suite_tables,
    vendor_table,
    verdict_table,
)

Part: TypeAlias = Table | IntervalPlot | Disclosures | Folded

Shown: TypeAlias = tuple[Answers, Document]
"""The answers of a vendor, and their figures as in a summary."""

ANSWERS = "All figures of the answers: rates, times, tokens, failures and findings"

NOTE = "What came is shown as the results file has it; keys are redacted, and long texts are cut off."

PLOTTED = {"success_rate": "success rate", "schema_accuracy_per_response": "schema, per response"}
KINDS = {"problems": "failures", "call_problems": "wrong calls", "notes": "findings, in answers"}

LONGEST = 20_000
"""Characters of one excerpt; the results file has the rest."""

NAMED, LONGEST_NAME = 3, 40
"""Vendors up to which a title names each, and the characters of a name."""

LEAST = 3
"""Gates that are drawn at least."""

FARTHEST = 10.0
"""Margins that a plot shows to each side: one gate that is far off would make the others unreadable."""

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


def vendor_page(
    vendors: Sequence[Answers], found: VerifiedVendors | None = None, *, remarks: Sequence[str] = (), again: str = ""
) -> list[Part]:
    """Return the parts of the page.

    Args:
        vendors: their answers, read for summaries.
        found: their comparisons and ranks; None if there is nothing to compare.
        remarks: how the baselines were chosen.
        again: the command that makes this page; by default, one that shows the same files or run.
    """
    if not vendors:
        return [Table("", notes=["No request was sent."])]
    baselines = {(one.model, one.baseline) for one in found.models} if found else set()
    shown = [(one, _figures(one, baselines)) for one in vendors]
    lead, *answers = _answers(shown)
    parts = [lead, *answers]
    if found is not None and len(shown) > 1:
        # Vendors that differ come first.
        compared = sorted(found.comparisons, key=lambda one: one.panel.finding != "different")
        parts = [Table("", notes=list(map(conclusion, compared)))] if compared else []
        parts += map(verdict_table, found.models)
        parts += [part for one in compared for part in _comparison(one)]
        parts += _ranks(found.ranking) if found.ranking else []
        parts += [lead, Folded(ANSWERS, answers)]
    if remarks:
        parts.insert(1, Table("How they were compared", notes=remarks))
    return [*parts, _sources(shown), _commands(vendors, again)]


def verification_page(rows: Sequence[VendorRows], found: VerifiedVendors | None) -> list[Part]:
    """Return the page about the vendors of a verification, as far as they have rows."""
    return vendor_page([table for own in rows for table in read_rows(own, compared=False)], found)


def _figures(one: Answers, baselines: Collection[tuple[str, str | None]]) -> Document:
    model = one.model or "a model"
    found = {
        "vendor": one.vendor,
        "model": model,
        "is_baseline": one.is_of_baseline or (model, one.vendor) in baselines,
    }
    found |= {"remarks": one.notes, "cost": cost(one.rows, one.prices), "provenance": one.provenance}
    return {**found, **answer_counts(one.rows), **answer_figures(one)}


def _answers(shown: Sequence[Shown]) -> Iterator[Part]:
    """Yield for each model its vendors' figures, with plots of the rates, and examples of failures and findings."""
    # Vendors of which a request failed or a call does not fit come first.
    faulty_first = sorted(shown, key=lambda one: not (one[1]["problems"] or one[1]["call_problems"]))
    yield Table("", notes=[_sentence(figures) for _, figures in faulty_first])
    models = group_by_key((figures["model"], figures) for _, figures in shown)
    for model, own in models.items():
        yield from _model(model if len(models) > 1 else "", own)
    if examples := [entry for one in faulty_first for entry in _examples(*one)]:
        yield Disclosures("Examples of failures and findings", examples, [NOTE])


def _sentence(found: Document) -> str:
    """Say how many requests a vendor answers, and whether its calls are right."""
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
        known = [one for one in vendors if one[key] and one[key]["low"] is not None]
        if points := [_rate_point(one, one[key]) for one in known]:
            yield IntervalPlot(titled(f"{title}, with its 95 % interval"), points, limits=(0.0, 1.0))
    tables = [(titled(title), _kinds(vendors, key)) for key, title in KINDS.items()]
    yield from (vendor_table(title, vendors, rows, ()) for title, rows in tables if rows)
    if not any(rows for _, rows in tables):
        yield Table(titled("failures, wrong calls and findings"), notes=["None."])
    yield from suite_tables(vendors)


def _rate_point(one: Document, rate: Document) -> PlotPoint:
    name = one["vendor"] + "*" * one["is_baseline"]
    return PlotPoint(name, rate["value"], rate["low"], rate["high"], estimate(rate, 2))


def _kinds(vendors: Sequence[Document], key: str) -> list[tuple[str, ...]]:
    """Return a row for each kind that any vendor has, the most frequent first."""
    total = sum((Counter(one[key]) for one in vendors), Counter[str]())
    return [
        (kind_in_words(kind), *(str(one[key].get(kind) or "") for one in vendors)) for kind, _ in total.most_common()
    ]


def _examples(one: Answers, figures: Document) -> Iterator[Disclosure]:
    """Show the first example of each kind of failure and of finding, with its request and its answer."""
    firsts: dict[str, AnswerRow] = {}
    for row in one.rows:
        for kind in (*([row.problem] if row.problem else ()), *row.findings):
            firsts.setdefault(kind, row)
    examples, problems = figures["examples"], figures["problems"]
    for kind, first in sorted(firsts.items(), key=lambda item: item[0] not in problems):
        found = (examples["problems"].get(kind) or examples["findings"].get(kind) or [{"message": ""}])[0]
        count = problems.get(kind) or sum(kind in row.findings for row in one.rows)
        number = "1 answer" if count == 1 else f"{count:,} answers"
        where = f", line {first.data_index} of the test set" if first.data_index else ""
        meaning = kind_in_words(kind)
        said = "" if found["message"] in (meaning, "") else f": {found['message']}"
        body = one.source.row_at(first.place)
        seen = {"What was seen": found["evidence"]} if found.get("evidence") else {}
        shown = {**seen, "The request": sent_request(body), "The answer": body.get("response")}
        yield _disclosure(f"{one.vendor}: {meaning}, {number}{where}{said}", shown)


def _disclosure(title: str, shown: Document) -> Disclosure:
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


def _comparison(found: VendorComparison) -> Iterator[Part]:
    """Yield why a vendor is judged as it is: in words, as a plot and with answers; and below a line all its figures."""
    vendor, baseline = found.vendor, found.baseline
    panel, *others = comparison_tables([found], attrgetter("meaning"))
    gates = [one for one in found.panel.gates if one.excess]
    shown = _telling(gates)
    within = ", ".join(one.gate.meaning for one in gates if one not in shown)
    rest = [f"Shown to lie within the margin, and not drawn: {within}."] if within else []
    yield Table(panel.title, notes=[*_off(found.panel), *brief_reasons(found.panel), *rest])
    if points := [_gate_point(one.gate, one.excess) for one in shown if one.excess]:
        title = f"How far {vendor} is beyond the baseline's own spread, in margins: -1 to 1 is allowed"
        yield IntervalPlot(title, points, zero=0.0, marks=(-1.0, 1.0))
    apart = [(one.gate.meaning, one.example) for one in found.panel.gates if one.example]
    if entries := [_difference(subject, example, vendor, baseline) for subject, example in apart]:
        yield Disclosures(f"Examples of what differs at {vendor}", entries, [NOTE])
    table = replace(panel, title="Gates", notes=panel.notes[-1:])
    yield Folded(f"All figures of {vendor}: gates, decisions, rates, tokens, times and tests", [table, *others])


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
    if one.finding == "different" and not excess.is_beyond(gate.margin):
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
    value, low, high = (max(-FARTHEST, min(FARTHEST, end)) for end in (value, low, high))
    return PlotPoint(gate.meaning, value, low, high, _in_margins(excess, gate.margin))


def _in_margins(found: Mean, margin: float) -> str:
    value, low, high = (end / margin for end in (found.value, found.low, found.high))
    return f"{value:+.2f} [{low:.2f}, {high:.2f}]"


def _difference(subject: str, example: GateExample, vendor: str, baseline: str) -> Disclosure:
    """Show a request, and an answer of each side that differ at a gate."""
    where = f"line {example.line} of the test set" if example.line else "a case"
    ours, theirs = example.baseline_row.read(), example.vendor_row.read()
    shown = {"The request": sent_request(theirs), f"The answer of {baseline}": ours.get("response")}
    shown[f"The answer of {vendor}"] = theirs.get("response")
    said = f"{baseline} {example.baseline} | {vendor} {example.vendor}"
    return _disclosure(f"{subject}, {where}: {said}", shown)


def _ranks(ranking: Ranking) -> Iterator[Part]:
    yield Table("", notes=list(starmap(rank_sentence, ranking.models.items())))
    for model, standings in ranking.models.items():
        points = [_rank_point(row) for row in standings.ranked if row.rank_low is not None]
        # One alone, or several of which each may be at any rank, have no order to draw.
        if len({(point.low, point.high) for point in points}) > 1:
            limits = (0.5, max(point.high or 1 for point in points) + 0.5)
            yield IntervalPlot(f"{model}: ranks, with their 95 % intervals", points, limits=limits, whole=True)
    yield from ranking_tables(ranking, reasons=False, verdicts=False)


def _rank_point(row: RankedVendor) -> PlotPoint:
    ends = "" if row.rank_low == row.rank_high else f" [{row.rank_low}, {row.rank_high}]"
    return PlotPoint(
        row.vendor, row.rank or 0, row.rank_low, row.rank_high, f"{row.rank}{' tie' * bool(row.tie)}{ends}"
    )


def _sources(shown: Sequence[Shown]) -> Table:
    """Return a row for each vendor, as the columns of many endpoints and files fit on no paper."""
    rows = []
    for one, figures in shown:
        about = one.provenance
        said: list[Sequence[Any]] = [("results", one.source.file_name), ("test set", about.get("test_set"))]
        said += [("of SHA-256", str(about.get("test_set_digest") or "")[:12])]
        said += [("trialbed", about.get("trialbed_version")), *source_rows([figures])]
        text = "; ".join(f"{label} {value}" for label, value in said if value)
        rows.append((one.vendor + "*" * figures["is_baseline"], text))
    return Table.of("Where the answers come from", ("vendor", "source"), rows)


def _commands(vendors: Sequence[Answers], again: str) -> Table:
    """Return the commands that send each vendor its requests again, and the one that makes this page."""
    rows = [(one.vendor, _verify_command(one.provenance, one.source.file_name)) for one in vendors if one.provenance]
    files = [one.source.file_name for one in vendors if isinstance(one.source, FileRows)]
    run = str(vendors[0].source).partition("/")[0]
    shown = typed_command("view", *files) if files else typed_command("show", run, "--format", "html")
    return Table.of("How to run it again", ("", "command"), [*rows, ("this page, from the results", again or shown)])


def _verify_command(about: Document, output: str) -> str:
    """Return the command that sends a test set again as it was sent; drivers and prices are up to its configuration."""
    stem = output.removesuffix(".jsonl").removesuffix("_results")
    asked, name = object_in(about, "configuration"), str(about.get("test_set"))
    suites = name.removesuffix(".jsonl").split("+")
    words = [word for one in suites for word in ("--suite", one)] if {*suites} <= {*SUITES} else [name]
    given = {"model": asked.get("model_id"), "base-url": asked.get("base_url"), "trials": about.get("trials")}
    given |= {option: asked.get(option.replace("-", "_")) for option in ("temperature", "max-tokens")}
    given |= {"output": output, "summary": f"{stem}_summary.json"}
    given |= {"extra-body": json.dumps(body) if (body := asked.get("extra_body")) else None}
    words += [word for option, value in given.items() if value is not None for word in (f"--{option}", str(value))]
    if asked.get("tokenizer"):
        words += ["--use-raw-completions", "--tokenizer-model", str(asked["tokenizer"])]
    if (streams := True if asked.get("streams_unsaid") else asked.get("stream")) is not None:
        words.append("--stream" if streams else "--no-stream")
    return redact(typed_command("verify", *words))


class VendorViewer(FileViewer):
    """Shows results of ``bench verify`` and of tools like it."""

    contents: ClassVar[str] = "vendors"

    def recognises(self, path: Path) -> bool:
        """Return whether its first line is a result row."""
        row = first_row(path)
        return "status" in row and "request" in row

    def views(self, files: Sequence[Path]) -> Sequence[FileView]:
        """Return the page about the vendors in these files."""
        title = f"{_names(files)} compared" if len(files) > 1 else f"Answers of {_names(files)}"
        return [FileView("verification", title, files, partial(file_parts, files))]


def file_parts(files: Sequence[Path]) -> list[Part]:
    """Return the parts of the page about files; a model of which no vendor is marked is compared with the first one.

    Raises:
        DataError: a file cannot be read, or has several vendors.
    """
    vendors = [read_one(FileRows(path), compared=False) for path in files]
    rows, remarks = list[VerifiedRows](), list[str]()
    if len(vendors) == 1:
        return vendor_page(vendors)
    for model, own in group_by_key((one.model, one) for one in vendors).items():
        marked = [one for one in own if one.is_of_baseline]
        remarks += [] if marked else [UNMARKED.format(model=model, vendor=own[0].vendor)]
        baseline = [*marked, *own][0]
        rows += [VerifiedRows(model or "a model", one.vendor, one.source, one is baseline) for one in own]
    try:
        return vendor_page(vendors, compare_and_rank(rows), remarks=remarks)
    except UsageError as error:
        return vendor_page(vendors, remarks=[f"They were not compared: {error}."])


def _names(files: Sequence[Path]) -> str:
    """Return the names of the files' vendors in words, or how many there are."""
    named = (str(first_row(path).get("vendor") or path.stem) for path in files)
    names = list(dict.fromkeys(one_line(name, LONGEST_NAME) for name in named))
    if len(names) > NAMED:
        return f"{len(names)} vendors"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
