"""The viewer of the figures of ``bench fidelity``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from trialbed.contracts import FileView, FileViewer

if TYPE_CHECKING:
    from trialbed.views import Folded, Table

LARGEST = 50_000_000
"""Bytes beyond which a file is not looked into."""


class FidelityViewer(FileViewer):
    """Shows the findings that ``bench fidelity --output`` wrote."""

    contents: ClassVar[str] = "fidelity"

    def recognises(self, path: Path) -> bool:
        """Return whether it has conditions and adapters."""
        try:
            if path.suffix != ".json" or path.stat().st_size > LARGEST:
                return False
            found = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and found.keys() >= {"conditions", "adapters"}

    def views(self, files: Sequence[Path]) -> Sequence[FileView]:
        """Return a page for each file."""
        return [
            FileView(f"{number}-{_simple(path.stem)}", f"Fidelity: {path.stem}", [path], partial(_parts, path))
            for number, path in enumerate(files, 1)
        ]


def _parts(path: Path) -> list[Table | Folded]:
    from trialbed_adapter_lab.fidelity.report import FidelityReport
    from trialbed_adapter_lab.fidelity.table import page_parts
    from trialbed_adapter_lab.report_command import read_report

    return page_parts(read_report(FidelityReport, path, "bench fidelity"))


def _simple(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
