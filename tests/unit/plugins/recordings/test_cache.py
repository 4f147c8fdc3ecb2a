"""The model cache: its file, and a model whose answers are kept, as it answers a trial."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trialbed.contracts import ModelQuestion, ModelReply, ServedAnswer
from trialbed.errors import UsageError
from trialbed.records import TrialRegistration
from trialbed.wire.dialects import dialect
from trialbed_plugins.recordings import CachedModel, KeptAnswer, ModelCache

OpenCache = Callable[[], ModelCache]

CHAT = dialect()
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Where?"}]}
SERVED = ServedAnswer(b"{}", stream=False, duration=1.0)
KEPT = KeptAnswer(ServedAnswer(b"data: \xff\x00\n\n", stream=True, duration=2.5), "chat")


def test_an_answer_comes_back_as_it_was_also_to_another_process(open_cache: OpenCache) -> None:
    ours, theirs = open_cache(), open_cache()
    ours.keep("k", KEPT)
    assert theirs.find("k") == KEPT
    assert theirs.find("other") is None


def test_secrets_of_this_process_are_masked(open_cache: OpenCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value")
    cache = open_cache()
    said = ServedAnswer(b'{"x": "sk-very-secret-value"}', stream=False, duration=1)
    cache.keep("k", KeptAnswer(said, "chat"))
    found = cache.find("k")
    assert found is not None
    assert b"sk-very-secret" not in found.answer.body


@pytest.mark.parametrize("content", [b"words", None])
def test_a_file_of_something_else_is_refused_and_stays(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.db"
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (x)")
        connection.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"--model-cache .*: cannot be used: .*; name another file"):
        ModelCache(path)
    assert path.read_bytes() == before


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
