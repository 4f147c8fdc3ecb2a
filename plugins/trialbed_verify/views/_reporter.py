"""The reporter of verified vendors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from trialbed.contracts import Reporter
from trialbed.views import print_tables
from trialbed_verify.verification.results import EndpointSummary
from trialbed_verify.views._verification import verification_tables


class VerificationReporter(Reporter):
    """Figures as rows and vendors as columns; a figure that was not observed is a dash."""

    shows = "verify"

    def report(self, report: Sequence[EndpointSummary], stream: TextIO) -> None:
        """Write the tables of one verification, one model after the other."""
        print_tables(verification_tables(report), stream)
