"""Serves one domain of τ²-bench over standard input and output: a line of JSON asks, a line of JSON answers.

It runs under the Python that has τ²-bench's packages, which has no Trialbed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any

SHOWN, LONGEST = 10, 200
"""Differences of a state, and characters of each."""


class Domain:
    """A domain with one environment.

    Args:
        package: the folder of τ²-bench's package.
    """

    def __init__(self, name: str, package: str) -> None:
        # The package's own top level imports what asks models, which takes ten seconds and is not needed.
        top = ModuleType("tau2")
        top.__path__ = [package]
        sys.modules["tau2"] = top
        self._module = import_module(f"tau2.domains.{name}.environment")
        self._make_call = import_module("tau2.data_model.message").ToolCall
        self._environment = self._module.get_environment()
        self._tasks = {task.id: task for task in self._module.get_tasks()}
        self._task: Any = None

    def describe(self) -> dict[str, Any]:
        """Return the policy, the tools, the tasks and their splits."""
        return {
            "policy": self._environment.get_policy(),
            "tools": [tool.openai_schema["function"] for tool in self._environment.get_tools()],
            "tasks": [task.model_dump(mode="json") for task in self._tasks.values()],
            "splits": self._module.get_tasks_split(),
            "database": self._environment.get_db_hash(),
        }

    def begin(self, task: str) -> None:
        """Make a new environment for a trial of a task."""
        self._environment = self._module.get_environment()
        self._task = self._tasks[task]

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a call of a tool, and whether it is an error."""
        answer = self._environment.get_response(self._make_call(id="call", name=name, arguments=arguments))
        return {"content": answer.content, "failed": answer.error}

    def compare(self) -> dict[str, Any]:
        """Return whether the database is as the task's expected actions leave a new one, and first differences.

        As τ²-bench does it: hashes are compared, and an action that fails changes nothing.
        """
        right = self._module.get_environment()
        for action in self._task.evaluation_criteria.actions or ():
            with suppress(Exception):
                right.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
        if self._environment.get_db_hash() == right.get_db_hash():
            return {"same": True, "differences": []}
        found, expected = (one.tools.db.model_dump(mode="json") for one in (self._environment, right))
        lines = islice(_differences(found, expected, ""), SHOWN)
        return {"same": False, "differences": [line[:LONGEST] for line in lines]}


def _differences(found: Any, expected: Any, place: str) -> Iterator[str]:
    if isinstance(found, list) and isinstance(expected, list):
        found, expected = dict(enumerate(found)), dict(enumerate(expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in dict.fromkeys([*found, *expected]):
            yield from _differences(found.get(key), expected.get(key), f"{place}.{key}".removeprefix("."))
    elif found != expected:
        yield f"{place}: {found!r:.80} instead of {expected!r:.80}"


def main() -> None:
    """Answer each line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the domain's code may print
    domain = None
    for line in sys.stdin:
        try:
            domain = domain or Domain(*sys.argv[1:])
            asked = json.loads(line)
            answer = {"result": getattr(domain, asked.pop("do"))(**asked)}
        except Exception as error:  # noqa: BLE001 - the other side says what it means
            answer = {"problem": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
