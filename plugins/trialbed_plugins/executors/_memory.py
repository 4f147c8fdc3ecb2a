"""How much memory a worker may hold."""

from __future__ import annotations

import os
import re

from trialbed.errors import SettingsError

VARIABLE = "TRIALBED_MEMORY_LIMIT"
DEFAULT = 4 << 30
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def memory_limit() -> int:
    """The limit in bytes from the environment (``512M``, ``4G``), 4 GiB by default.

    Raises:
        SettingsError: the variable is no amount of memory.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return DEFAULT
    match = re.fullmatch(r"([1-9]\d*)([KMG]?)", text.strip().upper())
    if match is None:
        raise SettingsError(f"{VARIABLE}: {text!r} is no amount of memory; write bytes, or 512M, or 4G")
    return int(match[1]) * UNITS[match[2]]
