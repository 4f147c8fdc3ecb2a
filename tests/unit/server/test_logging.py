"""The lines of the log."""

from __future__ import annotations

import json
import logging
from typing import Any

from trialbed.wire.redaction import redaction_of
from trialbed_server._logging import LogFormatter

TOKEN = "a-token-of-32-characters-for-this-test"


def logged(form: Any, error: Exception | None = None) -> str:
    information = (type(error), error, None) if error else None
    record = logging.LogRecord("trialbed_server.x", logging.WARNING, "f", 1, "key %s", (TOKEN,), information)
    return LogFormatter(form, redaction_of((TOKEN,))).format(record)


def test_the_log_has_no_secrets_in_either_form() -> None:
    assert logged("text").startswith("WARNING trialbed_server.x: key ")
    line = logged("json", ValueError(f"with {TOKEN}"))
    fields = json.loads(line)
    assert (fields["level"], fields["logger"]) == ("warning", "trialbed_server.x")
    assert set(fields) == {"time", "level", "logger", "message", "error"}
    assert TOKEN not in logged("text") + line
