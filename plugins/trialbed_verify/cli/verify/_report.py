"""What ``bench verify`` tells when it has ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.errors import DriverBroken, NothingMeasured

if TYPE_CHECKING:
    from trialbed.views import Table
    from trialbed_verify.verification import Target

Document = Mapping[str, Any]


@dataclass(frozen=True)
class VerifyReport:
    """The summaries of all targets, and how they stand beside their baselines.

    Attributes:
        standing: None where one endpoint was verified alone.
    """

    summaries: Sequence[Document]
    standing: Document | None = None

    def write(self, markdown: Path | None, csv: Path | None) -> None:
        """Write the files that were asked for.

        Raises:
            UsageError: one cannot be written.
        """
        from trialbed.files import write_text
        from trialbed.views import csv_text
        from trialbed.views import markdown as as_markdown
        from trialbed_verify.views import verification_records, verification_tables

        if markdown:
            text = as_markdown([*verification_tables(self.summaries), *self._standings()])
            write_text(markdown, text, "--markdown")
        if csv:
            write_text(csv, csv_text(verification_records(self.summaries)), "--csv")

    def print(self, *, as_json: bool) -> None:
        """Print the result on stdout."""
        if as_json:
            whole = self.summaries[0] if self.standing is None else {"summaries": self.summaries, **self.standing}
            # Halves of characters, which vendors send, are JSON as escapes.
            text = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2)
            click.echo(text.encode("utf-8", "backslashreplace"))
            return
        from trialbed.drivers import load_driver
        from trialbed.views import print_tables

        load_driver("reporters", "verification")().report(self.summaries, sys.stdout)
        if standings := self._standings():
            click.echo()
            print_tables(standings, sys.stdout)

    def check(self) -> None:
        """See that the figures are what they seem.

        Raises:
            DriverBroken: a vendor was given up for its driver; says where that failed.
            NothingMeasured: there is no answer of any vendor; says what was met instead, and what to look at.
        """
        failures = [summary["failure"] for summary in self.summaries if summary["failure"]]
        if failures:
            raise DriverBroken("\n".join(failures))
        if any(summary["success_count"] for summary in self.summaries):
            return
        met = "\n  ".join(_met(summary) for summary in self.summaries)
        raise NothingMeasured(
            f"no request was answered:\n  {met}\nCheck the base URL (it ends before /chat/completions), the key and "
            "the model's name; then --incremental sends what failed again."
        )

    def _standings(self) -> Sequence[Table]:
        if self.standing is None:
            return ()
        # Resampling needs numpy, which one endpoint does not.
        from trialbed_verify.views import standing_tables

        return standing_tables(self.standing)


def beside_baselines(targets: Sequence[Target]) -> Document:
    """How the vendors of a configuration stand beside their models' baselines."""
    from trialbed_verify.ranking import VerifiedFile, compare_and_rank

    return compare_and_rank(
        [VerifiedFile(target.settings.model, target.name, target.output, target.is_baseline) for target in targets]
    )


def _met(summary: Document) -> str:
    about = summary["provenance"]["configuration"]
    problems = ", ".join(f"{count} {kind}" for kind, count in summary["problems"].items()) or "nothing was sent"
    examples = [example for found in summary["examples"]["problems"].values() for example in found]
    said = f": {examples[0]['message']}" if examples else ""
    return f"{summary['model']} at {about['base_url']}: {problems}{said}"
