"""Agents that leave the model no plain text to end with: every policy has the same right values with them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from support.evaluation import trials
from support.truth import POLICIES

from trialbed import Answer, ClaimedCall, ModelFailed, evaluate

pytestmark = pytest.mark.slow(30)

SCORES = ("api_call_score", "api_precision", "sopr_score", "has_finish", "model_turns", "argument_accuracy")
REPLY = {
    "type": "object",
    "properties": {"confidence": {"enum": ["low", "high"]}, "answer": {"type": "string"}},
    "required": ["confidence", "answer"],
    "additionalProperties": False,
}


async def loop(query: str, tools: Any, endpoint: Any, system_prompt: str, limits: Any, **asked: Any) -> Answer:
    """A loop that ends by its tool ``final_answer``, or by an answer of the form that it asks for."""
    extra = asked.pop("extra", [])
    own = {tool.name: tool for tool in tools}
    offered = [
        {"type": "function", "function": {"name": name, "description": one.description, "parameters": one.parameters}}
        for name, one in own.items()
    ]
    messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": query}]
    made: list[ClaimedCall] = []
    async with httpx.AsyncClient(timeout=60) as client:
        for _ in range(limits.max_steps):
            body = {"model": endpoint.model, "messages": messages, "tools": [*offered, *extra], **asked}
            reply = await client.post(
                f"{endpoint.base_url}/chat/completions",
                json=body,
                headers={"Authorization": f"Bearer {endpoint.api_key}"},
            )
            if reply.status_code != 200:
                raise ModelFailed(reply.text)
            message = reply.json()["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                # Where a call is demanded, text says nothing, as with smolagents: the next request asks again.
                if asked.get("tool_choice") == "required":
                    continue
                return Answer(final_answer=json.loads(message["content"])["answer"], calls=tuple(made))
            for call in message["tool_calls"]:
                name, text = call["function"]["name"], call["function"]["arguments"]
                if name == "final_answer":
                    return Answer(final_answer=json.loads(text)["answer"], calls=tuple(made))
                result = await _result(own.get(name), text)
                if name in own:
                    made.append(ClaimedCall(name=name, api=own[name].api, arguments=text))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return Answer(final_answer="", calls=tuple(made))


async def _result(tool: Any, arguments: str) -> str:
    if tool is None:
        return "Error: there is no such tool"
    try:
        return str(await tool.atext(json.loads(arguments)))
    except ValueError:
        return "Error: the arguments are not JSON"


async def finishing(query: str, tools: Any, endpoint: Any, system_prompt: str, limits: Any) -> Answer:
    finish = {"name": "final_answer", "description": "Ends with the answer.", "parameters": REPLY}
    extra = [{"type": "function", "function": finish}]
    return await loop(query, tools, endpoint, system_prompt, limits, extra=extra, tool_choice="required")


async def structured(query: str, tools: Any, endpoint: Any, system_prompt: str, limits: Any) -> Answer:
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": REPLY}}
    return await loop(query, tools, endpoint, system_prompt, limits, response_format=wanted)


def test_finish_tools_and_structured_answers_have_the_right_values_of_every_policy() -> None:
    """One run of all models: each would take longer to begin than to be asked."""
    agents = [finishing, structured, "reference"]
    models = tuple(f"scripted:{policy}" for policy in POLICIES)
    evaluate(agents, "mini", model=models, query_ids=("2", "7"), max_steps=7)
    found: dict[str, dict[str, Any]] = {model: {} for model in models}
    for trial in trials():
        framework, _, model = trial.key.framework.partition("@")
        failure = trial.outcome.failure and trial.outcome.failure.kind
        values = [score and score.value for score in map(trial.score, SCORES)]
        found[model or models[0]].setdefault(framework, []).append((failure, values))
    for model, values in found.items():
        assert {*values} == {"finishing", "structured", "reference"}
        assert values == dict.fromkeys(values, values["reference"]), model
