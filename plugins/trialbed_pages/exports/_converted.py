"""Answers in StableToolBench's converted format, as its own evaluators read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from trialbed.answers import FINISH, function_name
from trialbed.records import ApiCall, Json, ToolSpec, TrialResult

MAX_CALLS = 200
"""Calls of a trial that are written; the graph has two levels of nesting for each."""

FINISH_FUNCTION: dict[str, Any] = {
    "name": FINISH,
    "description": "Ends the task, with the final answer for the user or by giving up.",
    "parameters": {
        "type": "object",
        "properties": {
            "return_type": {"type": "string", "enum": ["give_answer", "give_up_and_restart"]},
            "final_answer": {"type": "string", "description": "What the user is shown."},
        },
        "required": ["return_type"],
    },
}


def converted_answer(text: str, tools: Sequence[ToolSpec], result: TrialResult) -> dict[str, Any]:
    """A trial as one entry of a file of converted answers.

    The calls are those that the server saw, in order, with its responses. There is a ``Finish`` only if the trial
    ended with an answer or by giving up, so that the evaluators count any other trial as unsolved.

    Args:
        text: the query's.
        tools: on offer to the agent.

    Returns:
        ``{"query", "available_tools", "answer": {"method", "total_steps", "final_answer", "answer_details"}}``.
    """
    answer = result.outcome.answer
    finished = result.status == "answered" and answer is not None and answer.finish is not None
    final = _json({"return_type": answer.finish, "final_answer": answer.final_answer}) if answer and finished else ""
    steps = [_step("system", ""), _step("user", ""), *map(_called, result.wire.api_calls[:MAX_CALLS])]
    if finished:
        steps.append(_step("tool", {"name": FINISH, "arguments": final, "response": ""}))
    return {
        "query": text,
        "available_tools": [*map(_function, tools), FINISH_FUNCTION],
        "answer": {
            "method": result.key.framework,
            "total_steps": len(steps),
            "final_answer": final,
            "answer_details": _chain(steps),
        },
    }


def _called(call: ApiCall) -> dict[str, Any]:
    error = call.error or ("" if call.status == 200 else f"HTTP status {call.status}")
    response = _json({"error": error, "response": "" if call.response is None else call.response})
    arguments = call.arguments if isinstance(call.arguments, str) else _json(call.arguments)
    return _step(
        "tool",
        {"name": function_name(call.api.tool_name, call.api.api_name), "arguments": arguments, "response": response},
    )


def _step(role: str, message: Json) -> dict[str, Any]:
    return {"role": role, "message": message, "next": []}


def _chain(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps, each as what follows from the one before it."""
    chain: list[dict[str, Any]] = []
    for step in reversed(list(steps)):
        chain = [{**step, "next": chain}]
    return chain


def _function(tool: ToolSpec) -> dict[str, Any]:
    properties = tool.parameters.get("properties", {})
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    return {
        "name": function_name(tool.api.tool_name, tool.api.api_name),
        "description": tool.description,
        "parameters": {
            "type": "object",
            "properties": {name: _property(schema) for name, schema in properties.items()},
            "required": required,
            "optional": [name for name in properties if name not in required],
        },
    }


def _property(schema: Any) -> dict[str, Any]:
    known = schema if isinstance(schema, dict) else {}
    found = {"type": known.get("type", "string"), "description": known.get("description", "")}
    return {**found, "example_value": known["default"]} if "default" in known else found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
