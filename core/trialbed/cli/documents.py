"""Prints the result documents of a report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trialbed.cli.options import escape_controls

if TYPE_CHECKING:
    from trialbed.report import Report


def print_documents(report: Report) -> None:
    """Write the documents of all frameworks on stdout as a list in JSON, trial by trial."""
    from trialbed.report import document_parts, each_document

    stdout, before = sys.stdout.buffer, b"[\n  "
    for document, entries in each_document(report):
        stdout.write(before)
        for part in document_parts(document, entries):
            stdout.write(escape_controls(part.decode()).encode().replace(b"\n", b"\n  "))
        before = b",\n  "
    stdout.write(b"\n]\n")
    stdout.flush()
