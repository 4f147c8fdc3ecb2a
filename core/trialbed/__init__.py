"""Trialbed measures how well agent frameworks and model vendors use tools.

The public names are loaded when they are first used, which keeps ``import trialbed`` light.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("trialbed")
    return _load(name)
