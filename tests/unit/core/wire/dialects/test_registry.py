"""Dialects by name and by path."""

from __future__ import annotations

import pytest

from trialbed.wire.dialects import CHAT, PATHS, dialect, dialect_at


def test_each_dialect_is_found_by_its_name_and_its_path() -> None:
    for path, name in PATHS.items():
        found = dialect_at(path)
        assert found is dialect(name)
        assert found is not None
        assert (name, path) == (found.NAME, found.PATH)


def test_chat_completions_are_the_usual_one() -> None:
    assert dialect().NAME == CHAT


def test_what_is_no_dialect_is_none() -> None:
    assert dialect_at("embeddings") is None
    with pytest.raises(LookupError, match="chat_completions"):
        dialect("semaphore")
