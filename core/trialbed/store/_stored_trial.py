"""A trial in a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from trialbed.records import (
    Answer,
    Failure,
    IntegrityFinding,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    TrialStatus,
    WireLog,
)

ReadWire = Callable[[int, WireLog], WireLog]
"""Reads the bodies of a trial's wire log: the row of the trial, the log without them."""


@dataclass(frozen=True)
class StoredTrial:
    """A trial in a store; its wire log is read when it is first asked for.

    Attributes:
        run_id: the run that it belongs to.
    """

    run_id: str
    _read_wire: ReadWire = field(repr=False, compare=False)
    _row: int = field(repr=False)
    _record: TrialResult = field(repr=False)

    @property
    def key(self) -> TrialKey:
        """Framework, query and repeat."""
        return self._record.key

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 0."""
        return self._record.attempt

    @property
    def status(self) -> TrialStatus:
        """``answered``, ``failed`` (every quality score is 0) or ``not measured`` (there is no score)."""
        return self._record.status

    @property
    def adapter_digest(self) -> str:
        """The digest of the adapter's code and environment; empty where there is no adapter."""
        return self._record.adapter_digest

    @property
    def token(self) -> str:
        """The trial's token, as it stood in the URLs of its requests."""
        return self._record.trial

    @property
    def seed(self) -> int:
        """The seed that was sent with every model request."""
        return self._record.seed

    @property
    def started_at(self) -> datetime:
        """The time at which the agent began."""
        return self._record.outcome.started_at

    @property
    def answer(self) -> Answer | None:
        """The answer with the calls, tokens and turns that the agent claims; None if it gave none.

        It stands beside a failure if the server saw more than the agent says, such as requests past the limit.
        """
        return self._record.outcome.answer

    @property
    def failure(self) -> Failure | None:
        """The reason why there is no answer that counts; None if there is one."""
        return self._record.outcome.failure

    @property
    def failed(self) -> bool:
        """Return whether the trial ended in an error."""
        return self._record.failed

    @property
    def first(self) -> bool:
        """Whether it was the first trial of its worker, whose start-up is in its times."""
        return self._record.first

    @property
    def pair(self) -> tuple[int | str, int]:
        """The query and the repeat."""
        return self._record.pair

    @property
    def integrity(self) -> tuple[IntegrityFinding, ...] | None:
        """The findings on whether the scores are the framework's and the model's; None where nobody looked for any."""
        return self._record.integrity

    @property
    def timing(self) -> Timing:
        """Wall time and its parts, in seconds."""
        return self._record.timing

    @property
    def selected_tools(self) -> tuple[str, ...]:
        """The names of the tools on offer; ``StoredRun.tools`` has their schemas."""
        return self._record.selected_tools

    @property
    def topped_up_tools(self) -> tuple[str, ...]:
        """Those of ``selected_tools`` that fill up a choice of the selector's model, which was too short."""
        return self._record.topped_up_tools

    @property
    def scores(self) -> tuple[Score, ...]:
        """Every score, with its evidence in ``detail`` (a judge's reason and votes) or why it has no value.

        Only trials that were answered have any; a failed one counts as 0 in means of scores of quality.
        """
        return self._record.scores

    def score(self, name: str) -> Score | None:
        """The score of this name, None where there is none."""
        return self._record.score(name)

    @cached_property
    def wire(self) -> WireLog:
        """The server's log: model requests with their responses, and calls of Apis, in order.

        Raises:
            DataError: the store is closed, or a body is damaged.
        """
        return self._read_wire(self._row, self._record.wire)

    @cached_property
    def result(self) -> TrialResult:
        """All of it as one record, the wire log included."""
        return self._record.model_copy(update={"wire": self.wire})
