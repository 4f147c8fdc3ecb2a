"""The old address of ``trialbed_adapter_lab.testing``; it goes with the next release."""

from __future__ import annotations

import warnings
from typing import Any

from trialbed._moved import moved_module

NEW = "trialbed_adapter_lab.testing"

warnings.warn(f"{__name__} has moved: import {NEW} instead", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    return getattr(moved_module(__name__, NEW), name)
