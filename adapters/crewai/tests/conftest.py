"""Lets CrewAI warn of itself.

It reads fields that it deprecates, replaces modules while they are imported, and leaves connections that it made for
summaries to the garbage collector.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

ITS_OWN = (
    "ignore::DeprecationWarning:crewai",
    "ignore:Cannot set an attribute on 'crewai:ImportWarning",
    "ignore:Exception ignored in. <(socket|function _SelectorTransport):pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for warning in ITS_OWN:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session", autouse=True)
def all_collected() -> Iterator[None]:
    """Leave nothing to be collected after the last test, where its warnings would be errors."""
    yield
    gc.collect()


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without waiting; how many there are stays as it is."""
    monkeypatch.setattr("openai.OpenAI._calculate_retry_timeout", lambda *_, **__: 0.0)
    monkeypatch.setattr("crewai.llms.retry._LLM_RATE_LIMIT_MAX_DELAY_SECONDS", 0.0)
