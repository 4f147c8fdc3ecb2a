"""Compare things with ``bench compare``; the installed comparers recognise them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.formats import chosen_format, format_option, records_text
from trialbed.cli.options import FILE, SectionedCommand, json_option, json_text, make_option
from trialbed.errors import DriverError, UsageError

if TYPE_CHECKING:
    from trialbed.contracts import Comparer, Comparison

EPILOG = """\b
Examples:
  bench compare results/tools/reference_mini.json results/tools/langgraph@native_mini.json
  bench compare 20261121T231039-52d790 20261122T090211-0c4b1e --format markdown > report.md
  bench compare 20261121/langgraph latest/langgraph
  bench compare official.jsonl vendor.jsonl
  bench compare --baseline official.jsonl --vendor vendor.jsonl --fail-under f1=0.73 --fail-if different
"""

SHARED: tuple[click.Option, ...] = (
    click.Option(["-o", "--output"], type=FILE, metavar="FILE", help="Write the comparison as JSON."),
    click.Option(
        ["--force"], is_flag=True, help="Compare what both have even if requests, settings or datasets differ."
    ),
    make_option("--store", metavar="FILE|URL", help="Where runs are kept. [default: .trialbed/trialbed.db]"),
    click.Option(["--legend"], is_flag=True, help="Explain each figure below the tables."),
)
"""Options for every comparison."""


class CompareCommand(SectionedCommand):
    """The command with the options of every kind.

    Attributes:
        kinds: each comparer, with the options that are for its kind only.
    """

    def __init__(self, comparers: Sequence[Comparer]) -> None:
        self.kinds = {comparer: comparer.options() for comparer in comparers}
        argument = click.Argument(["values"], nargs=-1, metavar="[BASELINE OTHER...]")
        super().__init__(
            "compare",
            params=[argument, *SHARED, *(option for options in self.kinds.values() for option in options)],
            callback=self._run,
            help=inspect.getdoc(self._run),
            epilog=EPILOG,
            sections={
                f"Options for {comparer.contents}": [str(option.name) for option in options]
                for comparer, options in self.kinds.items()
            },
        )
        format_option("table", "json", "csv", "markdown", "html", "junit")(self)
        json_option(self)

    def _run(self, values: tuple[str, ...], **given: Any) -> int:
        """Compare runs, or result files of vendors, with intervals.

        Name two or more runs, or two or more result files; all others are compared with the first. A run is an id or
        the beginning of one, latest, RUN/FRAMEWORK for one of its frameworks, or a result document. For every score,
        the means over the tasks that both runs have and the paired difference are shown.

        Vendors' results may come from bench verify, K2-style tools or Agent Vendor Verifier. The report compares the
        answers to the same requests: decisions, calls, texts, tokens and faults, each within a margin. The verdict is
        equivalent, different or inconclusive. Equivalent requires several trials per case of both sides, in one file
        or in several.
        """
        kind = _kind(self.kinds, values, click.get_current_context())
        form = chosen_format(given["form"], as_json=given["as_json"])
        found = kind.compare(values, given)
        _write(found, given, form)
        for line in found.failed:
            click.echo(line, err=True)
        return int(bool(found.failed))


def _comparers() -> Iterator[Comparer]:
    """Yield every comparer that can be loaded; print to stderr which cannot."""
    from trialbed.drivers import list_drivers, load_driver

    for name in dict.fromkeys(info.name for info in list_drivers("comparers")):
        try:
            yield load_driver("comparers", name)()
        except DriverError as error:
            click.echo(f"Warning: {error}", err=True)


def _kind(kinds: Mapping[Comparer, Sequence[click.Option]], values: Sequence[str], context: click.Context) -> Comparer:
    """Return the comparer of the things to compare.

    Raises:
        UsageError: nothing is named, a value is of no kind, values or options are of different kinds.
    """
    found = [(value, _recognise(kinds, value)) for value in values]
    typed = click.core.ParameterSource.COMMANDLINE
    found += [
        (option.opts[-1], kind)
        for kind, options in kinds.items()
        for option in options
        if context.get_parameter_source(option.name or "") is typed
    ]
    if not found:
        raise click.UsageError(f"name two or more of a kind: {' or '.join(kind.contents for kind in kinds)}")
    first, chosen = found[0]
    for name, kind in found[1:]:
        if kind is not chosen:
            raise UsageError(
                f"{first} is about {chosen.contents}, and {name} about {kind.contents}; compare things of one kind"
            )
    return chosen


def _recognise(kinds: Iterable[Comparer], value: str) -> Comparer:
    for kind in kinds:
        if kind.recognises(value):
            return kind
    from pathlib import Path

    problem = "cannot be compared" if Path(value).exists() else "no such file, and not the id of a run"
    raise UsageError(f"{value}: {problem}; what can be compared: {', '.join(kind.contents for kind in kinds)}")


def _write(found: Comparison, given: Mapping[str, Any], form: str) -> None:
    from trialbed.files import write_text
    from trialbed.views import print_tables

    text = json_text(found.document)
    if given["output"]:
        write_text(given["output"], f"{text}\n", "--output")
        if form == "json":
            return
    if form == "table":
        print_tables(found.tables, sys.stdout, explained=given["legend"])
        if not given["legend"] and any(table.legend for table in found.tables):
            click.echo("For what each figure means, add --legend")
    elif form == "junit":
        click.echo(_junit(found), nl=False)
    elif form == "html" and found.page is not None:
        click.echo(found.page())
    else:
        click.echo(text if form == "json" else records_text(form, found.tables, found.records, found.title))


def _junit(found: Comparison) -> str:
    """Return the tests as XML, with a failed one for each failed check that no test tells."""
    from trialbed.views import TestCase, TestSuite, junit

    told = {test.message for test in found.tests if test.outcome == "failure"}
    checks = [TestCase("bench compare", line, outcome="failure", kind="check", message=line) for line in found.failed]
    tests = [*found.tests, *(test for test in checks if test.message not in told)]
    return junit([TestSuite("bench compare", tests)], "bench compare")


command = CompareCommand([*_comparers()])
