"""The file of the model cache."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from trialbed.contracts import ServedAnswer
from trialbed.errors import UsageError
from trialbed_plugins.recordings import KeptAnswer, ModelCache

KEPT = KeptAnswer('{"messages":["\\ud800 ü"]}', ServedAnswer(b"data: \xff\x00\n\n", stream=True, duration=2.5), "chat")


def test_an_answer_comes_back_as_it_was_also_to_another_process(tmp_path: Path) -> None:
    ours, theirs = ModelCache(tmp_path / "a.db"), ModelCache(tmp_path / "a.db")
    ours.keep("k", KEPT)
    assert theirs.find("k") == KEPT
    assert theirs.find("other") is None


def test_the_first_answer_of_a_key_stays(tmp_path: Path) -> None:
    cache = ModelCache(tmp_path / "a.db")
    cache.keep("k", KEPT)
    cache.keep("k", KEPT._replace(answer=ServedAnswer(b"later", stream=False, duration=1)))
    assert cache.find("k") == KEPT


def test_secrets_of_this_process_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value")
    cache = ModelCache(tmp_path / "a.db")
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
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = ModelCache(tmp_path / "a.db")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("DROP TABLE answers")
    connection.close()
    cache.keep("k", KEPT)
    assert cache.find("k") is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
