"""Views of fidelity reports: tables for the terminal, and Markdown."""

from __future__ import annotations

from trialbed_fidelity.views._report import markdown, placed, write_table

__all__ = ["markdown", "placed", "write_table"]
