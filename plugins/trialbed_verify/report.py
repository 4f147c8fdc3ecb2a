"""The report of ``bench verify``: tables, JSON and files."""

from __future__ import annotations

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
    from trialbed.views import Table
    from trialbed_verify.ranking import VerifiedVendors
    from trialbed_verify.vendor_rows import VendorRows
    from trialbed_verify.verification import Target


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

        if ranking := self._found().ranking:
            write_rank_files(ranking, folder)

    def print(self, form: str, sources: Sequence[VendorRows]) -> None:
        """Print the report on stdout.

        Args:
            form: a choice of ``--format``.
            sources: the rows of all targets.
        """
        if form != "table":
            # Vendors send lone surrogates, which no file can hold.
            text = self._text(form, sources)
            click.echo(text.encode("utf-8", "backslashreplace"), nl=not text.endswith("\n"))
            return
        from trialbed.views import print_tables
        from trialbed_verify.tables import verification_tables

        print_tables(verification_tables(self.summaries), sys.stdout)
        if tables := self._comparison_tables():
            click.echo()
            print_tables(tables, sys.stdout)

    def _text(self, form: str, sources: Sequence[VendorRows]) -> str:
        if form == "json":
            whole = self.summaries[0]
            if self.comparisons is not None:
                whole = {"summaries": self.summaries, **as_document(self.comparisons)}
            return json_text(whole)
        if form == "html":
            from trialbed.views import html_page
            from trialbed_verify.pages import verification_page

            models = " and ".join(dict.fromkeys(summary["model"] for summary in self.summaries))
            return html_page(f"Verification of {models}", verification_page(sources, self.comparisons))
        if form == "junit":
            return self._junit()
        from trialbed.cli.formats import records_text
        from trialbed_verify.tables import verification_records, verification_tables

        tables = [*verification_tables(self.summaries), *self._comparison_tables()]
        return records_text(form, tables, list(verification_records(self.summaries)), "Verification")

    def _junit(self) -> str:
        from trialbed.views import TestSuite, junit
        from trialbed_verify.tables import comparison_tests, verification_tests

        tests = [test for summary in self.summaries for test in verification_tests(summary)]
        tests += [test for one in self._found().comparisons for test in comparison_tests(one)]
        return junit([TestSuite("bench verify", tests)], "bench verify")

    def _found(self) -> VerifiedVendors:
        """Return the comparisons; empty if a single endpoint was verified."""
        from trialbed_verify.ranking import VerifiedVendors

        return self.comparisons or VerifiedVendors()

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
        problems = "\n  ".join(_problems(summary) for summary in self.summaries)
        raise NothingMeasured(
            f"no request was answered:\n  {problems}\nCheck the base URL (it ends before /chat/completions), the key "
            "and the model's name, then run the same command again."
        )

    def _comparison_tables(self) -> Sequence[Table]:
        if self.comparisons is None:
            return ()
        # Resampling imports numpy, which a single endpoint does not need.
        from trialbed_verify.tables import verified_tables

        return verified_tables(self.comparisons)


def compared_targets(targets: Sequence[Target]) -> VerifiedVendors:
    """Compare the vendors of a configuration with their models' baselines, and rank them."""
    from trialbed_verify.ranking import VerifiedRows, compare_and_rank
    from trialbed_verify.vendor_rows import FileRows

    return compare_and_rank(
        [
            VerifiedRows(target.settings.model, target.name, FileRows(target.output), target.is_baseline)
            for target in targets
        ]
    )


def _problems(summary: dict[str, Any]) -> str:
    from trialbed.views import counts

    problems = counts(summary["problems"]) or "nothing was sent"
    examples = [example for examples in summary["examples"]["problems"].values() for example in examples]
    said = f": {examples[0]['message']}" if examples else ""
    return f"{summary['model']} at {summary['provenance']['configuration']['base_url']}: {problems}{said}"
