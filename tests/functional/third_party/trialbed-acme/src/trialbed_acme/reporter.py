"""A reporter of Acme's: a line per framework."""

from __future__ import annotations

from typing import TextIO

from trialbed import Report, Reporter


class AcmeReporter(Reporter):
    """Says of each framework how many queries it solved."""

    def report(self, report: Report, stream: TextIO) -> None:
        """Write a line per framework."""
        for summary in report.frameworks:
            stream.write(f"{summary.framework} solved {summary.counts.solved}\n")
