"""Lets CrewAI warn of itself.

It reads fields that it deprecates, replaces modules while they are imported, and leaves connections that it made for
summaries to the garbage collector.
"""

from __future__ import annotations

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
