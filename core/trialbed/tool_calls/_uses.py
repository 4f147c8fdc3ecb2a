"""The use that an agent makes of results of calls, and of the model's words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from operator import itemgetter

from trialbed.evidence import Passages, every_value, evidence_values, short_values
from trialbed.identity import once_for
from trialbed.records import ApiCall, Json, ModelCall, Query, WireLog
from trialbed.texts import json_leaves
from trialbed.tool_calls._asked import AskedCall
from trialbed.wire import ModelRequest, recorded_answer, recorded_request
from trialbed.wire_log import failed

MAX_VALUES = 1000
"""Values of a response that are looked for; the first ones."""


class Uses:
    """Places that may use the results of a trial's calls, in the answer and in the arguments of later calls.

    A call is later if the model asked for it after another call was made. Calls of the same answer of the model were
    asked for without each other's results.

    Args:
        query: values in it do not count.
        answer: the trial's.
        calls: the trial's.
        known: other texts whose values do not count.
    """

    def __init__(self, query: Query, answer: str, calls: Iterable[AskedCall], known: Iterable[str] = ()) -> None:
        # If it is not known when a call was asked for, by the time when it was made.
        timed = [(call.started if call.asked is None else call.asked, call.arguments) for call in calls]
        timed.sort(key=itemgetter(0))
        self._times = [time for time, _ in timed]
        self._arguments = [arguments for _, arguments in timed]
        self._asked = Passages(" ".join(evidence_values(arguments)) for arguments in self._arguments)
        self._answer = Passages([answer])
        self._query = Passages([query.text, *known])

    def of(self, call: AskedCall) -> bool | None:
        """Return whether something of a call's response is in the answer, or in the arguments of a later call.

        Values in the query or in the call's own arguments do not count.

        Returns:
            None if the response has no values to look for.
        """
        return self._look_for(evidence_values(call.response), evidence_values(call.arguments), self._asked, call)

    def _look_for(self, values: Iterable[str], own: Iterable[str], asked: Passages, call: AskedCall) -> bool | None:
        """Return whether any of a response's values was used.

        Args:
            own: values of the call's own arguments; ``asked``: has the values of all calls' arguments.
        """
        made, later = Passages([" ".join(own)]), bisect_right(self._times, call.started)
        found: bool | None = None
        for value in islice(values, MAX_VALUES):
            if not (self._query.mention(value) or made.mention(value)):
                if self._answer.mention(value) or asked.mention(value, later):
                    return True
                found = False
        return found

    @once_for(16)
    def shows(self, call: AskedCall) -> bool | None:
        """Return the same as ``of``, and None too if the answer or a later call has a short value of the response.

        Such a value, like the shelf ``A3`` or a count of 2, may occur by chance and shows neither use nor disuse.
        """
        used = self.of(call)
        if used is not False:
            return used
        short, own = short_values(call.response), every_value(call.arguments)
        return None if self._look_for(short, own, self._every_argument, call) else False

    @cached_property
    def _every_argument(self) -> Passages:
        return Passages(" ".join(every_value(arguments)) for arguments in self._arguments)


uses_of = once_for(8)(Uses)
"""The uses of a trial, cached for its scores and its attribution."""


@once_for(8)
def last_turn(wire: WireLog) -> ModelCall | None:
    """Return the request that the model answered last; None if it answered none."""
    turns = (turn for turn in wire.model_calls if not failed(turn))
    return max(turns, key=lambda turn: turn.started + turn.duration, default=None)


def said(turn: ModelCall) -> Iterator[str]:
    """Yield the model's words, which are its text and the arguments of its calls, such as the text of ``Finish``."""
    answer = recorded_answer(turn).answer
    if answer.text:
        yield " ".join(answer.text.split())
    for call in turn.tool_calls:
        yield " ".join(call.arguments.split())


def replaced(answer: str, wire: WireLog) -> bool:
    """Return whether an answer differs from the model's last text and is not a part of it."""
    last, words = last_turn(wire), " ".join(answer.split())
    if last is None or last.tool_calls:
        return False
    texts = [text for text in said(last) if text]
    return bool(texts) and not any(words and words in text for text in texts)


def holds_last_text(answer: str, wire: WireLog) -> bool:
    """Return whether an answer contains the model's last text, for example in the output of a program."""
    last, words = last_turn(wire), " ".join(answer.split())
    return last is not None and not last.tool_calls and any(text and text in words for text in said(last))


def was_told(wire: WireLog, arguments: Json, response: Json, started: float) -> bool | None:
    """Return whether a request that was sent after a call has something of the call's response.

    Values in the call's arguments or in the requests before it do not count.

    Returns:
        None if this is unknown, because the response has no values to look for, there is no later request, or a request
        was not kept whole.
    """
    requests = [(turn.started > started, recorded_request(turn)) for turn in wire.model_calls]
    if not any(later for later, _ in requests) or any(request is None for _, request in requests):
        return None
    known = {text for later, request in requests if not later for text in _texts(request)}
    before, after = Passages([*known, " ".join(evidence_values(arguments))]), None
    for value in islice(evidence_values(response), MAX_VALUES):
        if not before.mention(value):
            # A conversation is sent again with each request; only its new messages are read.
            after = after or Passages(
                {text for later, request in requests if later for text in _texts(request)} - known
            )
            if after.mention(value):
                return True
    return None if after is None else False


def _texts(request: ModelRequest | None) -> Iterator[str]:
    """Yield every text in the messages of a request; if a text is JSON, its values too."""
    for text in json_leaves([message.source for message in request.messages] if request is not None else []):
        if isinstance(text, str):
            yield text
            if text.lstrip()[:1] in ("{", "["):
                yield " ".join(evidence_values(text))


def relied_on(
    query: Query, answer: str, wire: WireLog, unasked: Collection[ApiCall], asked: Sequence[AskedCall]
) -> tuple[ApiCall, ...]:
    """Return the calls without a request by the model that the answer relies on.

    The answer does not rely on a call that was refused, or that returned after the model had written the answer. Its
    result must be in the answer or in a later call, and not also in the results of other calls. A call counts if its
    result has no values to look for, because it may have been used.

    Args:
        unasked: the calls that no answer of the model asked for.
        asked: the other calls of the trial.
    """
    accepted = [call for call in unasked if call.status == 200 and not call.error]
    if not accepted:
        return ()
    last, words = last_turn(wire), " ".join(answer.split())
    # When the model had written the whole answer; not known if that is not its last text.
    is_last = last is not None and bool(words) and any(words in text for text in said(last))
    written = last.started + last.duration if last is not None and is_last else None
    known = [" ".join(evidence_values(call.response)) for call in asked if call.accepted]
    uses, new = Uses(query, answer, asked), Uses(query, answer, asked, known)
    found = []
    for call in accepted:
        if written is None or call.started + call.duration <= written:
            made = AskedCall(call.api.title, call.api, call.arguments, call.started, True, "", call.response)
            used = uses.of(made)
            if used is None or (used and new.of(made)):
                found.append(call)
    return tuple(found)
