"""Agno's log."""

from __future__ import annotations

import logging

from agno.utils.log import configure_agno_logging

_SILENT = logging.getLogger("trialbed_agno.silent")


def silence_agno() -> None:
    """Keep Agno off the console.

    It writes every failed request and every unknown tool there, with a traceback; all of that is in the trial's
    record. The logger is replaced, since Agno resets its level in every run.
    """
    if not _SILENT.handlers:
        _SILENT.addHandler(logging.NullHandler())
        _SILENT.propagate = False
        _SILENT.setLevel(logging.CRITICAL + 1)
    configure_agno_logging(custom_default_logger=_SILENT)
