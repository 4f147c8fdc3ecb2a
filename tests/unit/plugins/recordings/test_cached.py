"""A model whose answers are kept, as it answers a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trialbed.contracts import ModelQuestion, ModelReply, ServedAnswer
from trialbed.records import TrialRegistration
from trialbed.wire.dialects import dialect
from trialbed_plugins.recordings import CachedModel, ModelCache

CHAT = dialect()
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Where?"}]}
SERVED = ServedAnswer(b"{}", stream=False, duration=1.0)


def question(place: int) -> ModelQuestion:
    return ModelQuestion(CHAT.read_request(REQUEST), CHAT, place)


async def test_a_kept_answer_that_was_not_delivered_whole_is_given_again(tmp_path: Path) -> None:
    async with ModelCache(tmp_path / "a.db") as cache:
        first, second = (
            CachedModel(cache, TrialRegistration(trial=f"trial-number-{name}", model="m", cached_as="m"), None)
            for name in ("one", "two")
        )
        assert await first.answer(question(0)) is None
        first.note_answer(question(0), SERVED)
        for place in range(2):
            assert await second.answer(question(place)) == ModelReply(body=SERVED.body, recorded=SERVED.duration)
            second.note_answer(question(place), None)
        assert await second.answer(question(2)) is not None
        second.note_answer(question(2), SERVED)
        assert await second.answer(question(3)) is None, "it asks once more than the first one"
