"""The file of the model cache."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from trialbed.contracts import ServedAnswer
from trialbed.errors import UsageError
from trialbed_plugins.recordings import KeptAnswer, ModelCache

OpenCache = Callable[[], ModelCache]

KEPT = KeptAnswer('{"messages":["\\ud800 ü"]}', ServedAnswer(b"data: \xff\x00\n\n", stream=True, duration=2.5), "chat")


def test_an_answer_comes_back_as_it_was_also_to_another_process(open_cache: OpenCache) -> None:
    ours, theirs = open_cache(), open_cache()
    ours.keep("k", KEPT)
    assert theirs.find("k") == KEPT
    assert theirs.find("other") is None


def test_the_first_answer_of_a_key_stays(open_cache: OpenCache) -> None:
    cache = open_cache()
    cache.keep("k", KEPT)
    cache.keep("k", KEPT._replace(answer=ServedAnswer(b"later", stream=False, duration=1)))
    assert cache.find("k") == KEPT


def test_secrets_of_this_process_are_masked(open_cache: OpenCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value")
    cache = open_cache()
    said = ServedAnswer(b'{"x": "sk-very-secret-value"}', stream=False, duration=1)
    cache.keep("k", KeptAnswer('{"user": "sk-very-secret-value"}', said, "chat"))
    found = cache.find("k")
    assert found is not None
    assert b"sk-very-secret" not in found.answer.body
    assert "sk-very-secret" not in found.request


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


def test_a_file_that_breaks_later_is_said_once_and_the_model_is_asked(
    open_cache: OpenCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = open_cache()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("DROP TABLE answers")
    connection.close()
    cache.keep("k", KEPT)
    assert cache.find("k") is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@contextmanager
def another_that_writes(path: Path) -> Iterator[None]:
    """Let another program write all the while."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def test_an_answer_is_not_kept_while_others_write_and_the_next_one_is(
    open_cache: OpenCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("trialbed_plugins.recordings._cache.WRITING_PATIENCE", 0.0)
    cache = open_cache()
    with another_that_writes(tmp_path / "a.db"):
        cache.keep("k", KEPT)
    cache.keep("l", KEPT)
    assert (cache.find("k"), cache.find("l")) == (None, KEPT)
    assert not caplog.records


async def test_an_answer_is_shared_at_once_while_it_waits_to_be_written(
    open_cache: OpenCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_plugins.recordings._cache.WRITING_PATIENCE", 60.0)
    theirs = open_cache()
    async with ModelCache(tmp_path / "a.db") as cache:
        with another_that_writes(tmp_path / "a.db"):
            assert await cache.find_or_begin("k") is None
            cache.keep_and_end("k", KEPT)
            assert await cache.find_or_begin("k") == KEPT
            assert theirs.find("k") is None
    assert theirs.find("k") == KEPT
