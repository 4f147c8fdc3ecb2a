"""Names of models, judges and files as others may read them."""

from __future__ import annotations

import re

from trialbed.wire.addresses import split_address

FILE = re.compile(r"([a-z]+:)?(~|\.{0,2}|[A-Za-z]:)[/\\].*?([^/\\]+)", re.DOTALL)
"""A file that is not below the current folder, maybe after the scheme of a model."""


def public_name(value: str) -> str:
    """Return a name without its address, which may have a key, and that of a file without its folders.

    Those may name a person. An ellipsis stands for them, so that nothing takes the rest for a name of its own.
    """
    name = split_address(value)[0]
    found = FILE.fullmatch(name)
    return f"{found[1] or ''}…/{found[3]}" if found else name
