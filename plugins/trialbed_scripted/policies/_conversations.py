"""Policies over conversations in which the user writes several messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trialbed.evidence import carries
from trialbed.records import Json, UserTurn
from trialbed.wire import ModelMessage, ModelRequest, lenient_json
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.policies._policies import FOUND, NOTHING_FOUND, Policy, PolicyInput

NOTED, UNKNOWN = "Noted", "I cannot do that: nobody told me {}."


def play_turn(
    policy: Policy, given: PolicyInput, request: ModelRequest, turns: Sequence[UserTurn], place: int
) -> ModelTurn:
    """Play a policy over the expected calls of one of the user's messages.

    The model knows what the request shows. It does not make an expected call with an argument that the request does not
    show, and says which one it lacks. An answer with evidence states those of the turn's facts that the request shows.

    Args:
        place: of the message among the user's, from 0.
    """
    turn, first = turns[place], sum(earlier.calls for earlier in turns[:place])
    script = given.script[first : first + turn.calls]
    own = policy(replace(given, script=script, messages=_since(given.messages, turn.text), first=first))
    shown = "\n".join(_texts(request.messages))
    expected = [call.arguments for call in script]
    made = [arguments for call in own.calls if (arguments := lenient_json(call.arguments)) in expected]
    lacking = (name for name, value in _leaves("", made) if not _is_shown(value, shown))
    if (name := next(lacking, None)) is not None:
        return ModelTurn(text=UNKNOWN.format(name))
    facts = "; ".join(fact for fact in turn.facts if carries(shown, fact) and not carries(own.text or "", fact))
    if own.text == NOTHING_FOUND:
        return replace(own, text=f"{facts or NOTED}.")
    return replace(own, text=f"{own.text} {facts}.") if facts and str(own.text).startswith(FOUND) else own


def _since(messages: Sequence[ModelMessage], text: str) -> Sequence[ModelMessage]:
    """Return the messages from the last one that has the user's text; frameworks put it among others."""
    places = [at for at, message in enumerate(messages) if message.role != "assistant" and text in message.text]
    return messages[places[-1] :] if places else messages


def _texts(messages: Sequence[ModelMessage]) -> Iterator[str]:
    for message in messages:
        yield message.text
        yield from (call.arguments for call in message.calls)


def _leaves(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield the texts and numbers in arguments, each with the name of the argument."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(name or key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value


def _is_shown(value: str | float, text: str) -> bool:
    return str(value) in text or carries(text, str(value))
