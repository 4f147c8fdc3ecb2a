"""Runs one agent of a Python file as a program: ``python -m trialbed.live FILE.py NAME``, the task on standard input.

The agent is a function or an object as ``evaluate`` takes them, or an agent of a framework, as its documentation makes
one. What the file prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from trialbed.foreign_code import ForeignCode
from trialbed.live._agents import LiveAgent
from trialbed.records import TrialKey, TrialSpec

RUNS: Mapping[str, Callable[[Any, str], Any]] = {
    "langgraph": lambda graph, text: graph.ainvoke(
        {"messages": [{"role": "user", "content": text}]}, **({"context": {}} if graph.context_schema else {})
    ),
    "agents": lambda agent, text: importlib.import_module("agents").Runner.run(agent, text),
    "pydantic_ai": lambda agent, text: agent.run(text),
    "agno": lambda agent, text: agent.arun(text),
    "smolagents": lambda agent, text: agent.run(text),
    "autogen_agentchat": lambda agent, text: agent.run(task=text),
    "agent_framework": lambda agent, text: agent.run(text),
    "llama_index": lambda agent, text: agent.run(user_msg=text),
    "crewai": lambda agent, text: agent.kickoff(text if type(agent).__name__ == "Agent" else {"query": text}),
    "google": lambda agent, text: (
        importlib.import_module("google.adk.runners").InMemoryRunner(agent=agent).run_debug(text, quiet=True)
    ),
}
"""Package of a framework -> how its documentation runs an agent on a text."""

PARTS = ("final_output", "output", "raw", "text", "content", "parts", "response", "messages")
"""Attributes and keys of results that hold the answer; of those that are lists, the last item does."""


async def run_agent(agent: Any, task: Mapping[str, Any]) -> str:
    """Return an agent's answer to a task, which is as programs get it."""
    run = RUNS.get(type(agent).__module__.partition(".")[0])
    if run is not None:
        found = run(agent, task["query"])
        return answer_text(await found if inspect.isawaitable(found) else found)
    spec = TrialSpec(
        trial="program",
        key=TrialKey(framework="program", query_id=1),
        query=task["query"],
        system_prompt=task["instructions"],
        server_url=task["tools_url"],
        **{name: task[name] for name in ("tools", "endpoint", "limits")},
    )
    live, code = LiveAgent("program", agent), ForeignCode(agent)
    made, tools = await live.make(spec, code)
    return (await live.answer(made, tools, spec, code)).final_answer


def answer_text(found: Any) -> str:
    """Return the text in a framework's result."""
    while not isinstance(found, str):
        if isinstance(found, list | tuple):
            # Not the last of all, if that is an event without text.
            found = next((one for one in reversed(found) if _part(one) is not None), found[-1] if found else "")
        else:
            part = _part(found)
            found = str(found) if part is None else part
    return found


def _part(found: Any) -> Any:
    """Return what holds the answer in a part of a result; None if nothing does."""
    if isinstance(found, str | list | tuple):
        return found
    values = (found.get(name) if isinstance(found, Mapping) else getattr(found, name, None) for name in PARTS)
    return next((value for value in values if value is not None and not callable(value)), None)


def main() -> None:
    """Read the task, and print the answer."""
    path, name = Path(sys.argv[1]), sys.argv[2]
    task = json.load(sys.stdin)
    sys.path.insert(0, str(path.parent))
    with redirect_stdout(sys.stderr):
        agent = getattr(importlib.import_module(path.stem), name)
        answer = asyncio.run(run_agent(agent, task))
    print(answer)  # noqa: T201


if __name__ == "__main__":
    main()
