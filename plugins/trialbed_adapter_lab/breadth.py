"""How broad a check is: the number of deliberate defects that it fails for."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

UNKNOWN = 1000
"""The breadth of a check that no defect was tried on."""


def breadth(check: str) -> int:
    """Return the number of deliberate defects for which a check failed when they were last all tried."""
    return _counts().get(check, UNKNOWN)


@cache
def _counts() -> dict[str, int]:
    counts: dict[str, int] = json.loads(files("trialbed_adapter_lab").joinpath("breadth.json").read_bytes())
    return counts
