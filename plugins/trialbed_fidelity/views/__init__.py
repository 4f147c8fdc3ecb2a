"""Views of fidelity reports: tables for the terminal, and Markdown."""

from __future__ import annotations

from trialbed_fidelity.views._markdown import markdown, placed
from trialbed_fidelity.views._table import write_table

__all__ = ["markdown", "placed", "write_table"]
