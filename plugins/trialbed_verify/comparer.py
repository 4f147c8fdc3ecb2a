"""The comparer of vendors' result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import click

from trialbed.cli.thresholds import parse_thresholds
from trialbed.contracts import Comparer, Comparison
from trialbed.errors import UsageError

if TYPE_CHECKING:
    from trialbed.views import TestCase, TestOutcome
    from trialbed_verify.rows import VendorRows
    from trialbed_verify.table import Answers
    from trialbed_verify.tables import Document

FIGURES: Mapping[str, tuple[str, ...]] = {
    "f1": ("similarity", "delivered", "f1"),
    "f1_answered": ("similarity", "answered", "f1"),
    "precision": ("similarity", "delivered", "precision"),
    "recall": ("similarity", "delivered", "recall"),
    "success_rate": ("success_rate", "vendor"),
    "schema_accuracy": ("schema_accuracy", "vendor", "per_response"),
}
"""Figures that --fail-under accepts -> their place in the document of a comparison."""

NamedVendor: TypeAlias = "tuple[str | None, Sequence[VendorRows]]"
"""The name that a vendor is given, if any, and the rows that are its trials."""

BASELINE = "Results to compare the others with; repeatable, or a folder, for further trials."
VENDOR = "A vendor's results; several files, or a folder of them, are its trials; repeatable."

FAILING = {"different": ("different",), "not-equivalent": ("different", "inconclusive")}
"""Choice of --fail-if -> verdicts that it rejects."""


class VendorComparer(Comparer):
    """Compares result files of vendors and a baseline."""

    contents: ClassVar[str] = "verifications (ids, or result files of bench verify and tools like it)"

    def options(self) -> Sequence[click.Option]:
        """Return the options that name the files' sides, set the margin of equivalence, and say what fails."""
        repeatable = partial(click.Option, multiple=True)
        return [
            repeatable(["--baseline", "baselines"], type=click.Path(path_type=Path), metavar="FILE", help=BASELINE),
            repeatable(["--vendor", "vendors"], metavar="[NAME=]FILE,…", help=VENDOR),
            repeatable(["--fail-under"], metavar="FIGURE=X", help="Exit with 1 if FIGURE is below X; repeatable."),
            click.Option(["--fail-if"], type=click.Choice(list(FAILING)), help="Exit with 1 at this verdict."),
            repeatable(["--gate-margin"], metavar="GATE=X", help="Margin of a gate of the panel; repeatable."),
        ]

    def recognises(self, value: str) -> bool:
        """Return whether it is a file of JSON lines, by its name or its first line, or a verification in the store."""
        from trialbed_verify.rows import first_row

        path, context = Path(value), click.get_current_context(silent=True)
        if path.exists():
            return path.is_file() and (path.suffix == ".jsonl" or bool(first_row(path)))
        from trialbed.report.comparison import is_run_name
        from trialbed.store import run_kind

        store = context.params.get("store") if context else None
        return is_run_name(value) and run_kind(value, store) == "endpoints"

    def compare(self, values: Sequence[str], options: Mapping[str, Any]) -> Comparison:
        """Compare every vendor with the baseline."""
        from trialbed_verify.compare import compare
        from trialbed_verify.summary import as_document
        from trialbed_verify.tables import comparison_records, comparison_tables, comparison_tests

        thresholds = parse_thresholds(options["fail_under"], "f1=0.73")
        if unknown := [name for name in thresholds if name not in FIGURES]:
            raise UsageError(f"--fail-under: unknown figure {unknown[0]!r}; choose from {', '.join(FIGURES)}")
        margins = parse_thresholds(options["gate_margin"], "tools=0.02", "--gate-margin", "GATE=X")
        sides = _sides(values, options)
        _check_sides(sides)
        read = _read_sides(sides, compared=True)
        found = compare(next(read), read, force=options["force"], gate_margins=margins)
        verdicts = FAILING.get(options["fail_if"] or "", ())
        tests = [test for one in found for test in comparison_tests(one, verdicts)]
        asked = [test for one in found for test in _threshold_tests(one, thresholds)]
        tests, asked = [*tests, *asked], [*asked, *(test for test in tests if verdicts and test.name == "verdict")]
        document = as_document(found[0] if len(found) == 1 else found)
        tables = [table for one in found for table in comparison_tables(one)]
        failed = [test.message for test in asked if test.outcome == "failure"]
        return Comparison(
            document, tables, comparison_records(found), failed, partial(_page, found, sides, values, options), tests
        )


