"""A recorded model as it answers one trial."""

from __future__ import annotations

from collections import Counter

from trialbed.contracts import ModelQuestion, ModelReply, ReplyMissing, ServedAnswer, TrialModel
from trialbed.records import TrialRegistration
from trialbed.wire import read_served
from trialbed.wire.dialects import CHAT
from trialbed_plugins.recordings._cassette import Cassette
from trialbed_plugins.recordings._difference import first_difference, nearest
from trialbed_plugins.recordings._key import canonical, canonical_text


class ReplayedModel(TrialModel):
    """Answers a trial's requests as they were answered when they were recorded.

    Args:
        ask: whether the endpoint is asked where nothing was recorded.
    """

    def __init__(self, cassette: Cassette, registration: TrialRegistration, *, ask: bool) -> None:
        self.asks = cassette.model
        self._cassette = cassette
        self._ask = ask
        self._seed = registration.seed
        self._names = frozenset({registration.model_name or "", registration.model, cassette.told, cassette.model})
        self._answered: Counter[str] = Counter()

    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Answer as recorded.

        Raises:
            ReplyMissing: this was not asked when the model was recorded; says how it differs.
        """
        request = canonical(question.request.whole, self._names)
        text = canonical_text(request)
        found = self._cassette.find(text, seed=self._seed, occurrence=self._answered[text])
        if found is not None and (found.dialect or CHAT) == question.dialect.NAME:
            self._answered[text] += 1
            body = found.body.encode("utf-8", "surrogatepass")
            return reply_of(ServedAnswer(body, found.stream, found.duration), question)
        if self._ask:
            return None
        raise ReplyMissing(f"request {question.place + 1} {self._why(request, self._answered[text])}")

    def _why(self, request: dict[str, object], times: int) -> str:
        known = self._cassette.of_seed(self._seed)
        if not known:
            return "is of a query, repeat or seed that was not recorded"
        if times:
            return f"was recorded {times} times, and is asked once more"
        candidate = nearest(request, (reply.request for reply in known))
        difference = first_difference(candidate or {}, request)
        return f"is not the recorded one: {difference.text}" if difference else "was answered in another dialect"


def reply_of(found: ServedAnswer, question: ModelQuestion) -> ModelReply:
    """The recorded bytes where they were asked for in this way, else the same answer, whole or in pieces."""
    if found.stream == question.request.stream:
        return ModelReply(body=found.body, recorded=found.duration)
    reading = read_served(question.dialect.NAME, found.body, question.request, stream=found.stream)
    return ModelReply(answer=reading.answer, recorded=found.duration)
