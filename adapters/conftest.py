"""Fixtures of the tests of this project's adapters."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let openai's clients retry without waiting; how often they ask stays as it is."""
    for client in ("OpenAI", "AsyncOpenAI"):
        monkeypatch.setattr(f"openai.{client}._calculate_retry_timeout", lambda *_, **__: 0.0)
