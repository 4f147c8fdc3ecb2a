"""A recorded model in one trial."""

from __future__ import annotations

import asyncio
from collections import Counter

from trialbed.contracts import ModelQuestion, ModelReply, ReplyMissing, ServedAnswer, TrialModel
from trialbed.records import TrialRegistration
from trialbed.wire import read_served
from trialbed.wire.dialects import CHAT
from trialbed_plugins.recordings._cassette import Cassette
from trialbed_plugins.recordings._difference import differences, nearest
from trialbed_plugins.recordings._key import canonical, canonical_text
from trialbed_plugins.recordings._mask import WORDS, apply_masks, find_masks

MOST = 100
"""Recorded requests to check for differences that masks could ignore."""


class ReplayedModel(TrialModel):
    """Answers a trial's requests with recorded answers.

    Args:
        ask: asks the endpoint if there is no recorded answer.
    """

    def __init__(self, cassette: Cassette, registration: TrialRegistration, *, ask: bool) -> None:
        self.asks = cassette.model
        self._cassette = cassette
        self._ask = ask
        self._seed = registration.seed
        self._names = frozenset({registration.model_name or "", registration.model, cassette.told, cassette.model})
        self._answered: Counter[str] = Counter()

    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Return the recorded answer.

        Raises:
            ReplyMissing: the request was not recorded; the message shows the difference.
        """
        request = canonical(question.request.whole, self._names)
        if self._cassette.ignored:
            request = await asyncio.to_thread(apply_masks, request, self._cassette.ignored)
        text = canonical_text(request)
        found = self._cassette.find(text, seed=self._seed, occurrence=self._answered[text])
        if found is not None and (found.dialect or CHAT) == question.dialect.NAME:
            self._answered[text] += 1
            body = found.body.encode("utf-8", "surrogatepass")
            return reply_of(ServedAnswer(body, found.stream, found.duration), question)
        if self._ask:
            return None
        why = await asyncio.to_thread(self._why, request, self._answered[text])
        raise ReplyMissing(f"request {question.place + 1} {why}")

    def _why(self, request: dict[str, object], times: int) -> str:
        known = self._cassette.of_seed(self._seed)
        if not known:
            return "is of a task, repeat or seed that was not recorded"
        if times:
            return f"was recorded {times} times, and is asked once more"
        requests = [reply.request for reply in known]
        ignoring = ((one, find_masks(one, request)) for one in requests[:MOST])
        candidate, ignored = next((pair for pair in ignoring if pair[1] and {*pair[1]} <= {*WORDS}), (None, ()))
        difference = next(differences(candidate or nearest(request, requests) or {}, request), None)
        if difference is None:
            return "was answered in another dialect"
        remedy = f" (bench record with --ignore {' --ignore '.join(ignored)} makes a recording that has it)"
        return f"is not the recorded one: {difference.text}{remedy if ignored else ''}"


def reply_of(found: ServedAnswer, question: ModelQuestion) -> ModelReply:
    """Return the recorded bytes if the request wants the same form, or else the same answer, whole or streamed."""
    if found.stream == question.request.stream:
        return ModelReply(body=found.body, recorded=found.duration)
    reading = read_served(question.dialect.NAME, found.body, question.request, stream=found.stream)
    return ModelReply(answer=reading.answer, recorded=found.duration)
