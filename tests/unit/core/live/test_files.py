"""Agents of frameworks in files that are asked again: stand-ins for the frameworks keep what they get."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AGENTS = '''
import sys
from types import ModuleType, SimpleNamespace

for name in ("llama_index.core.memory", "llama_index.core.workflow"):
    sys.modules[name] = ModuleType(name)
sys.modules["llama_index.core.memory"].Memory = SimpleNamespace(from_defaults=lambda session_id: [session_id])
sys.modules["llama_index.core.workflow"].Context = lambda agent: {}


class Agent:
    """CrewAI's: a message, or a list of messages."""

    async def kickoff_async(self, messages):
        said = messages if isinstance(messages, str) else " ".join(one["content"] for one in messages)
        return SimpleNamespace(raw=f"({said})")


class Crew:
    """CrewAI's: the inputs of its tasks."""

    async def kickoff_async(self, inputs):
        return SimpleNamespace(raw=inputs["query"])


class FunctionAgent:
    """LlamaIndex's: its answer has the endpoint's last chunk beside the message."""

    async def run(self, user_msg, memory, ctx):
        memory.append(user_msg)
        return SimpleNamespace(raw={"id": "chunk"}, response=SimpleNamespace(content=" ".join(memory[1:])))


Agent.__module__ = Crew.__module__ = "crewai.core"
FunctionAgent.__module__ = "llama_index.core"
agent, crew, function_agent = Agent(), Crew(), FunctionAgent()
'''


def ask(tmp_path: Path, name: str, *messages: str) -> tuple[list[str], str]:
    """Return an agent's answers, and what it writes to standard error."""
    (tmp_path / "agents.py").write_text(AGENTS)
    given: list[dict[str, Any]] = [{"query": text, "conversation": True} for text in messages]
    done = subprocess.run(
        [sys.executable, "-m", "trialbed.live", str(tmp_path / "agents.py"), name],
        input="".join(f"{json.dumps(one)}\n" for one in given),
        capture_output=True,
        text=True,
        check=False,
    )
    return [json.loads(line)["final_answer"] for line in done.stdout.splitlines()], done.stderr


@pytest.mark.parametrize(
    ("name", "answers"),
    [("agent", ["(one)", "(one (one) two)"]), ("function_agent", ["one", "one two"]), ("crew", ["one"])],
)
def test_an_agent_of_a_file_gets_what_was_said_before(tmp_path: Path, name: str, answers: list[str]) -> None:
    found, errors = ask(tmp_path, name, "one", "two")
    assert found == answers
    assert ("a CrewAI Crew cannot hold a conversation; write a function" in errors) == (name == "crew")
