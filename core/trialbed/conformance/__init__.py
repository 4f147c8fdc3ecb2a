"""The old address of ``trialbed_adapter_kit``."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

warnings.warn("trialbed.conformance has moved: import trialbed_adapter_kit instead", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    return getattr(import_module("trialbed_adapter_kit"), name)
