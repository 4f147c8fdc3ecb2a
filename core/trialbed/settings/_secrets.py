"""Recognises settings that are secret.

A variable is secret if its name looks like a key, token, password or credential, or if its value is a URL
that carries a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

MIN_SECRET = 8
"""Shorter values are not redacted: they occur in ordinary text by chance."""

REDACTED = "[redacted]"

_NAME = re.compile(
    r"(?:^|_)(?:[A-Z0-9]*KEYS?(?:_ID)?|[A-Z0-9]*TOKENS?|[A-Z0-9]*SECRETS?|[A-Z0-9]*PASS(?:WORD|WD|PHRASE)?"
    r"|[A-Z0-9]*CRED(?:ENTIAL)?S?|AUTH|COOKIES?|PAT|DSN)[0-9]*(?:_|$)|[A-Z0-9]_PWD[0-9]*(?:_|$)"
)
_URL_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_secret(name: str, value: str = "") -> bool:
    """Return whether an environment variable of this name (and value) is to be treated as a secret."""
    return _NAME.search(name.upper()) is not None or _URL_WITH_PASSWORD.match(value) is not None


def secret_values(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values to redact, longest first, so that a secret that contains another is redacted whole.

    Args:
        environment: default: this process's own.
    """
    variables = os.environ if environment is None else environment
    found = {value for name, value in variables.items() if len(value) >= MIN_SECRET and is_secret(name, value)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))
