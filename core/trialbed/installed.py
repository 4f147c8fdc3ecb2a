"""Lists what is installed in this interpreter."""

from __future__ import annotations

from importlib.metadata import distributions


def installed_packages() -> tuple[str, ...]:
    """``name==version`` of every distribution in this interpreter, sorted."""
    return tuple(sorted({f"{item.name.lower()}=={item.version}" for item in distributions() if item.name}))
