"""How the trials of a run that goes on have ended so far, and which of them are due."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from trialbed.preparation._options import RunOptions
from trialbed.preparation._trials import DueTrials, count_trials, trial_key, trial_number
from trialbed.records import RunConfig, TrialStatus
from trialbed.store import AttemptSummary, counted_attempts

STATUSES: tuple[TrialStatus | None, ...] = (None, "answered", "failed", "not measured")
"""The end of the first attempt of a trial, by its number; None where there is none."""

ANSWERED = STATUSES.index("answered")


class TrialEnds:
    """The ends of the attempts of a run: some bytes for each trial, and an object for each further attempt.

    Args:
        attempts: in the order in which they were added; each is let go.

    Attributes:
        measured: the frameworks of which trials were measured.
        current: those of which trials were measured with the code that their adapters have now.
    """

    def __init__(self, config: RunConfig, attempts: Iterable[AttemptSummary]) -> None:
        self._config = config
        self._digests: dict[str, int] = {}
        self._first: tuple[bytearray, array[int], array[int]] | None = None  # status, number of attempt, digest
        self._further: dict[int, list[AttemptSummary]] = {}
        self.measured: set[str] = set()
        self.current: set[str] = set()
        queries = {query_id: place for place, query_id in enumerate(config.query_ids)}
        for attempt in attempts:
            self._note_code(attempt)
            number = trial_number(config, attempt.key, queries)
            if number is not None:
                self._add(number, attempt)

    def _note_code(self, attempt: AttemptSummary) -> None:
        if attempt.status != "not measured":
            framework = attempt.key.framework
            self.measured.add(framework)
            if attempt.adapter_digest == self._config.adapter_digests.get(framework, ""):
                self.current.add(framework)

    def _add(self, number: int, attempt: AttemptSummary) -> None:
        if self._first is None:
            count = count_trials(self._config)
            self._first = bytearray(count), array("i", [0]) * count, array("i", [0]) * count
        statuses, attempts, digests = self._first
        if statuses[number]:
            self._further.setdefault(number, []).append(attempt)
            return
        statuses[number] = STATUSES.index(attempt.status)
        attempts[number] = attempt.attempt
        digests[number] = self._digests.setdefault(attempt.adapter_digest, len(self._digests))

    def due(self, options: RunOptions) -> DueTrials:
        """Return the trials that are due, in the order in which they run, each with the number of its next attempt.

        Those are due that were never measured. With ``retry_failed`` also those that failed, unless one was answered
        by today's code of its adapter: a further answer would change nothing.
        """
        count = count_trials(self._config)
        if self._first is None:
            return DueTrials(self._config, range(count), {})
        statuses, attempts, _ = self._first
        numbers, following = array("Q"), {}
        for number in range(count):
            if not statuses[number]:
                numbers.append(number)
            elif (statuses[number] != ANSWERED or number in self._further) and self._is_due_again(number, options):
                numbers.append(number)
                later = (attempt.attempt for attempt in self._further.get(number, ()))
                following[number] = max([attempts[number], *later]) + 1
        return DueTrials(self._config, numbers, following)

    def _is_due_again(self, number: int, options: RunOptions) -> bool:
        own = self._attempts(number)
        if all(attempt.status == "not measured" for attempt in own):
            return True
        if not options.retry_failed:
            return False
        digest = self._config.adapter_digests.get(own[0].key.framework, "")
        answered = any(attempt.status == "answered" and attempt.adapter_digest == digest for attempt in own)
        return counted_attempts(own)[0].status == "failed" and not answered

    def _attempts(self, number: int) -> Sequence[AttemptSummary]:
        """The attempts of a trial that has some."""
        assert self._first is not None  # noqa: S101 - there are attempts
        statuses, attempts, digests = self._first
        key, digest, status = trial_key(self._config, number), list(self._digests)[digests[number]], statuses[number]
        first = AttemptSummary(key, attempts[number], STATUSES[status] or "not measured", digest)
        return [first, *self._further.get(number, ())]
