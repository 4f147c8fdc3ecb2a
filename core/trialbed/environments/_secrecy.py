"""Keeping credentials out of locks and of what uv says."""

from __future__ import annotations

import re

from trialbed.secrets import REDACTED, redact

_TOKEN = re.compile(r"(https?://)[^/\s@]+@", re.IGNORECASE)
_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]*://)[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


def without_credentials(line: str) -> str:
    """A requirement without the user and password of its URL: uv takes those from its settings or ``.netrc``."""
    return _PASSWORD.sub(r"\1", _TOKEN.sub(r"\1", line))


def redacted(text: str) -> str:
    """A text of uv without this process's secrets and without credentials in URLs."""
    return _PASSWORD.sub(rf"\1{REDACTED}@", _TOKEN.sub(rf"\1{REDACTED}@", redact(text)))
