"""A run as StableToolBench's converted answers, as its own evaluators read them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

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
    """Write a run as StableToolBench's converted answers: ``{folder}/{framework}/{test set}.json``.

    Every framework is a model of its own; so is every repeat, where there are several (``{framework}_r1``). Trials
    that were not measured are left out, failed ones have no ``Finish``. A file is not written without trials. Trials
    are read a part at a time.

    Args:
        queries: the run's queries by id.

    Raises:
        DataError: no trial was measured, a file cannot be written, or the run has a query that is not given.
    """
    is_empty = True
    for framework, trials in groupby(run.each_counted(), lambda result: result.key.framework):
        for exported in _export(run, framework, trials, queries, folder):
            is_empty = False
            yield exported
    if is_empty:
        raise DataError(
            f"run {run.run_id} is {run.status} and has no trial that was measured: there is nothing to write"
        )


def _export(
    run: StoredRun, framework: str, trials: Iterable[TrialResult], queries: Mapping[QueryId, Query], folder: Path
) -> list[Exported]:
    """Write the trials of a framework, which come query by query, into a file for each repeat."""
    ended: Counter[int] = Counter()
    files: dict[int, _AnswerFile] = {}
    with ExitStack() as opened:
        for result in trials:
            repeat = result.key.repeat
            ended[repeat] += 1
            if result.status == "not measured":
                continue
            if repeat not in files:
                name = framework if run.config.repeat == 1 else f"{framework}_r{repeat}"
                path = folder / safe_name(name) / f"{safe_name(run.config.test_set)}.json"
                files[repeat] = opened.enter_context(_open_answers(path))
            files[repeat].add(result.key.query_id, _convert(run, result, queries))
    due = len(run.config.query_ids)
    return [
        Exported(framework, file.path, file.trials, max(ended[repeat], due) - file.trials)
        for repeat, file in sorted(files.items())
    ]


def _convert(run: StoredRun, result: TrialResult, queries: Mapping[QueryId, Query]) -> object:
    query = queries.get(result.key.query_id)
    if query is None:
        raise DataError(
            f"run {run.run_id!r} has a trial of query {result.key.query_id!r}, which {run.config.dataset!r} no longer "
            "has"
        )
    return converted_answer(query.text, run.tools_of(result), result)


class _AnswerFile:
    """A file of answers, which are written one by one.

    Attributes:
        trials: how many it has.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.trials = 0
        self._file = file

    def add(self, query_id: QueryId, answer: object) -> None:
        """Write an answer."""
        text = json.dumps({str(query_id): answer}, ensure_ascii=False)
        self._file.write((", " if self.trials else "").encode() + text[1:-1].encode(errors="backslashreplace"))
        self.trials += 1


@contextmanager
def _open_answers(path: Path) -> Iterator[_AnswerFile]:
    """A file that is there once the body has ended without an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(b"{")
            yield _AnswerFile(path, file)
            file.write(b"}\n")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; name another folder with --output") from error


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
