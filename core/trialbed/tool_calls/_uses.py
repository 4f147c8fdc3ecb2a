"""The use that was made of the results of calls."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import islice

from trialbed.evidence import Passages, every_value, evidence_values, short_values
from trialbed.records import Query
from trialbed.tool_calls._asked import AskedCall

MAX_VALUES = 1000
"""Values of a response that are looked for; the first ones."""


class Uses:
    """The places where the results of a trial's calls may have been used: the answer, and the arguments of later calls.

    Later are the calls for which the model asked after a call was made; others of the same answer of the model were
    asked for without its result.

    Args:
        query: values in it do not count.
        answer: the trial's.
        calls: those of the trial.
        known: other texts whose values do not count.
    """

    def __init__(self, query: Query, answer: str, calls: Iterable[AskedCall], known: Iterable[str] = ()) -> None:
        ordered = sorted(calls, key=_time_of_asking)
        self._arguments = [call.arguments for call in ordered]
        self._times = [_time_of_asking(call) for call in ordered]
        self._asked = Passages(" ".join(evidence_values(arguments)) for arguments in self._arguments)
        self._answer = Passages([answer])
        self._query = Passages([query.text, *known])

    def of(self, call: AskedCall) -> bool | None:
        """Return whether something of a call's response is in the answer, or in the arguments of a later call.

        Values in the query or in the call's own arguments do not count.

        Returns:
            None where the response has no values to look for.
        """
        own = Passages([" ".join(evidence_values(call.arguments))])
        later = bisect_right(self._times, call.started)
        found: bool | None = None
        for value in islice(evidence_values(call.response), MAX_VALUES):
            if not (self._query.mention(value) or own.mention(value)):
                if self._answer.mention(value) or self._asked.mention(value, later):
                    return True
                found = False
        return found

    def shows(self, call: AskedCall) -> bool | None:
        """Return the same as ``of``, and None too where the answer or a later call has a short value of the response.

        Such a value, as the shelf ``A3`` or a count of 2, may stand there by chance: it shows neither use nor disuse.
        """
        used = self.of(call)
        return None if used is False and self._has_short_value(call) else used

    def _has_short_value(self, call: AskedCall) -> bool:
        own = Passages([" ".join(every_value(call.arguments))])
        later = bisect_right(self._times, call.started)
        return any(
            (self._answer.mention(value) or self._every_argument.mention(value, later))
            and not (self._query.mention(value) or own.mention(value))
            for value in islice(short_values(call.response), MAX_VALUES)
        )

    @cached_property
    def _every_argument(self) -> Passages:
        return Passages(" ".join(every_value(arguments)) for arguments in self._arguments)


def _time_of_asking(call: AskedCall) -> float:
    """Return the time at which it was asked for; where that is not known, that at which it was made."""
    return call.started if call.asked is None else call.asked
