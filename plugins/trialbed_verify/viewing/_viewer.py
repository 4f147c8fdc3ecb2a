"""The viewer of vendors' result files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import FileView, FileViewer

FIRST_LINE = 4_000_000
"""Bytes of a first line that are read to recognise a file."""


class VendorViewer(FileViewer):
    """Shows results of ``bench verify`` and of tools like it."""

    contents: ClassVar[str] = "vendors"

    def recognises(self, path: Path) -> bool:
        """Return whether its first line is a result row."""
        try:
            with path.open("rb") as file:
                row = json.loads(file.readline(FIRST_LINE))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(row, dict) and "status" in row and "request" in row

    def views(self, files: Sequence[Path]) -> Sequence[FileView]:
        """Return the answers of each vendor; for several files their comparison and ranks too."""
        from trialbed_verify.viewing._judged import comparisons, ranks
        from trialbed_verify.viewing._vendors import vendor_parts

        found = [FileView("verification", "What vendors answered", files, partial(vendor_parts, files))]
        if len(files) > 1:
            found.append(
                FileView("comparison", "Vendors compared with their baseline", files, partial(comparisons, files))
            )
            found.append(FileView("ranking", "Ranks of vendors", files, partial(ranks, files)))
        return found
