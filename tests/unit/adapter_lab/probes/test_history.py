"""The checks of conversations, on agents that each do one thing wrong with the history."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed import Answer
from trialbed_adapter_lab import check_adapter
from trialbed_adapter_lab.probe import probes_of
from trialbed_adapter_lab.probes import history
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Windowed(ReferenceAgent):
    """It sends the last three turns."""

    async def answer(self, query: str) -> Answer:
        user = [place for place, message in enumerate(self._messages) if message["role"] == "user"]
        self._messages = [*self._messages[:1], *self._messages[user[-3] :]] if len(user) > 3 else self._messages
        return await super().answer(query)


class KeepsTexts(ReferenceAgent):
    """It keeps the texts of user and assistant alone."""

    async def answer(self, query: str) -> Answer:
        self._messages = [one for one in self._messages if one["role"] != "tool" and not one.get("tool_calls")]
        return await super().answer(query)


class RepeatsThePrompt(ReferenceAgent):
    """It stores the prompt with each turn."""

    async def answer(self, query: str) -> Answer:
        self._messages += self._messages[:1]
        return await super().answer(query)


class Shuffles(ReferenceAgent):
    """It sends the last exchange first."""

    async def answer(self, query: str) -> Answer:
        self._messages = [*self._messages[:1], *self._messages[-2:], *self._messages[1:-2]]
        return await super().answer(query)


class Remembers(ReferenceAgent):
    """It asks the model for memories after each turn."""

    async def answer(self, query: str) -> Answer:
        found = await super().answer(query)
        await self._ask([{"role": "system", "content": "Which facts are new?"}, {"role": "user", "content": query}])
        return found


class StoresAtTheEnd(ReferenceAgent):
    """It forgets a turn that fails."""

    async def answer(self, query: str) -> Answer:
        before = list(self._messages)
        try:
            return await super().answer(query)
        except Exception:
            self._messages = before
            raise


class AskedOnce(ReferenceAgent):
    """It cannot be asked again."""

    converses = False


FAILED = {"failed_turn_is_remembered"}


@pytest.mark.parametrize(
    ("agent", "fails"),
    [
        (ReferenceAgent, set()),
        (Windowed, {"ten_turns_are_kept"}),
        (KeepsTexts, {"three_turns_are_kept", "ten_turns_are_kept", "results_are_remembered", *FAILED}),
        (RepeatsThePrompt, {"prompt_in_every_turn"}),
        (Shuffles, {"turns_keep_their_order"}),
        (StoresAtTheEnd, FAILED),
    ],
)
def test_what_is_done_to_the_history_is_seen(agent: type[Any], fails: set[str]) -> None:
    report = check_adapter(agent, probes_of(history), profile="controlled", level="info")
    assert {finding.check for finding in report.problems} == fails
    (figures,) = (finding.seen for finding in report.findings if finding.level == "info")
    assert isinstance(figures, dict)
    assert figures["messages dropped"] == {Windowed: 14, KeepsTexts: 2}.get(agent, 0)
    assert figures["bytes, turn 1"] < figures["bytes, turn 3"]


def test_requests_for_a_memory_are_seen() -> None:
    report = check_adapter(Remembers, [history.no_requests_beside_the_turns], profile="controlled")
    assert "extra request" in report.findings[0].message


def test_an_agent_that_is_asked_once_is_not_tried() -> None:
    report = check_adapter(AskedOnce, probes_of(history), level="info")
    assert {finding.outcome for finding in report.findings} == {"skipped"}
