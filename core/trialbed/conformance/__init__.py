"""The old address of ``trialbed_adapter_lab``, with the old names; the next release removes it."""

from __future__ import annotations

import warnings
from typing import Any

from trialbed import _moved

warnings.warn(f"{__name__} has moved: import trialbed_adapter_lab instead", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    names = _moved.moved_module(__name__, "trialbed_adapter_lab.deprecated")
    if new := names.RENAMED.get(name):
        warnings.warn(f"{__name__}.{name} is now trialbed_adapter_lab.{new}", DeprecationWarning, stacklevel=2)
    return getattr(names, name)
