"""The page about vendors, with verdicts, examples, ranks, the sources of answers, and commands to run it again.

``bench view``, ``bench show`` and every ``--format html`` show it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

from trialbed.cli.stored import typed_command
from trialbed.errors import UsageError
from trialbed.texts import group_by_key, number_of, one_line, percent
from trialbed.views import Disclosure, Disclosures, Excerpt, Folded, IntervalPlot, PlotPoint, Table, counts
from trialbed.wire.redaction import redact
from trialbed_verify.findings import kind_in_words
from trialbed_verify.panel import GateExample, GateResult, Mean, Panel
from trialbed_verify.ranking import compare_and_rank
from trialbed_verify.rows import FileRows, VendorRows, first_row, object_in, sent_request
from trialbed_verify.suites import SUITES
from trialbed_verify.summary import answer_counts, answer_figures, cost
from trialbed_verify.table import SIDES, Answers, name_apart, read_one, read_rows
from trialbed_verify.tables import (
    INTERVALS,
    Document,
    as_sentence,
    comparison_tables,
    figure_rows,
    ranking_tables,
    source_table,
    suite_tables,
    vendor_table,
    verdict_table,
    verdict_title,
)

Part: TypeAlias = Table | IntervalPlot | Disclosures | Folded

Shown: TypeAlias = tuple[Answers, Document]
"""The answers of a vendor, and their figures as in a summary."""

MEANING = attrgetter("meaning")

ANSWERS = "All figures of the answers: rates, times, tokens, failures and findings"

NOTE = "What came is shown as the results file has it; keys are redacted, and long texts are cut off."

LONGEST = 20_000
"""Characters of one excerpt; the results file has the rest."""

NAMED, LONGEST_NAME = 3, 40
"""Most vendors named in a title, and most characters of a name."""

FARTHEST = 10.0
"""Margins that a plot shows to each side: one gate that is far off would make the others unreadable."""

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


def vendor_page(
    vendors: Sequence[Answers], found: Document | None = None, *, remarks: Sequence[str] = (), again: str = ""
) -> list[Part]:
    """Return the parts of the page, from answers that are read for summaries.

    Args:
        found: comparisons and ranks; None if there is nothing to compare.
        remarks: how the baselines were chosen.
        again: the command that makes this page; by default, one that shows the same files or run.
    """
    if not vendors:
        return [Table("", notes=["No request was sent."])]
    baselines = {(one["model"], one["baseline"]) for one in found["models"]} if found else set()
    shown = [(one, _figures(one, baselines)) for one in vendors]
    lead, *answers = parts = list(_answers(shown))
    if found is not None and len(shown) > 1:
        # Vendors that differ come first.
        compared = [one for model in found["models"] for one in model["comparisons"]]
        compared.sort(key=lambda one: one["panel"].finding != "different")
        verdicts = [f"{verdict_title(one)}; {'; '.join(_reasons(one['panel'])[0])}." for one in compared]
        parts = [Table("", notes=verdicts)] if compared else []
        parts += [verdict_table(one, (), MEANING) for one in found["models"]]
        parts += [part for one in compared for part in _comparison(one)]
        parts += ranking_tables(found["ranking"]) if found["ranking"] else []
        parts += [lead, Folded(ANSWERS, answers)]
    if remarks:
        parts.insert(1, Table("How they were compared", notes=remarks))
    return [*parts, source_table([figures for _, figures in shown]), _commands(vendors, again)]


def verification_page(rows: Sequence[VendorRows], found: Document | None) -> list[Part]:
    """Return the page about the vendors of a verification that have rows."""
    return vendor_page([table for own in rows for table in read_rows(own, compared=False)], found)


def _figures(one: Answers, baselines: Collection[tuple[str, str | None]]) -> Document:
    model = one.model or "a model"
    found: Document = {"vendor": one.vendor, "model": model, "remarks": one.notes, "cost": cost(one.rows, one.prices)}
    is_baseline = one.is_of_baseline or (model, one.vendor) in baselines
    provenance = {"results": one.source.file_name, **one.provenance}
    own = {"is_baseline": is_baseline, "provenance": provenance, "not_sent": one.not_sent}
    return {**found, **own, **answer_counts(one.rows), **answer_figures(one)}


def _answers(shown: Sequence[Shown]) -> Iterator[Part]:
    """Yield for each model its vendors' figures, and examples of failures and findings."""
    # Vendors of which a request failed or a call does not fit come first.
    faulty_first = sorted(shown, key=lambda one: not (one[1]["problems"] or one[1]["call_problems"]))
    yield Table("", notes=[_sentence(figures) for _, figures in faulty_first])
    for model, own in group_by_key((figures["model"], figures) for _, figures in shown).items():
        yield from _model(model, own)
    if examples := [entry for one in faulty_first for entry in _examples(*one)]:
        yield Disclosures("Examples of failures and findings", examples, [NOTE])