def vendor_files(text: str) -> tuple[str | None, list[str]]:
    """Return the vendor's name, if the text begins with one, and the results that it names, a folder's in order."""
    name, equals, listed = text.partition("=")
    if not equals or Path(text).exists() or "/" in name:
        name, listed = "", text
    found: list[str] = []
    for one in [listed] if Path(listed).is_file() else filter(None, listed.split(",")):
        inside = sorted(map(str, Path(one).glob("*.jsonl"))) if Path(one).is_dir() else [one]
        if not inside:
            raise UsageError(f"{one}: the folder has no results files (*.jsonl)")
        found += inside
    if not found:
        raise UsageError(f"{text!r} names no results; write VENDOR=FILE, or the file alone")
    return name or None, found


def _sides(values: Sequence[str], options: Mapping[str, Any]) -> list[NamedVendor]:
    from trialbed_verify.stored import named_rows

    baselines, vendors, store = options["baselines"], options["vendors"], options.get("store")
    if values and (baselines or vendors):
        raise UsageError("name the files by --baseline and --vendor, or in this order without them; not both")
    if len(values) >= 2 or (values and not Path(values[0]).exists()):
        vendors = values[1:]
        # The first vendor of a stored verification is its baseline.
        sides: list[NamedVendor] = [(None, [own]) for own in named_rows(vendor_files(values[0])[1], store)]
    elif not baselines or not vendors:
        raise UsageError("name the results of a baseline and of a vendor: --baseline FILE --vendor FILE")
    else:
        sides = [(None, named_rows((file for path in baselines for file in vendor_files(str(path))[1]), store))]
    for name, texts in map(vendor_files, map(str, vendors)):
        rows = named_rows(texts, store)
        # All files are trials of one vendor; a stored verification that is named alone may have several vendors.
        sides += [(name, rows)] if len(texts) > 1 or name else [(None, [own]) for own in rows]
    if len(sides) < 2:
        raise UsageError(f"{values[0]} has one vendor; name another verification or file to compare it with")
    return sides


def _read_sides(sides: Sequence[NamedVendor], *, compared: bool) -> Iterator[Answers]:
    """Read the rows of each side, and make the names of vendors unique."""
    from trialbed_verify.table import as_trials, name_apart, read_one

    return name_apart(as_trials([read_one(own, compared=compared) for own in rows], name) for name, rows in sides)


def _page(
    found: Sequence[Document], sides: Sequence[NamedVendor], values: Sequence[str], options: Mapping[str, Any]
) -> str:
    from trialbed.cli.stored import typed_command
    from trialbed.views import html_page
    from trialbed_verify.pages import vendor_page

    vendors = list(_read_sides(sides, compared=False))
    baseline, model = vendors[0].vendor, vendors[0].model or "a model"
    compared = {"model": model, "baseline": baseline, "comparisons": found, "notes": ()}
    given = {"--baseline": "baselines", "--vendor": "vendors", "--gate-margin": "gate_margin"}
    words = [word for option, name in given.items() for one in options[name] for word in (option, str(one))]
    words += ["--force"] * bool(options["force"])
    again = typed_command("compare", *values, *words, "--format", "html", store=options.get("store"))
    named = ", ".join(one["vendor"]["vendor"] for one in found)
    page = vendor_page(vendors, {"models": [compared], "ranking": None}, again=again)
    return html_page(f"{named} compared with {baseline}", page)


def _check_sides(sides: Sequence[NamedVendor]) -> None:
    """Check that all files can be results, and that none is compared with itself or counts twice."""
    from trialbed_verify.rows import FileRows

    for number, (_, rows) in enumerate(sides):
        for place, own in enumerate(rows):
            if isinstance(own, FileRows) and not own.path.is_file():
                raise UsageError(f"{own}: no such file; name a result file of bench verify")
            if number and any(own.is_same(other) for other in sides[0][1]):
                raise UsageError(f"{own}: named as the baseline and as a vendor; a file is not compared with itself")
            if any(own.is_same(other) for other in rows[:place]):
                side = "one vendor" if number else "the baseline"
                raise UsageError(f"{own}: named twice as {side}, so its rows would count twice")


def _threshold_tests(found: Document, thresholds: Mapping[str, float]) -> Iterator[TestCase]:
    """Yield a test for each threshold, which fails if the vendor's figure is below it or not known."""
    from trialbed.views import TestCase

    vendor, baseline = found["vendor"]["vendor"], found["baseline"]["vendor"]
    for name, least in thresholds.items():
        value = reduce(getitem, FIGURES[name], found)["value"]
        message = f"{vendor}: {name} is {'not known' if value is None else format(value, '.4f')}, below {least:g}"
        outcome: TestOutcome = "passed" if value is not None and value >= least else "failure"
        title = f"{vendor} against {baseline}"
        yield TestCase(title, f"{name} >= {least:g}", outcome=outcome, kind="below", message=message)
