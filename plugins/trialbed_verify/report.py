"""The report of ``bench verify``: tables, JSON and files."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import json_text
from trialbed.errors import DriverBroken, NothingMeasured
from trialbed_verify.documents import as_document

if TYPE_CHECKING:
    from trialbed_verify.ranking import VerifiedVendors
    from trialbed_verify.vendor_rows import VendorRows
    from trialbed_verify.verification import Target


ADVICE = {
    r"insufficient_quota|http_402": "The account is out of credit: top it up",
    r"\d http_429": "The vendor limits requests: wait, or use a lower --concurrency",
    r"\d (http_5\d\d|timeout)": "The vendor failed: wait until it has recovered, or use a longer --timeout",
    r"\d (connect|disconnected)": "Check the base URL: its host and port, and whether these speak http:// or https://",
    "": "Check the base URL (it ends before /chat/completions), the key and the model's name",
}
"""Pattern of a vendor's problems, of which none was answered -> what to do; the first one counts."""


@dataclass(frozen=True)
class VerifyReport:
    """The summaries of all targets, and their comparisons and ranks.

    Attributes:
        comparisons: None if a single endpoint was verified.
    """

    summaries: Sequence[dict[str, Any]]
    comparisons: VerifiedVendors | None = None

    def write_rank_files(self, folder: Path) -> None:
        """Write the ranks as Agent Vendor Verifier does, if vendors could be ranked.

        Raises:
            UsageError: they cannot be written.
        """
        from trialbed_verify.ranking import write_rank_files

        if self.comparisons and self.comparisons.ranking:
            write_rank_files(self.comparisons.ranking, folder)

    def print(self, form: str, sources: Sequence[VendorRows]) -> None:
        """Print the report on stdout.

        Args:
            form: a choice of ``--format``.
            sources: the rows of all targets.
        """
        from trialbed.views import print_tables
        from trialbed_verify.tables import verification_tables, verified_tables

        if form in ("json", "html", "junit"):
            _echo(self._document(form, sources))
            return
        tables = verification_tables(self.summaries)
        compared = verified_tables(self.comparisons) if self.comparisons else []
        if form != "table":
            from trialbed.cli.formats import records_text
            from trialbed_verify.tables import verification_records

            records = list(verification_records(self.summaries))
            _echo(records_text(form, [*tables, *compared], records, "Verification"))
            return
        print_tables(tables, sys.stdout)
        if compared:
            click.echo()
            print_tables(compared, sys.stdout)

    def _document(self, form: str, sources: Sequence[VendorRows]) -> str:
        if form == "json":
            whole = {"summaries": self.summaries, **as_document(self.comparisons)} if self.comparisons else None
            return json_text(whole or self.summaries[0])
        if form == "html":
            from trialbed.views import html_page
            from trialbed_verify.pages import verification_page

            models = " and ".join(dict.fromkeys(summary["model"] for summary in self.summaries))
            return html_page(f"Verification of {models}", verification_page(sources, self.comparisons))
        from trialbed.views import TestCase, TestSuite, junit
        from trialbed_verify.tables import comparison_tests, verification_tests

        tests = [test for summary in self.summaries for test in verification_tests(summary)]
        for model in self.comparisons.models if self.comparisons else ():
            tests += [test for one in model.comparisons for test in comparison_tests(one)]
            tests += [TestCase(model.model, note, outcome="skipped", message=note) for note in model.notes]
        return junit([TestSuite("bench verify", tests)], "bench verify")

    def check(self) -> None:
        """Check that the report is based on answers.

        Raises:
            DriverBroken: a driver failed.
            NothingMeasured: no request was answered.
        """
        failures = [summary["failure"] for summary in self.summaries if summary["failure"]]
        if failures:
            raise DriverBroken("\n".join(failures))
        if any(summary["success_count"] for summary in self.summaries):
            return
        problems = [_problems(summary) for summary in self.summaries]
        advice = {next(said for pattern, said in ADVICE.items() if re.search(pattern, text)) for _, text in problems}
        listed = "\n  ".join(f"{where}: {text}" for where, text in problems)
        todo = ". ".join(sorted(advice))
        raise NothingMeasured(f"no request was answered:\n  {listed}\n{todo}, then run the same command again.")


def _echo(text: str) -> None:
    # Vendors send lone surrogates, which no file can hold.
    click.echo(text.encode("utf-8", "backslashreplace"), nl=not text.endswith("\n"))


def compared_targets(targets: Sequence[Target]) -> VerifiedVendors:
    """Compare the vendors of a configuration with their models' baselines, and rank them."""
    from trialbed_verify.ranking import VerifiedRows, compare_and_rank
    from trialbed_verify.vendor_rows import FileRows

    rows = ((one.settings.model, one.name, FileRows(one.output), one.is_baseline) for one in targets)
    return compare_and_rank([VerifiedRows(*own) for own in rows])


def _problems(summary: dict[str, Any]) -> tuple[str, str]:
    """Return the model and its address, and what happened there."""
    from trialbed.views import counts

    problems = counts(summary["problems"]) or "nothing was sent"
    examples = [example for examples in summary["examples"]["problems"].values() for example in examples]
    said = f": {examples[0]['message']}" if examples else ""
    return f"{summary['model']} at {summary['provenance']['configuration']['base_url']}", f"{problems}{said}"
