"""The part that all agents that do harm share."""

from __future__ import annotations

from typing import Any

from trialbed import Answer, BaseAgent

NAP = 600
"""Seconds that outlast every limit of a trial."""


def done(text: str = "fine") -> Answer:
    """Return an answer, after which the trial should count as answered."""
    return Answer(final_answer=text, finish="give_answer")


class Base(BaseAgent):
    """An agent that can be bound to any tools."""

    contract = "3"

    @classmethod
    def framework_version(cls) -> str:
        """Return a version that no framework has."""
        return "6.6.6"

    def bind_tools(self, tools: Any, *, server_url: str | None) -> None:
        """Take no notice of the tools."""
