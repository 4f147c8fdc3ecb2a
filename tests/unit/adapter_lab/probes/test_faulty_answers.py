"""The probes of a model that errs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.mutants._mutant import Mutant

from trialbed import Answer, BaseAgent, ModelFailed
from trialbed_adapter_lab import PROBES, check_adapter
from trialbed_adapter_lab.probes.faulty_answers import CASES
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Repeats(Mutant):
    """Asks again for ever after an error, each time after a longer pause."""

    async def on_ask(self, messages: Any) -> Any:
        for pause in (4, 8, 16, 1e6):
            try:
                return await self._ask(messages)
            except ModelFailed:
                await asyncio.sleep(pause)
        return None


class Answers(Mutant):
    """Answers with whatever ends the run: an error, or the last result."""

    async def answer(self, query: str) -> Answer:
        try:
            answer = await super().answer(query)
        except ModelFailed as error:
            return Answer(final_answer=f"An error: {str(error).partition(': ')[2]}", finish=None)
        results = [message["content"] for message in self.messages if message["role"] == "tool"]
        return answer if answer.finish else Answer(final_answer=results[-1] if results else "I stop.", finish=None)


class Guesses(Mutant):
    """Finds a tool whose name has another case."""

    def on_name(self, name: str) -> str:
        return next((tool.name for tool in self._tools.values() if tool.name.lower() == name.lower()), name)


SEEN: list[tuple[type[BaseAgent], dict[str, str]]] = [
    (
        ReferenceAgent,
        {
            "arguments that are not JSON": "answer (4)",
            "a call as its text": "answer (1)",
            "an empty text": "empty answer (1)",
            "an answer without choices": "trialbed.errors.ModelFailed (1)",
            "status 429 once": "trialbed.errors.ModelFailed (1)",
            "calls without end": "empty answer (30)",
            "status 403 after 3 requests": "empty answer (3)",
        },
    ),
    (Repeats, {"status 429 once": "answer (2)", "status 429 always": "waits (4)"}),
    (
        Answers,
        {
            "status 400": "error text as answer (1)",
            "status 403 after 3 requests": "tool result as answer (3)",
            "an empty text": "other text as answer (1)",
        },
    ),
    (Guesses, {"a tool name in another case": "answer (2), 1 guessed"}),
]


def seen(agent: type[BaseAgent], *titles: str) -> list[Any]:
    probes = [
        probe for probe in PROBES if probe.theme == "faulty_answers" and probe.summary[1:-1] in {t[1:] for t in titles}
    ]
    return [finding.seen for finding in check_adapter(agent, probes, level="info").findings]


@pytest.mark.parametrize(("agent", "cases"), SEEN)
def test_each_case_says_what_the_user_sees(agent: type[BaseAgent], cases: dict[str, str]) -> None:
    titles = [title for title in CASES if title in cases]
    assert {title: one["the user sees"] for title, one in zip(titles, seen(agent, *titles), strict=True)} == cases
