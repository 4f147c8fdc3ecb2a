"""The viewer of vendors' result files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from trialbed.contracts import FileView, FileViewer
from trialbed.texts import one_line
from trialbed_verify.vendor_rows import FileRows

NAMED, LONGEST = 3, 40
"""Vendors up to which a title names each, and the characters of a name."""

FIRST_LINE = 4_000_000
"""Bytes of a first line that are read to recognise a file."""


class VendorViewer(FileViewer):
    """Shows results of ``bench verify`` and of tools like it."""

    contents: ClassVar[str] = "vendors"

    def recognises(self, path: Path) -> bool:
        """Return whether its first line is a result row."""
        row = _first_row(path)
        return "status" in row and "request" in row

    def views(self, files: Sequence[Path]) -> Sequence[FileView]:
        """Return the answers of each vendor; for several files their comparison and ranks too."""
        from trialbed_verify.pages._judged import answers, comparisons, ranks

        names, rows = _names(files), list(map(FileRows, files))
        found = [FileView("verification", f"Answers of {names}", files, partial(answers, rows))]
        if len(files) > 1:
            found.append(FileView("comparison", f"{names} compared", files, partial(comparisons, rows)))
            found.append(FileView("ranking", f"Ranks of {names}", files, partial(ranks, rows)))
        return found


def _first_row(path: Path) -> dict[str, Any]:
    """Return the first row of a file; an empty one where there is none."""
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline(FIRST_LINE))
    except (OSError, ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _names(files: Sequence[Path]) -> str:
    """Return the names of the files' vendors in words, or how many there are."""
    names = list(dict.fromkeys(one_line(str(_first_row(path).get("vendor") or path.stem), LONGEST) for path in files))
    if len(names) > NAMED:
        return f"{len(names)} vendors"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