def _sentence(found: Document) -> str:
    """Say how many requests a vendor answers, and whether its calls are right."""
    said = f"{found['vendor']} answers {percent(found['success_rate']['value'])} of {found['case_count']} requests"
    if found["problems"]:
        said += f" ({counts(found['problems'])})"
    if found["not_sent"]:
        said += f"; {number_of(found['not_sent'], 'request')} not sent"
    if valid := found["schema_accuracy_per_response"]:
        said += f"; of its answers with calls, {percent(valid['value'])} fit the schemas of their tools"
    return f"{said}."


def _model(model: str, vendors: Sequence[Document]) -> Iterator[Part]:
    notes = [INTERVALS, *(f"{one['vendor']}: {note}." for one in vendors for note in one["remarks"])]
    yield vendor_table(f"{model}: rates, times and tokens", vendors, figure_rows(vendors, kind_in_words), notes)
    yield from suite_tables(vendors)


def _examples(one: Answers, figures: Document) -> Iterator[Disclosure]:
    """Show the first example of each kind of failure and of finding, with its request and its answer."""
    rows = group_by_key(
        (kind, row) for row in one.rows for kind in {row.problem: 0} | dict.fromkeys(row.findings) if kind
    )
    for kind, (first, *others) in rows.items():
        known = [figures["examples"][what].get(kind, ()) for what in ("problems", "findings")]
        example = next((own[0] for own in known if own), {"message": ""})
        where = f", line {first.data_index} of the test set" if first.data_index else ""
        said = f": {example['message']}" if example["message"] not in (kind_in_words(kind), "") else ""
        body = one.source.row_at(first.place)
        shown = {"What was seen": example["evidence"]} if example.get("evidence") else {}
        shown |= {"The request": sent_request(body), "The answer": body.get("response")}
        title = f"{one.vendor}: {kind_in_words(kind)}, {number_of(1 + len(others), 'answer')}{where}{said}"
        yield _disclosure(title, shown)


def _disclosure(title: str, shown: Document) -> Disclosure:
    return Disclosure(title, [Excerpt(name, _excerpt(value)) for name, value in shown.items()])


def _excerpt(value: Any) -> str:
    """Return a text unchanged, or JSON with one line for each top-level key; long texts are cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and value:
        lines = (f"{json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
        text = "{" + ",\n ".join(lines) + "}"
    # Lone surrogates, which some vendors send, cannot be written in any file.
    text = redact(text).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST} more characters"


def _comparison(found: Document) -> Iterator[Part]:
    """Yield the reasons for a vendor's verdict, a plot and examples, and all figures in a folded part."""
    vendor, panel = found["vendor"]["vendor"], found["panel"]
    within = ", ".join(one.gate.meaning for one in panel.found("equivalent"))
    notes = [*_reasons(panel)[1], *panel.remarks, *([f"within the margin: {within}"] if within else [])]
    yield Table(verdict_title(found), notes=list(map(as_sentence, notes)))
    open_gates = [one for one in panel.gates if one.finding != "equivalent"]
    deciding = [(one, one.decisive_figure) for one in open_gates]
    if points := [_gate_point(one, found, margin) for one, (found, margin) in deciding if found]:
        title = f"How much {vendor} differs, in margins: between the dotted lines is allowed"
        yield IntervalPlot(title, points, zero=0.0, marks=(-1.0, 1.0))
    if entries := [_difference(one.gate.meaning, one.example, found) for one in panel.gates if one.example]:
        yield Disclosures(f"Examples of what differs at {vendor}", entries, [NOTE])
    gates, *others = comparison_tables(found, MEANING)
    table = replace(gates, title="Gates", notes=gates.notes[-1:])
    yield Folded(f"All figures of {vendor}: gates, decisions, rates, tokens and times", [table, *others])


def _reasons(panel: Panel) -> tuple[list[str], list[str]]:
    """Return the reasons of a verdict that the page begins with, and the others, which an open verdict has."""
    said = panel.reasons(MEANING)
    leading = 1 if panel.finding == "inconclusive" else len(said)
    return said[:leading], said[leading:]


