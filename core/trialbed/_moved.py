"""Old addresses of modules that have moved to a package of their own."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def moved_module(old: str, new: str) -> ModuleType:
    """Import a module at its new address.

    Args:
        old: the address that was asked for, for the message.

    Raises:
        ImportError: its package is not installed.
    """
    package = new.partition(".")[0]
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(
            f"{old} has moved to the package {package}, which comes with trialbed but is not installed here; "
            f"run: pip install --force-reinstall trialbed",
            name=package,
        ) from error
    return import_module(new)
