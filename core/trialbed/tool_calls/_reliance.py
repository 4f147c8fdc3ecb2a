"""Calls that no answer of the model asked for, and on which an answer rests."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trialbed.evidence import evidence_values
from trialbed.records import ApiCall, Query, WireLog
from trialbed.tool_calls._asked import AskedCall
from trialbed.tool_calls._telling import last_turn, said
from trialbed.tool_calls._uses import Uses


def relied_on(
    query: Query, answer: str, wire: WireLog, unasked: Collection[ApiCall], asked: Sequence[AskedCall]
) -> tuple[ApiCall, ...]:
    """Return those of the calls that no answer of the model asked for that the answer rests on.

    It rests on none that was refused, that returned after the model had written the answer, or of whose result nothing
    is in the answer or in a later call that the results of other calls do not say too. Where a result has no values to
    look for, it may have been used, and counts.

    Args:
        unasked: the calls that no answer of the model asked for.
        asked: the other calls of the trial.
    """
    accepted = [call for call in unasked if call.status == 200 and not call.error]
    if not accepted:
        return ()
    written = _time_of_answer(answer, wire)
    known = [" ".join(evidence_values(call.response)) for call in asked if call.accepted]
    uses, new = Uses(query, answer, asked), Uses(query, answer, asked, known)
    return tuple(
        call
        for call in accepted
        if (written is None or call.started + call.duration <= written) and _is_used(_as_asked(call), uses, new)
    )


def _is_used(call: AskedCall, uses: Uses, new: Uses) -> bool:
    used = uses.of(call)
    return used is None or (used and bool(new.of(call)))


def _as_asked(call: ApiCall) -> AskedCall:
    return AskedCall(call.api.title, call.api, call.arguments, call.started, True, "", call.response)


def _time_of_answer(answer: str, wire: WireLog) -> float | None:
    """Return the time at which the model had written the whole answer, in seconds; None if it is not its last text."""
    last, words = last_turn(wire), " ".join(answer.split())
    if last is None or not words:
        return None
    return last.started + last.duration if any(words in text for text in said(last)) else None
