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
