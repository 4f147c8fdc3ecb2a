"""The tables of a run, as its reporter prints them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from support.run_reports import reported

from trialbed.report import Report
from trialbed_plugins.reporters import TableReporter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the tables of a report, or of documents, as they are printed."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def show(
        found: Report | Sequence[Mapping[str, Any]],
        width: int = 80,
        *,
        terminal: bool = False,
        explained: bool = False,
        brief: bool = False,
    ) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm-256color")
        stream = Terminal() if terminal else io.StringIO()
        reporter = TableReporter()
        reporter.explained, reporter.brief = explained, brief
        reporter.report(found if isinstance(found, Report) else reported(*found), stream)
        return stream.getvalue()

    return show
