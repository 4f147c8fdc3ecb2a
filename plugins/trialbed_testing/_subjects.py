"""The agents that a test can run: objects of its process, frameworks, and programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trialbed.errors import UsageError


@dataclass(frozen=True)
class AgentProgram:
    """A program that answers a query, in any language, as ``bench run --command`` starts it.

    Attributes:
        command: the program and its arguments; files are looked for in the current folder.
    """

    command: str


@dataclass(frozen=True)
class Subject:
    """The agent of a trial, as the engine takes it.

    Attributes:
        settings: those of the run which name it.
        objects: by name, the agents that are objects of this process.
    """

    settings: dict[str, Any]
    objects: dict[str, Any] = field(default_factory=dict)


def as_subject(agent: Any) -> Subject:
    """Return an agent as the engine takes it.

    Raises:
        UsageError: it is an empty text.
    """
    if isinstance(agent, AgentProgram):
        return Subject({"frameworks": (), "commands": (agent.command,)})
    if isinstance(agent, str):
        if not agent.strip():
            raise UsageError("run: the agent is an empty text; give a framework's name, such as 'langgraph'")
        return Subject({"frameworks": (agent,)})
    name = name_of(agent)
    return Subject({"frameworks": (name,)}, {name: agent})


def name_of(thing: Any) -> str:
    """Return a name for an object that can stand in a run."""
    name = getattr(thing, "__name__", None) or type(thing).__name__
    kept = "".join(character for character in str(name) if character.isalnum() or character in "_.-")
    return kept or "agent"
