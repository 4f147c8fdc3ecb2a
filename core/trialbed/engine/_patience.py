"""When to stop a run that cannot measure anything."""

from __future__ import annotations

from trialbed.errors import NothingMeasured
from trialbed.records import TrialResult

INFRASTRUCTURE = ("model", "server")
"""Failures of these kinds say nothing about a framework."""

PATIENCE = 8
"""How many of a sitting's first trials may all end so."""


class Patience:
    """Gives a sitting up when its trials fail for want of a model or server.

    Until one trial says something about a framework, failures are held back: committed, they would never be
    tried again, though it is the endpoint that has to be mended.
    """

    def __init__(self) -> None:
        self._held: list[TrialResult] = []
        self._hopeful = False

    def admit(self, result: TrialResult) -> tuple[TrialResult, ...]:
        """The results to commit now that this one has come: none, or it and those held back.

        Raises:
            NothingMeasured: every trial so far failed so, and there were enough.
        """
        self._held.append(result)
        if self._hopeful or not _is_infrastructure(result):
            self._hopeful = True
            admitted, self._held = tuple(self._held), []
            return admitted
        if len(self._held) >= PATIENCE:
            self.end()
        return ()

    def end(self) -> None:
        """No more results come.

        Raises:
            NothingMeasured: every one of them failed so.
        """
        if not self._held:
            return
        failure = self._held[-1].outcome.failure
        assert failure is not None  # noqa: S101 - only failures are held back
        raise NothingMeasured(
            f"none of the first {len(self._held)} trials could reach its {failure.kind}: {failure.message}"
        )


def _is_infrastructure(result: TrialResult) -> bool:
    failure = result.outcome.failure
    return failure is not None and failure.kind in INFRASTRUCTURE
