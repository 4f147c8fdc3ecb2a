"""An adapter for a contract that is no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from trialbed import BaseAgent, Tool


class OutdatedAgent(BaseAgent):
    """Would work, were it still contract 0."""

    contract: ClassVar[str] = "0"

    @classmethod
    def framework_version(cls) -> str:
        return "0"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        pass

    def answer(self, query: str) -> Mapping[str, Any]:
        return {"answer": {"final_answer": "", "answer_details": []}}
