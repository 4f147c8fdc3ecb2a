"""Models that are objects: what they may answer, and how they are served."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from trialbed.errors import UsageError
from trialbed.models import ObjectModel, find_model
from trialbed.settings import RunSettings
from trialbed.wire import Call, ModelRequest

SETTINGS = RunSettings()
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "path", [*sys.path])


def parrot(request: ModelRequest) -> str:
    """Repeat the last words."""
    return request.messages[-1].text


class Caller:
    """Asks for a call, asynchronously."""

    async def answer(self, request: ModelRequest) -> Call:
        return Call("look", '{"place": 1}')


def broken(request: ModelRequest) -> str:
    """Fail."""
    raise RuntimeError("out of seed")


async def ask(thing: Any, document: dict[str, Any], *, key: str | None = None) -> httpx.Response:
    async with ObjectModel(thing).open("m", SETTINGS) as opened, httpx.AsyncClient() as client:
        headers = {"Authorization": f"Bearer {key if key is not None else opened.api_key}"}
        return await client.post(f"{opened.base_url}/chat/completions", json=document, headers=headers)


async def test_a_function_answers_with_text() -> None:
    answer = (await ask(parrot, ASKED)).json()
    assert answer["choices"][0]["message"]["content"] == "hello"
    assert (answer["choices"][0]["finish_reason"], answer["model"]) == ("stop", "m")


async def test_an_object_asks_for_calls_and_streams_where_it_is_asked_to() -> None:
    whole = (await ask(Caller, ASKED)).json()["choices"][0]
    assert whole["message"]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"place": 1}'}
    assert whole["finish_reason"] == "tool_calls"
    streamed = await ask(Caller(), ASKED | {"stream": True})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert json.loads(streamed.text.split("\n\n")[0].removeprefix("data: "))["model"] == "m"


async def test_only_who_knows_the_key_is_answered() -> None:
    assert (await ask(parrot, ASKED, key="another")).status_code == 401


@pytest.mark.parametrize("thing", [broken, lambda request: 7, lambda request: [], lambda request: None])
async def test_an_object_that_fails_says_so_and_is_not_asked_again(thing: Any) -> None:
    answer = await ask(thing, ASKED)
    assert (answer.status_code, answer.headers["x-should-retry"]) == (500, "false")
    assert "the model failed: " in answer.json()["error"]["message"]


def test_an_object_is_known_by_its_source_or_as_it_says() -> None:
    def other(request: ModelRequest) -> str:
        return "no"

    named = Caller()
    named.identity = "weights 7"  # type: ignore[attr-defined] # set as a user may
    described = [ObjectModel(thing).describe("m", SETTINGS).identity for thing in (parrot, other, Caller, named)]
    assert len(set(described)) == 4
    assert described[-1] == "weights 7"
    assert described[0] == ObjectModel(parrot).describe("other name", SETTINGS).identity


def test_a_model_of_a_file_is_known_by_what_stands_in_it(tmp_path: Path) -> None:
    identities = []
    for place, text in (("a.py", "x"), ("b.py", "x"), ("c.py", "y")):
        file = tmp_path / place
        file.write_text(f"def model(request):\n    return {text!r}\n")
        identities.append(find_model(f"{file}:model").describe(SETTINGS).identity)
    assert identities[0] == identities[1] != identities[2]


def test_a_file_that_has_no_such_model_or_cannot_be_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("def model(request):\n    return 'x'\n")
    (tmp_path / "bad.py").write_text("raise ValueError('no model')\n")
    for text, message in (
        ("good.py:modell", "did you mean 'model'"),
        ("bad.py:model", r"cannot be loaded: ValueError: no model \(File .*bad.py\", line 1\)"),
        ("none.py:model", "none.py cannot be read: No such file"),
    ):
        with pytest.raises(UsageError, match=message):
            find_model(f"{tmp_path}/{text}").describe(SETTINGS)
