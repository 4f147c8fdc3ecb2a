"""Run one agent of a Python file as a program.

``python -m trialbed.live FILE.py NAME`` reads the task from standard input. The agent is a function or an object that
``evaluate`` takes, or an agent of a framework, made like in its documentation. Output of the file goes to standard
error.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import redirect_stdout
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from trialbed.errors import UsageError
from trialbed.foreign_code import ForeignCode
from trialbed.live._agents import LiveAgent
from trialbed.records import TrialKey, TrialSpec


class TalkingAgent:
    """One agent of a framework that is asked again, as the framework's documentation goes on with a conversation.

    Attributes:
        before: its last result, as the framework returns it; None before the first.
        said: the messages of the user and its answers to them.
    """

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.before: Any = None
        self.said: list[dict[str, str]] = []

    async def ask(self, text: str) -> str:
        """Return the agent's answer to a message."""
        self.said.append({"role": "user", "content": text})
        found = RUNS[package_of(self.agent)](self, text)
        self.before = await found if inspect.isawaitable(found) else found
        answer = answer_text(self.before)
        self.said.append({"role": "assistant", "content": answer})
        return answer

    @cached_property
    def adk_runner(self) -> Any:
        """Its runner of the Agent Development Kit, which keeps the session."""
        return importlib.import_module("google.adk.runners").InMemoryRunner(agent=self.agent)

    @cached_property
    def llama_state(self) -> dict[str, Any]:
        """The state of a conversation with LlamaIndex; the memory keeps the messages, the context the rest."""
        memory = importlib.import_module("llama_index.core.memory").Memory.from_defaults(session_id=THREAD)
        return {"memory": memory, "ctx": importlib.import_module("llama_index.core.workflow").Context(self.agent)}

    @cached_property
    def session(self) -> Any:
        """Its session of the Agent Framework."""
        return self.agent.create_session()

    def ask_graph(self, text: str) -> Any:
        """Ask a graph of LangGraph. Without a checkpointer, it also gets the earlier messages."""
        message = {"role": "user", "content": text}
        settings: dict[str, Any] = {"context": {}} if self.agent.context_schema else {}
        if getattr(self.agent, "checkpointer", None):
            return self.agent.ainvoke({"messages": [message]}, {"configurable": {"thread_id": THREAD}}, **settings)
        earlier = self.before["messages"] if self.before else ()
        return self.agent.ainvoke({"messages": [*earlier, message]}, **settings)

    def ask_runner(self, text: str) -> Any:
        """Ask an agent of the OpenAI Agents SDK."""
        earlier = self.before.to_input_list() if self.before else ()
        asked = [*earlier, {"role": "user", "content": text}] if earlier else text
        return importlib.import_module("agents").Runner.run(self.agent, asked)

    def ask_crew(self, text: str) -> Any:
        """Ask a crew, or an agent of one, which gets the earlier messages too.

        Raises:
            UsageError: it is a crew, and has been asked before.
        """
        if type(self.agent).__name__ == "Agent":
            return self.agent.kickoff_async(self.said if self.before else text)
        if self.before is not None:
            raise UsageError("a CrewAI Crew cannot hold a conversation; write a function that takes `history`")
        return self.agent.kickoff_async({"query": text})


THREAD = f"conversation-{uuid4()}"
"""The name of this process's conversation, as an agent may keep all of its conversations in a database."""

RUNS: Mapping[str, Callable[[TalkingAgent, str], Any]] = {
    "langgraph": TalkingAgent.ask_graph,
    "agents": TalkingAgent.ask_runner,
    "pydantic_ai": lambda own, text: own.agent.run(text, message_history=own.before and own.before.all_messages()),
    "agno": lambda own, text: own.agent.arun(text, session_id=THREAD),
    "smolagents": lambda own, text: own.agent.run(text, reset=own.before is None),
    "autogen_agentchat": lambda own, text: own.agent.run(task=text),
    "agent_framework": lambda own, text: own.agent.run(text, session=own.session),
    "llama_index": lambda own, text: own.agent.run(user_msg=text, **own.llama_state),
    "crewai": TalkingAgent.ask_crew,
    "google": lambda own, text: own.adk_runner.run_debug(text, quiet=True),
}
"""Package of a framework -> how its documentation has an agent answer a message."""

PARTS = ("final_output", "output", "raw", "text", "content", "parts", "response", "messages")
"""Attributes and keys of results that hold the answer; in lists, the last item holds it."""


def package_of(agent: Any) -> str:
    """Return the package that an agent's class is from."""
    return type(agent).__module__.partition(".")[0]


async def begin(agent: Any, task: Mapping[str, Any]) -> Callable[[str], Awaitable[str]]:
    """Return a function that has an agent answer a message; the task is as programs get it."""
    if package_of(agent) in RUNS:
        return TalkingAgent(agent).ask
    spec = TrialSpec(
        trial="program",
        key=TrialKey(framework="program", query_id=1),
        query=task["query"],
        system_prompt=task["instructions"],
        server_url=task["tools_url"],
        **{name: task[name] for name in ("tools", "endpoint", "limits")},
    )
    live, code = LiveAgent("program", agent), ForeignCode(agent)
    if "conversation" in task and not live.converses:
        raise UsageError(f"{live.version} can only be asked once: give it the parameter `history`")
    made, tools = await live.make(spec, code)
    answer = await live.begin(made, tools, spec, code)

    async def say(text: str) -> str:
        return (await answer(text)).final_answer

    return say


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
    """Return the object with the answer in a part of a result, or None if there is no answer."""
    if isinstance(found, str | list | tuple):
        return found
    for name in PARTS:
        value = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
        # LlamaIndex has the endpoint's last chunk as `raw`.
        if value is not None and not callable(value) and (name != "raw" or isinstance(value, str)):
            return value
    return None


async def serve(path: Path, name: str) -> None:
    """Read the task, and write the answer; in a conversation, go on with the next messages."""
    # What the file prints is not an answer.
    lines, answers = sys.stdin, sys.stdout
    with redirect_stdout(sys.stderr):
        task = message = json.loads(lines.readline())
        ask = await begin(getattr(importlib.import_module(path.stem), name), task)
        while message is not None:
            answer = await ask(message["query"])
            line = json.dumps({"final_answer": answer}) if "conversation" in task else answer
            answers.write(f"{line}\n")
            answers.flush()
            message = json.loads(await asyncio.to_thread(lines.readline) or "null")


def main() -> None:
    """Run the agent of a file."""
    path = Path(sys.argv[1])
    sys.path.insert(0, str(path.parent))
    asyncio.run(serve(path, sys.argv[2]))


if __name__ == "__main__":
    main()
