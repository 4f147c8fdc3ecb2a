"""Values that look like an Api's, made from a digest: the same call gives the same values, another call others."""

from __future__ import annotations

import hashlib
import re

_LETTERS = "bcdfghjkmnpqrstvwxz"
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")


class Values:
    """Makes values for one call.

    Args:
        seed: names the call: the Api and its canonical arguments.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def text(self, label: str) -> str:
        """A word from the label with a code of six consonants, which no query contains by chance."""
        number, code = self._number(), []
        for _ in range(6):
            number, index = divmod(number, len(_LETTERS))
            code.append(_LETTERS[index])
        return f"{_NOT_WORD.sub(' ', label).strip().lower()[:40] or 'value'} {''.join(code)}"

    def integer(self) -> int:
        """A number of five digits."""
        return 10_000 + self._number() % 90_000

    def decimal(self) -> float:
        """A number of four digits with two decimals, neither of them 0."""
        return float(f"{1000 + self._number() % 9000}.{11 + self._number() % 9}")

    def boolean(self) -> bool:
        """True or false."""
        return self._number() % 2 == 0

    def _number(self) -> int:
        self._count += 1
        return int.from_bytes(hashlib.sha256(f"{self._seed}#{self._count}".encode()).digest()[:8])
