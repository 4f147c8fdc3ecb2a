"""The report of a stored run with what installed plugins add to it."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed.plugins import installed_listeners
from trialbed.report import AskQueries, Queries, Report, read_report
from trialbed.store import StoredRun


def report_run(
    stored: StoredRun,
    queries: Queries | AskQueries | None = None,
    *,
    against: str | None = None,
    margin: float | None = None,
    allow_incomplete: bool = True,
    plugins: Mapping[str, object] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Report:
    """Report a run as ``read_report`` does, with the descriptions and figures of plugins.

    Args:
        plugins: name -> a plugin of this run alone, in addition to the installed ones.
    """
    listeners = installed_listeners(plugins)
    return read_report(
        stored,
        queries,
        against=against,
        margin=margin,
        allow_incomplete=allow_incomplete,
        described=listeners.descriptions(),
        aggregate=listeners.aggregate,
        renamed=renamed,
    )
