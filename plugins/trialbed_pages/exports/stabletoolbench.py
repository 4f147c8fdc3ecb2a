"""Write a run as StableToolBench's converted answers for its evaluators."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from trialbed.answers import FINISH, function_name
from trialbed.errors import DataError
from trialbed.files import replacing
from trialbed.records import ApiCall, Json, Query, ToolSpec, TrialResult
from trialbed.report import safe_name
from trialbed.store import StoredRun

QueryId = int | str


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Attributes:
        trials: how many it holds.
        left_out: how many of the run's were not measured, or not yet.
    """

    framework: str
    path: Path
    trials: int
    left_out: int


def export_stabletoolbench(run: StoredRun, queries: Mapping[QueryId, Query], folder: Path) -> Iterator[Exported]:
    """Write a run as StableToolBench's converted answers to ``{folder}/{framework}/{test set}.json``.

    Every framework is a separate model, and so is every repeat if there are several (``{framework}_r1``). Trials
    that were not measured are left out, failed ones have no ``Finish``. A file is not written without trials.

    Args:
        queries: the run's queries by id.

    Raises:
        DataError: no trial was measured, or a file cannot be written.
    """
    config, is_empty = run.config, True
    for framework, trials in groupby(run.each_counted(), lambda result: result.key.framework):
        answers: dict[int, dict[str, Any]] = {}
        for result in trials:
            if result.status != "not measured":
                text = queries[result.key.query_id].text
                answer = converted_answer(text, run.tools_of(result), result)
                answers.setdefault(result.key.repeat, {})[str(result.key.query_id)] = answer
        for repeat, found in sorted(answers.items()):
            name = framework if config.repeat == 1 else f"{framework}_r{repeat}"
            path = folder / safe_name(name) / f"{safe_name(config.test_set)}.json"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as file:
                    file.write(f"{_json(found)}\n".encode(errors="backslashreplace"))
            except OSError as error:
                message = f"{path} cannot be written: {error.strerror}; name another folder with --output"
                raise DataError(message) from error
            is_empty = False
            yield Exported(framework, path, len(found), len(config.query_ids) - len(found))
    if is_empty:
        raise DataError(
            f"run {run.run_id} is {run.status} and has no trial that was measured: there is nothing to write"
        )


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
    """Return a trial as one entry of a file of converted answers.

    It has the server's calls in order, with its responses. There is a ``Finish`` only if the trial
    ended with an answer or by giving up, because evaluators should count any other trial as unsolved.

    Args:
        text: the query's text.
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
    """Return the steps, each nested in the previous one."""
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
