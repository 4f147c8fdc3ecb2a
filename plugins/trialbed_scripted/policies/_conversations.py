"""Policies over conversations in which the user writes several messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from trialbed.evidence import carries
from trialbed.records import Json
from trialbed.wire import ModelMessage, ModelRequest, lenient_json
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.policies._policies import FOUND, NOTHING_FOUND, Policy, PolicyInput

NOTED, ASK = "Noted", "Before I can use {tool}: which {argument} do you mean?"


@dataclass(frozen=True)
class UserMessage:
    """The user's message that a policy works on, in a conversation of several.

    Attributes:
        places: of the expected calls that are to be made for it.
        facts: texts that a right answer contains.
        told: what was said in the trial so far, or is for the user to say.
    """

    text: str
    places: Sequence[int]
    facts: Sequence[str]
    told: Collection[str] = ()


def play_turn(policy: Policy, given: PolicyInput, request: ModelRequest, message: UserMessage) -> ModelTurn:
    """Play a policy over the expected calls of one of the user's messages.

    The model knows what the request shows. It asks for an argument of an expected call that the request does not show
    and that was told in the trial, or is for the user to tell; all others it infers, such as a unit. An answer with
    evidence states those of the expected facts that the request shows.
    """
    script = [given.script[place] for place in message.places]
    messages = _since(given.messages, message.text)
    own = policy(replace(given, script=script, messages=messages, places=message.places))
    shown = "\n".join(texts_of(request.messages))
    expected = [call.arguments for call in script]
    # A call whose arguments were cut is of an expected one, too.
    texts = [(call.name, text) for call in own.calls for text in (call.arguments, f"{call.arguments}}}")]
    made = [(name, arguments) for name, text in texts if (arguments := lenient_json(text)) in expected]
    leaves = [(tool, *leaf) for tool, arguments in made for leaf in _leaves("", arguments)]
    hidden = [leaf for leaf in leaves if not _is_shown(leaf[-1], shown)]
    lacking = ((tool, name) for tool, name, value in hidden if any(_is_shown(value, text) for text in message.told))
    if (found := next(lacking, None)) is not None:
        return ModelTurn(text=ASK.format(tool=found[0], argument=found[1]))
    facts = "; ".join(fact for fact in message.facts if carries(shown, fact) and not carries(own.text or "", fact))
    if own.text == NOTHING_FOUND:
        return replace(own, text=f"{facts or NOTED}.")
    return replace(own, text=f"{own.text} {facts}.") if facts and str(own.text).startswith(FOUND) else own


def _since(messages: Sequence[ModelMessage], text: str) -> Sequence[ModelMessage]:
    """Return the messages from the last one that has the user's text; frameworks put it among others."""
    places = [at for at, message in enumerate(messages) if message.role != "assistant" and text in message.text]
    return messages[places[-1] :] if places else messages


def texts_of(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Yield what messages say, and the arguments of their calls."""
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
    return (isinstance(value, str) and value in text) or carries(text, str(value))
