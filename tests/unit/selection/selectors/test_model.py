from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import ModelFailed
from trialbed.records import Api, Query
from trialbed_selection.selectors import LlmSelector
from trialbed_selection.tools import ChosenApi

APIS = [
    Api(category="C", tool_name=tool, api_name=name, description=words)
    for tool, name, words in [
        ("SEO", "backlinks", "Backlinks of a domain"),
        ("Skies", "forecast", "Tomorrow's weather for a city"),
        ("Skies", "pollen", "Which plants bloom"),
        ("Shares", "quote", "Price of a share"),
    ]
]


class Model:
    """Answers each request with the next of its replies, and reads it as the access does."""

    model = "m"

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[list[dict[str, str]]] = []

    def ask_for_blocking(self, read: Callable[[str], Any], messages: list[dict[str, str]]) -> Any:
        self.requests.append(messages)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        try:
            return read(reply)
        except ValueError as error:
            raise ModelFailed(f"two replies in a row from the model cannot be read: {error}") from error


@pytest.fixture(autouse=True)
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))


def selector(model: Model, apis: Sequence[Api] = APIS) -> LlmSelector:
    made = LlmSelector()
    made.model = model  # type: ignore[assignment]
    made.prepare(apis)
    return made


def query(text: str = "weather tomorrow") -> Query:
    return Query(query_id=1, text=text, apis=())


def names(choices: Sequence[ChosenApi]) -> list[str]:
    return [choice.api.api_name for choice in choices]


def test_the_model_sees_names_and_its_order_holds() -> None:
    model = Model('["Shares_quote", "Skies_pollen"]')
    assert names(selector(model).choices(query(), max_tools=2)) == ["quote", "pollen"]
    system, user = model.requests[0]
    assert "at most 2 of them" in system["content"]
    assert user["content"].startswith("Tools:\nSEO_backlinks\nShares_quote\nSkies_forecast\nSkies_pollen\n")
    assert user["content"].endswith("Request:\nweather tomorrow")


@for_each(
    "reply",
    [
        '["Shares_quote", "Skies_pollen"]',
        '["Shares_quote", "Skies_pollen", "Shares_quote", "unknown", 7, null]',
        '```json\n["Shares_quote", "Skies_pollen"]\n```',
        'Here you are: ["Shares_quote", "Skies_pollen"] because "Skies_forecast" does not fit.',
        '{"tools": ["Shares_quote", "Skies_pollen"]}',
        '[{"name": "Shares_quote", "why": "it fits"}, {"tool": "Skies_pollen"}]',
        '{"selected": [{"function": "SHARES_QUOTE"}, {"api": " Skies_pollen "}]}',
        '["Shares_quote", "Skies_pollen", "Skies_',
        '["Shares_quote", "Skies_pollen",]',
        "['Shares_quote', 'Skies_pollen']",
        '<think>["Skies_forecast"]</think>["Shares_quote","Skies_pollen"]',
        "1. Shares_quote\n2. Skies_pollen: it fits\n",
        "- `Shares_quote`\n- `Skies_pollen`",
        "Shares_quote\nSkies_pollen - it fits",
        'Request [7] asks: ["Shares_quote", "Skies_pollen"]',
    ],
)
def test_names_are_read_however_they_are_written(reply: str) -> None:
    chosen = selector(Model(reply)).choices(query(), max_tools=2)
    assert [(choice.api.api_name, choice.by) for choice in chosen] == [("quote", "model"), ("pollen", "model")]


def test_unknown_and_repeated_names_are_dropped_and_a_short_choice_is_filled_up_and_marked() -> None:
    chosen = selector(Model('["Shares_quote", "Made_up", "Shares_quote"]')).choices(query(), max_tools=3)
    assert names(chosen) == ["quote", "forecast", "pollen"]
    assert [(choice.by, choice.topped_up) for choice in chosen] == [("model", False), ("words", True), ("words", True)]


def test_a_reply_that_names_nothing_leaves_it_to_words(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "trialbed.selection"):
        chosen = selector(Model("I cannot help.")).choices(query(), max_tools=2)
    assert names(chosen) == ["forecast", "pollen"]
    assert all(choice.topped_up for choice in chosen)
    assert "task 1: bm25 chooses the tools: two replies in a row from the model cannot be read" in caplog.text


def test_a_model_out_of_reach_is_an_error() -> None:
    with pytest.raises(ModelFailed, match="refused"):
        selector(Model(ModelFailed("refused"))).choices(query(), max_tools=2)


def test_of_a_large_catalog_the_model_sees_what_the_words_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_selection.selectors._llm.MOST_NAMES", 3)
    apis = [*APIS, Api(category="C", tool_name="Skies", api_name="tides", description="weather at sea")]
    model = Model('["Skies_tides"]')
    assert names(selector(model, apis).choices(query(), max_tools=1)) == ["tides"]
    (request,) = model.requests
    tools = request[1]["content"].split("\n\n")[0]
    assert tools.splitlines()[1:] == ["Skies_forecast", "Skies_tides", "Skies_pollen"]
