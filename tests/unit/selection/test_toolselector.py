from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trialbed.model_access import ModelAccess
from trialbed.records import Api
from trialbed_selection import ToolSelector

WEATHER = SimpleNamespace(
    name="Skies_forecast",
    description="Tomorrow's weather",
    metadata={"tool_name": "Skies", "api_name": "forecast", "category": "C"},
)
SHARES = {"type": "function", "function": {"name": "quote", "description": "Price of a share"}}
PLANTS = Api(category="C", tool_name="Skies", api_name="pollen", description="Which plants bloom")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))


def test_tools_of_any_kind_come_back_as_they_are_best_first() -> None:
    selector = ToolSelector("bm25", max_tools=2)
    assert selector.select_tools("price of shares", [WEATHER, SHARES, PLANTS, WEATHER]) == [SHARES]
    assert selector.select_tools(query="weather tomorrow", all_tools=[WEATHER, PLANTS]) == [WEATHER, PLANTS]
    assert selector.select_tools("weather", []) == []


def test_a_models_name_means_that_the_model_is_asked_and_its_choice_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def reply(self: ModelAccess, *_: Any) -> str:
        asked.append(self.model)
        return '["quote"]'

    monkeypatch.setattr(ModelAccess, "reply", reply)
    for _ in range(2):
        selector = ToolSelector(model="gpt-4o-mini", max_tools=1, cache_dir=tmp_path / "kept", verbose=True)
        assert selector.select_tools("weather", [WEATHER, SHARES]) == [SHARES]
    assert asked == ["gpt-4o-mini"]


async def test_it_works_where_an_event_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask_for(self: ModelAccess, read: Any, messages: Any, **settings: Any) -> Any:
        await asyncio.sleep(0)
        return read('["quote"]')

    monkeypatch.setattr(ModelAccess, "ask_for", ask_for)
    assert ToolSelector("m", max_tools=1).select_tools("weather", [WEATHER, SHARES]) == [SHARES]
