"""A model whose answers are kept in the model cache, as it answers one trial."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from trialbed.contracts import ModelQuestion, ModelReply, ServedAnswer, TrialModel
from trialbed.records import TrialRegistration, WireLog
from trialbed_plugins.recordings._cache import KeptAnswer, ModelCache
from trialbed_plugins.recordings._key import CUT, canonical, canonical_text, request_key
from trialbed_plugins.recordings._replayed import reply_of


class _Asked(NamedTuple):
    """A request that is being answered.

    Attributes:
        begun: whether the model answers it now, for this trial and for those that wait.
    """

    key: str
    text: str
    occurrence: int
    begun: bool


class CachedModel(TrialModel):
    """Answers earlier requests from the cache, and keeps the answers of the model to others.

    A request that fails is as if it had not been sent: the next equal one takes its place.

    Args:
        inner: the model where it answers in the gateway; None where an endpoint does.
    """

    def __init__(self, cache: ModelCache, registration: TrialRegistration, inner: TrialModel | None) -> None:
        self.asks = registration.model if inner is None else inner.asks
        self._cache = cache
        self._inner = inner
        self._identity, self._seed = registration.cached_as, registration.seed
        self._names = frozenset({registration.model_name or "", registration.model, self.asks})
        self._taken: dict[str, set[int]] = defaultdict(set)
        self._asking: dict[int, _Asked] = {}
        self._keys: dict[int, str] = {}

    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Answer from the cache; else the model does, once for all equal requests that are under way."""
        text = canonical_text(canonical(question.request.whole, self._names))
        taken = self._taken[text]
        occurrence = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(occurrence)
        key = request_key(text, identity=self._identity, seed=self._seed, occurrence=occurrence)
        try:
            found = await self._cache.find_or_begin(key, question.held)
        except BaseException:  # the framework has left
            taken.discard(occurrence)
            raise
        self._asking[question.place] = _Asked(key, text, occurrence, begun=found is None)
        if found is not None and found.dialect == question.dialect.NAME:
            self._keys[question.place] = key
            return reply_of(found.answer, question)
        return None if self._inner is None else await self._inner.answer(question)

    def note_answer(self, question: ModelQuestion, answer: ServedAnswer | None) -> None:
        """Keep an answer that was not there; a request that was not answered whole may be sent again."""
        if self._inner is not None:
            self._inner.note_answer(question, answer)
        asked = self._asking.pop(question.place, None)
        if asked is None:
            return
        if answer is None:
            self._taken[asked.text].discard(asked.occurrence)
        if not asked.begun:
            return
        if answer is None:
            self._cache.end(asked.key)
        else:
            self._keys[question.place] = asked.key
            self._cache.keep_and_end(asked.key, KeptAnswer(asked.text, answer, question.dialect.NAME))

    def complete(self, log: WireLog) -> WireLog:
        """Say under which keys the cache has the bodies of which the log has a part only."""
        log = log if self._inner is None else self._inner.complete(log)
        cut = {
            place: self._keys[place]
            for place, call in enumerate(log.model_calls)
            if place in self._keys and (call.request.endswith(CUT) or call.response.endswith(CUT))
        }
        if not cut:
            return log
        calls = (
            call.model_copy(update={"cache_key": cut.get(place, "")}) for place, call in enumerate(log.model_calls)
        )
        return log.model_copy(update={"model_calls": tuple(calls)})
