"""How the trials of a run that goes on have ended so far, and which of them are due."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from trialbed.preparation._options import RunOptions
from trialbed.preparation._trials import DueTrials, count_trials, trial_key, trial_number
from trialbed.records import RunConfig, TrialStatus
from trialbed.store import AttemptSummary, counted_attempts


class _End(NamedTuple):
    """How the first attempt of a trial ended: very many trials share few of these."""

    status: TrialStatus
    attempt: int
    digest: str


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
        self._ends: dict[_End | None, int] = {None: 0}
        self._first: array[int] | None = None  # the number of each trial's end
        self._further: dict[int, list[AttemptSummary]] = {}
        self.measured: set[str] = set()
        self.current: set[str] = set()
        for attempt in attempts:
            self._note_code(attempt)
            number = trial_number(config, attempt.key)
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
            self._first = array("I", [0]) * count_trials(self._config)
        if self._first[number]:
            self._further.setdefault(number, []).append(attempt)
            return
        end = _End(attempt.status, attempt.attempt, attempt.adapter_digest)
        self._first[number] = self._ends.setdefault(end, len(self._ends))

    def due(self, options: RunOptions) -> DueTrials:
        """Return the trials that are due, in the order in which they run, each with the number of its next attempt.

        Those are due that were never measured. With ``retry_failed`` also those that failed, unless one was answered
        by today's code of its adapter: a further answer would change nothing.
        """
        count = count_trials(self._config)
        if self._first is None:
            return DueTrials(self._config, range(count), {})
        ends, numbers, following = list(self._ends), array("I"), {}
        for number, place in enumerate(self._first):
            end = ends[place]
            if end is None:
                numbers.append(number)
            elif (end.status != "answered" or number in self._further) and self._is_due_again(number, end, options):
                numbers.append(number)
                later = (attempt.attempt for attempt in self._further.get(number, ()))
                following[number] = max([end.attempt, *later]) + 1
        return DueTrials(self._config, numbers, following)

    def _is_due_again(self, number: int, end: _End, options: RunOptions) -> bool:
        first = AttemptSummary(trial_key(self._config, number), end.attempt, end.status, end.digest)
        own = [first, *self._further.get(number, ())]
        if all(attempt.status == "not measured" for attempt in own):
            return True
        if not options.retry_failed:
            return False
        digest = self._config.adapter_digests.get(own[0].key.framework, "")
        answered = any(attempt.status == "answered" and attempt.adapter_digest == digest for attempt in own)
        return counted_attempts(own)[0].status == "failed" and not answered
