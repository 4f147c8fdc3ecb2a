"""Run an agent of a checkout as a program: ``python -m trialbed_masbench.agent AGENT_FILE [API]``.

It reads a task of ``bench run --command`` from standard input, and prints the agent's answer. The agent's file is used
unchanged. A process has one query, since agents that keep a client over several event loops fail at their second one.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from trialbed.records import ToolSpec
from trialbed.tools import Tool

CHAT = "chat_completions"


def main(arguments: list[str]) -> int:
    """Answer the task on standard input."""
    file, api = Path(arguments[0]).resolve(), (arguments[1:] or [CHAT])[0]
    task = json.load(sys.stdin)
    # Agents print, and standard output is for the answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    agent = make_agent(load_agent(file), task)
    if api == CHAT:
        choose_chat_completions()
    agent.bind_tools(tools=[_tool(about, task["tools_url"]) for about in task["tools"]], server_url=task["tools_url"])
    answer = agent.answer(task["query"])
    with answers:
        json.dump(answer, answers, default=str)
    return 0


def load_agent(file: Path) -> ModuleType:
    """Import the package of an agent's file, ``agents/NAME/agent.py``, as MASBench's own programs do."""
    importlib.import_module("langchain_core.tools")
    sys.path.insert(0, str(file.parents[2]))
    package = importlib.import_module(f"agents.{file.parent.name}")
    return sys.modules.get(f"{package.__name__}.agent", package)


def make_agent(module: ModuleType, task: dict[str, Any]) -> Any:
    """Make the agent with MASBench's arguments as far as its class takes them.

    Raises:
        SystemExit: the file has no class of an agent, or several.
    """
    classes = dict.fromkeys(value for value in vars(module).values() if inspect.isclass(value))
    kinds = [kind for kind in classes if kind.__name__ != "BaseAgent" and {"bind_tools", "answer"} <= set(dir(kind))]
    if len(kinds) != 1:
        named = ", ".join(kind.__name__ for kind in kinds) or "none"
        sys.exit(f"{module.__name__}: one class with bind_tools() and answer() is needed; found: {named}")
    given = {
        "model": task["endpoint"]["model"],
        "server_url": task["tools_url"],
        "temperature": 0.0,
        "verbose": False,
        "max_tools": max(len(task["tools"]), 1),
    }
    taken = inspect.signature(kinds[0]).parameters
    return kinds[0](**{name: value for name, value in given.items() if name in taken})


def choose_chat_completions() -> None:
    """Let the OpenAI Agents SDK ask chat completions if an agent uses it, because its default is another protocol.

    MASBench's agent puts that package, which is called agents too, in the place of its own when it is made.
    """
    choose = getattr(sys.modules.get("agents"), "set_default_openai_api", None)
    if choose is not None:
        choose(CHAT)


def _tool(about: dict[str, Any], server_url: str) -> Any:
    return Tool(ToolSpec.model_validate(about), server_url).as_langchain()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
