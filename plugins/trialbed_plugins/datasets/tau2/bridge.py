"""Serve one domain of τ²-bench over standard input and output, with one line of JSON per request and per answer.

This runs under the Python with τ²-bench's packages, without Trialbed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain, islice
from types import ModuleType
from typing import Any

SHOWN, LONGEST = 10, 200
"""Most differences of a state to show, and characters of each."""


class Domain:
    """A domain with one environment.

    Args:
        package: the folder of τ²-bench's package.
    """

    def __init__(self, name: str, package: str) -> None:
        # The package's top level imports code that asks models, which takes ten seconds and is not needed.
        top = ModuleType("tau2")
        top.__path__ = [package]
        sys.modules["tau2"] = top
        self._module = import_module(f"tau2.domains.{name}.environment")
        self._make_call = import_module("tau2.data_model.message").ToolCall
        self._environment = self._module.get_environment()
        self._tasks = {task.id: task for task in self._module.get_tasks()}
        self._task: Any = None
        self._calls: list[Any] = []

    def describe(self) -> dict[str, Any]:
        """Return the policy, the tools of both sides, the tasks and their splits."""
        user_tools = self._environment.get_user_tools() if self._environment.user_tools else ()
        return {
            "policy": self._environment.get_policy(),
            "tools": [tool.openai_schema["function"] for tool in self._environment.get_tools()],
            "user_tools": [tool.openai_schema["function"] for tool in user_tools],
            "tasks": [task.model_dump(mode="json") for task in self._tasks.values()],
            "splits": self._module.get_tasks_split(),
            "database": self._environment.get_db_hash(),
        }

    def begin(self, task: str) -> None:
        """Create a new environment for a trial of a task."""
        self._task = self._tasks[task]
        self._environment = self._new_environment()
        self._calls = []

    def _new_environment(self) -> Any:
        """Return a new environment in the task's initial state."""
        environment, first = self._module.get_environment(), self._task.initial_state
        if first is not None:
            environment.set_state(first.initialization_data, first.initialization_actions, [])
        return environment

    def call(self, name: str, arguments: dict[str, Any], requestor: str) -> dict[str, Any]:
        """Return the answer to a tool call by the agent or the user, and whether it is an error."""
        call = self._make_call(id="call", name=name, arguments=arguments, requestor=requestor)
        self._calls.append(call)
        answer = self._environment.get_response(call)
        return {"content": answer.content, "failed": answer.error}

    def compare(self) -> dict[str, Any]:
        """Return the first differences of the trial's state and calls from the expected ones.

        The rules are τ²-bench's, for the parts of the task's reward. Databases must have the same hashes as after the
        expected actions; failing actions change nothing. Assertions must hold, and each expected action needs a
        call that fits.
        """
        criteria, environment = self._task.evaluation_criteria, self._environment
        actions, assertions, basis = criteria.actions, criteria.env_assertions, criteria.reward_basis
        environment.sync_tools()
        faults: list[str] = []
        if "DB" in basis and not (actions is None and assertions is None):
            faults += self._database_faults(actions or ())
        if "ENV_ASSERTION" in basis:
            held = [environment.run_env_assertion(one, raise_assertion_error=False) for one in assertions or ()]
            failed = [one for one, holds in zip(assertions or (), held, strict=True) if not holds]
            faults += [f"{one.func_name} {one.arguments} is not {one.assert_value}" for one in failed]
        if "ACTION" in basis:
            missing = [one for one in actions or () if not any(map(one.compare_with_tool_call, self._calls))]
            faults += [f"{one.name} {one.arguments} was not called" for one in missing]
        part = "database" if "DB" in basis else "checks"
        return {"part": part, "faults": [fault[:LONGEST] for fault in faults[:SHOWN]]}

    def _database_faults(self, actions: Iterable[Any]) -> list[str]:
        """Return the differences of the databases from new ones after the actions."""
        found, right = self._environment, self._new_environment()
        for action in actions:
            with suppress(Exception):
                right.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
        if (found.get_db_hash(), found.get_user_db_hash()) == (right.get_db_hash(), right.get_user_db_hash()):
            return []
        sides = [(found.tools, right.tools), (found.user_tools, right.user_tools)]
        states = ([one.db.model_dump(mode="json") for one in side] for side in sides if side[0])
        lines = chain.from_iterable(_differences(had, wanted, "") for had, wanted in states)
        return list(islice(lines, SHOWN)) or ["the hashes differ"]


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
        except Exception as error:  # noqa: BLE001 - the other side explains it
            answer = {"problem": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