def _gate_point(one: GateResult, found: Mean, margin: float) -> PlotPoint:
    value, low, high = (end / margin for end in (found.value, found.low, found.high))
    text = f"{one.finding}: {value:+.1f} [{low:.1f}, {high:.1f}]"
    value, low, high = (max(-FARTHEST, min(FARTHEST, end)) for end in (value, low, high))
    return PlotPoint(one.gate.meaning, value, low, high, text)


def _difference(subject: str, example: GateExample, found: Document) -> Disclosure:
    """Show a request, and an answer of each side that differ at a gate."""
    where = f"line {example.line} of the test set" if example.line else "a case"
    ours, theirs = example.baseline_row.read(), example.vendor_row.read()
    baseline, vendor = (found[side]["vendor"] for side in SIDES)
    shown = {"The request": sent_request(theirs), f"The answer of {baseline}": ours.get("response")}
    shown[f"The answer of {vendor}"] = theirs.get("response")
    said = f"{baseline} {example.baseline} | {vendor} {example.vendor}"
    return _disclosure(f"{subject}, {where}: {said}", shown)


def _commands(vendors: Sequence[Answers], again: str) -> Table:
    """Return the commands that repeat each vendor's requests, and the command that makes this page."""
    rows = [(one.vendor, _verify_command(one.provenance, one.source.file_name)) for one in vendors if one.provenance]
    files = [one.source.file_name for one in vendors if isinstance(one.source, FileRows)]
    run = str(vendors[0].source).partition("/")[0]
    shown = typed_command("view", *files) if files else typed_command("show", run, "--format", "html")
    return Table.of("How to run it again", ("", "command"), [*rows, ("this page, from the results", again or shown)])


def _verify_command(about: Document, output: str) -> str:
    """Return the command that sends a test set again with the same options, apart from drivers and prices."""
    asked, name = object_in(about, "configuration"), str(about.get("test_set"))
    suites, stem = name.removesuffix(".jsonl").split("+"), output.removesuffix(".jsonl").removesuffix("_results")
    words = [word for one in suites for word in ("--suite", one)] if {*suites} <= {*SUITES} else [name]
    given = {"model": asked.get("model_id"), "base-url": asked.get("base_url"), "trials": about.get("trials")}
    given |= {option: asked.get(option.replace("-", "_")) for option in ("temperature", "max-tokens")}
    given |= {"output": output, "summary": f"{stem}_summary.json", "extra-body": asked.get("extra_body") or None}
    given |= {"tokenizer-model": asked.get("tokenizer") or None}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
    words += [word for option, text in texts.items() if text != "null" for word in (f"--{option}", text)]
    words += ["--use-raw-completions"] * bool(asked.get("tokenizer"))
    streams: dict[Any, list[str]] = {True: ["--stream"], False: ["--no-stream"]}
    return redact(typed_command("verify", *words, *streams.get(asked.get("streams_unsaid") or asked.get("stream"), ())))


def is_results_file(path: Path) -> bool:
    """Return whether a file has results of ``bench verify`` or of tools like it: its first line is a result row."""
    row = first_row(path)
    return "status" in row and "request" in row


def files_title(files: Sequence[Path]) -> str:
    """Return the title of the page about results files."""
    return f"{_names(files)} compared" if len(files) > 1 else f"Answers of {_names(files)}"


def file_parts(files: Sequence[Path]) -> list[Part]:
    """Return the parts of the page about files. Without a marked baseline, a model's first vendor is used."""
    vendors = [*name_apart((read_one(FileRows(path), compared=False) for path in files), within_models=True)]
    rows, baselines, remarks = dict[tuple[str, str], VendorRows](), dict[str, str](), list[str]()
    if len(vendors) == 1:
        return vendor_page(vendors)
    for model, own in group_by_key((one.model, one) for one in vendors).items():
        marked = [one for one in own if one.is_of_baseline]
        remarks += [] if marked else [UNMARKED.format(model=model, vendor=own[0].vendor)]
        baselines[model or "a model"] = [*marked, *own][0].vendor
        rows |= {(model or "a model", one.vendor): one.source for one in own}
    try:
        return vendor_page(vendors, compare_and_rank(rows, baselines), remarks=remarks)
    except UsageError as error:
        return vendor_page(vendors, remarks=[f"They were not compared: {error}."])


def _names(files: Sequence[Path]) -> str:
    """Return the names of the files' vendors, or how many there are."""
    named = (str(first_row(path).get("vendor") or path.stem) for path in files)
    names = list(dict.fromkeys(one_line(name, LONGEST_NAME) for name in named))
    return f"{len(names)} vendors" if len(names) > NAMED else " and ".join(names)
