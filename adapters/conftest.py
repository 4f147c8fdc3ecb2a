"""Fixtures of the tests of this project's adapters."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

LONG = "very_long_trial"
"""The check of a framework's own limits, in a trial whose requests get ever longer."""


BEGUN = pytest.StashKey[set[str]]()
"""The classes and files of which a test has run."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Search for no garbage while a framework may be imported."""
    if _is_first(item):
        gc.disable()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let the garbage collector pass over a framework once it is imported: it looks at it again and again."""
    if _is_first(item):
        item.config.stash.setdefault(BEGUN, set()).add(_owner(item))
        gc.collect()
        gc.freeze()
        gc.enable()


def _is_first(item: pytest.Item) -> bool:
    return _owner(item) not in item.config.stash.get(BEGUN, set())


def _owner(item: pytest.Item) -> str:
    return item.nodeid.rpartition("::")[0]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let openai's clients retry without waiting; how often they ask stays as it is."""
    for client in ("OpenAI", "AsyncOpenAI"):
        monkeypatch.setattr(f"openai.{client}._calculate_retry_timeout", lambda *_, **__: 0.0)


@pytest.fixture(autouse=True)
def _long_conversations_are_not_searched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let openai's clients look for names to replace in no message of long trials: there are none.

    Each request has all messages before it, so that this takes most of their time; in all other trials they look.
    """
    completions = sys.modules.get("openai.resources.chat.completions.completions")
    if completions is not None and _is_long(request.node):
        monkeypatch.setattr(completions, "maybe_transform", _drop_omitted)
        monkeypatch.setattr(completions, "async_maybe_transform", _drop_omitted_later)


def _is_long(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("long_trial") is not None
    return marked or item.name.endswith(f"[{LONG}]")


def _drop_omitted(fields: dict[str, Any], _: object) -> dict[str, Any]:
    from openai._utils import is_given

    return {name: value for name, value in fields.items() if is_given(value)}


async def _drop_omitted_later(fields: dict[str, Any], expected: object) -> dict[str, Any]:
    return _drop_omitted(fields, expected)
