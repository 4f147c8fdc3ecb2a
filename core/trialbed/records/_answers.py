"""The answer of an agent, with the calls that it claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

from trialbed.records._apis import ApiRef
from trialbed.records._base import Json, Record
from trialbed.records._models import Usage

Finish = Literal["give_answer", "give_up_and_restart"]

GIVE_UP = "GIVE_UP"
"""A model writes this first when it cannot solve the task."""


def finish_of(text: str) -> Finish | None:
    """Return how an agent with this last message finished, or None if the message is empty."""
    stripped = text.strip()
    if not stripped:
        return None
    return "give_up_and_restart" if stripped.startswith(GIVE_UP) else "give_answer"


class ClaimedCall(Record):
    """A tool call that the framework reports.

    Attributes:
        name: the reported name, which is the tool's name or the original ``{tool_name}_{api_name}``.
        api: the Api meant; None if no tool of this name was offered.
        arguments: the reported arguments; text if the framework kept text that is not a JSON object.
        response: the reported response, as text.
    """

    name: str
    api: ApiRef | None = None
    arguments: dict[str, Json] | str | None = None
    response: str = ""


LONG = 50_000
"""Characters of an answer that is read in about 50 ms."""


class Answer(Record):
    """The outcome of a trial in the agent's own words, which are not verified.

    The text alone is enough: ``Answer(final_answer="Paris")`` has answered and finished, and claims nothing else.

    Attributes:
        final_answer: text for the user; empty when the agent did not finish.
        calls: in the order of the framework's report.
        finish: how the agent ended: an answer, giving up, or None when it did not finish (step limit, empty text). If
            it is not given, ``finish_of`` reads it from the text.
        usage: tokens counted by the framework, None if it does not count them.
        model_turns: model calls counted by the framework, None if it does not count them.
        reports_calls: whether it says which calls were made; if not, ``calls`` is empty and claims nothing. By default
            it is true if ``calls`` is given.
    """

    final_answer: str
    calls: tuple[ClaimedCall, ...] = ()
    finish: Finish | None = None
    usage: Usage | None = None
    model_turns: int | None = None
    reports_calls: bool = True

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        text = given.get("final_answer")
        finish = finish_of(text) if isinstance(text, str) else None
        return {"finish": finish, "reports_calls": "calls" in given, **given}

    @property
    def is_long(self) -> bool:
        """Return whether reading it takes long enough to be done in a thread."""
        return len(self.final_answer) > LONG
