"""The contract of a reporter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TextIO


class Reporter(ABC):
    """Shows what was measured; a driver of the group ``trialbed.reporters`` is a subclass that takes no arguments.

    Class attributes:
        shows: the kind of its documents: ``run``, or another command's name. ``bench run --format NAME`` takes those
            of ``run``.

    Attributes:
        explained: whether readers asked for the meaning of each figure, with ``--legend``; set before ``report`` is
            called.
    """

    shows: ClassVar[str] = "run"
    explained: bool = False

    @abstractmethod
    def report(self, report: Any, stream: TextIO) -> None:
        """Write what was measured, for people.

        Args:
            report: the ``trialbed.Report`` of a run; of another command, what that command gives.
        """
