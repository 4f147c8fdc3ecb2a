"""The contract of a reporter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TextIO


class Reporter(ABC):
    """Shows result documents; a driver of the group ``trialbed.reporters`` is a subclass that takes no arguments."""

    @abstractmethod
    def report(self, documents: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
        """Write the result documents of one run, one per framework, for people."""
