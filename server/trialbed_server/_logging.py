"""The server's log: lines of text or of JSON, without secrets."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from trialbed.wire.redaction import Redaction, redaction_of
from trialbed_server._options import LogFormat


def configure_logging(form: LogFormat, secrets: Iterable[str]) -> None:
    """Log to standard error from now on, unless something is set up already.

    Args:
        form: ``json`` writes one object per line, with ``time``, ``level``, ``logger``, ``message`` and ``error``.
        secrets: masked wherever they would appear.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogFormatter(form, redaction_of(tuple(secrets))))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # The SDK writes several lines for every request.
    logging.getLogger("mcp").setLevel(logging.WARNING)


class LogFormatter(logging.Formatter):
    """Writes records of the log in either form."""

    def __init__(self, form: LogFormat, redaction: Redaction) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._json = form == "json"
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line, or lines where text has a traceback."""
        if not self._json:
            return self._redaction.text(super().format(record))
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redaction.text(record.getMessage()),
        }
        if record.exc_info:
            fields["error"] = self._redaction.text(self.formatException(record.exc_info))
        return json.dumps(fields)
