"""A reporter of Acme's: a line per framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from trialbed import Reporter


class AcmeReporter(Reporter):
    """Says of each framework how many queries it solved."""

    def report(self, documents: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
        """Write a line per framework."""
        for document in documents:
            stream.write(f"{document['metadata']['agent_name']} solved {document['summary']['solved_count']}\n")
