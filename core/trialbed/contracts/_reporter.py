"""The contract of a reporter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TextIO


class Reporter(ABC):
    """Shows the results of runs; a driver of the group ``trialbed.reporters`` is a subclass that takes no arguments.

    Attributes:
        explained: whether readers asked for the meaning of each figure, with ``--legend``; set before ``report`` is
            called.
        brief: whether a screen of the most important figures is enough, as for ``bench show``; set likewise.
    """

    explained: bool = False
    brief: bool = False

    @abstractmethod
    def report(self, report: Any, stream: TextIO) -> None:
        """Write the results, for people.

        Args:
            report: the ``trialbed.Report`` of a run.
        """
