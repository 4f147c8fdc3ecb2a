"""Making values fit for a JSON file that people share."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from trialbed.secrets import redact


def clean(value: Any, secrets: Collection[str]) -> Any:
    """The value in JSON's own types: tuples as lists, NaN and infinities as null, secrets redacted."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, secrets) for item in value]
    return value
