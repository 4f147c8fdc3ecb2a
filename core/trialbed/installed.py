"""Lists what is installed in this interpreter."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distributions

_HEADER = re.compile(r"^(Name|Version):[ \t]*(\S+)[ \t]*$", re.MULTILINE)


def installed_packages() -> tuple[str, ...]:
    """``name==version`` of every distribution in this interpreter, sorted."""
    named = (_named(item) for item in distributions())
    return tuple(sorted({f"{name.lower()}=={version}" for name, version in named if name}))


def _named(distribution: Distribution) -> tuple[str, str]:
    """The name and the version; both are empty where the metadata have none."""
    # Each worker lists them. A parser of mail, which is what `distribution.name` uses, takes ten times as long.
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or distribution.read_text("")
    found = dict(reversed(_HEADER.findall((text or "").partition("\n\n")[0])))
    return found.get("Name", ""), found.get("Version", "")
