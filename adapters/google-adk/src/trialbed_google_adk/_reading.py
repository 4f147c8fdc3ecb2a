"""Reads the events of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.adk.events import Event
from google.genai import types

from trialbed import Usage

LIMIT = "LlmCallsLimitExceededError"
"""The code of the event before ADK raises this error; it is not a message of the model's."""


def made_calls(events: Sequence[Event]) -> Iterator[tuple[types.FunctionCall, str]]:
    """Yield the calls that have a result, in the model's order, each with its result as text."""
    asked: list[types.FunctionCall] = []
    for event in events:
        asked = event.get_function_calls() or asked
        returned = event.get_function_responses()
        for call in asked if returned else ():
            # Ids may be equal, and results are in the order of their calls.
            place = next((place for place, one in enumerate(returned) if one.id == call.id), None)
            if place is not None:
                response: Mapping[str, Any] = returned.pop(place).response or {}
                if "result" in response:
                    yield call, str(response["result"])


def answers(events: Sequence[Event]) -> list[Event]:
    """Return the events with messages of the model, including messages that ADK could not use."""
    return [
        event
        for event in events
        if event.author != "user" and not event.get_function_responses() and event.error_code != LIMIT
    ]


def ends_without_event(events: Sequence[Event]) -> bool:
    """Return whether the last message has no event, since ADK makes none for an empty one without a finish reason."""
    return not events or bool(events[-1].get_function_responses())


def count_turns(events: Sequence[Event]) -> int:
    """Return the number of the model's messages."""
    return len(answers(events)) + ends_without_event(events)


def final_text(events: Sequence[Event]) -> str:
    """Return the text of the last message."""
    written = () if ends_without_event(events) else answers(events)
    content = written[-1].content if written else None
    return "".join(part.text for part in (content.parts if content else None) or () if part.text and not part.thought)


def claimed_usage(events: Sequence[Event]) -> Usage | None:
    """Return the tokens of all messages; None if one came without."""
    if ends_without_event(events):
        return None
    total = Usage()
    for event in answers(events):
        spent = event.usage_metadata
        # LiteLLM writes 0 if an endpoint says nothing.
        if spent is None or not spent.prompt_token_count:
            return None
        total += Usage(prompt_tokens=spent.prompt_token_count, completion_tokens=spent.candidates_token_count or 0)
    return total
