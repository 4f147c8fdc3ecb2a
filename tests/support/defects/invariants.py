"""Adapters that are right in short trials, and wrong in long ones or where no check looks for it."""

from __future__ import annotations

from typing import Any

from support.defects._defective import Defective

SHORT = 12
"""Messages for which they are right."""


class Forgetful(Defective):
    """Has a conversation of its own once it is long."""

    def shorten(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages that a long conversation is left with."""
        return messages

    def _request(self, messages):
        return super()._request(self.shorten(messages) if len(messages) > SHORT else messages)


class KeepsResultsWithoutTheirCalls(Forgetful):
    caught_by = ("results_follow_their_calls", "conversation_only_grows")

    def shorten(self, messages):
        return [*messages[:2], *messages[3:]]


class LooksUpTheModelInTheEnd(Defective):
    caught_by = ("nothing_else_is_asked",)

    async def _ask(self, messages):
        if len(messages) > SHORT:
            await self._client.get(f"{self.endpoint.base_url}/models")
        return await super()._ask(messages)


class ClaimsTheFirstCallsOnly(Defective):
    caught_by = ("claims_are_right_everywhere",)

    async def answer(self, query):
        answer = await super().answer(query)
        return answer.model_copy(update={"calls": answer.calls[:SHORT]})
