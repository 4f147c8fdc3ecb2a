"""Policies for conversations with several messages of the user."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from trialbed.evidence import carries
from trialbed.records import Json
from trialbed.wire import ModelMessage, ModelRequest, lenient_json
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.policies._policies import FOUND, NOTHING_FOUND, Policy, PolicyInput

NOTED, ASK = "Noted", "Before I can use {tool}: which {argument} do you mean?"
ASK_TO_ACT = "Please do this: {call}."


@dataclass(frozen=True)
class UserMessage:
    """A message of the user in a conversation with several.

    Attributes:
        places: the positions of the expected calls for this message.
        facts: texts that a right answer contains.
        told: the texts in the trial so far, and the facts that the user can give.
        request: the action that the user is asked for after these calls, in words; empty for none.
    """

    text: str
    places: Sequence[int]
    facts: Sequence[str]
    told: Collection[str] = ()
    request: str = ""


def play_turn(policy: Policy, given: PolicyInput, request: ModelRequest, message: UserMessage) -> ModelTurn:
    """Play a policy over the expected calls for one message of the user.

    The model knows the content of the request. If the request lacks an argument of an expected call and the user said
    it earlier or can give it, the model asks for it. It infers all other arguments, such as a unit. An answer with
    evidence contains the expected facts that the request shows, and asks the user to act.
    """
    script = [given.script[place] for place in message.places]
    messages = _since(given.messages, message.text)
    own = policy(replace(given, script=script, messages=messages, places=message.places))
    shown = "\n".join(texts_of(request.messages))
    expected = [call.arguments for call in script]
    # Compare truncated arguments, too: they may belong to an expected call.
    texts = [(call.name, text) for call in own.calls for text in (call.arguments, f"{call.arguments}}}")]
    made = [(name, arguments) for name, text in texts if (arguments := lenient_json(text)) in expected]
    leaves = [(tool, *leaf) for tool, arguments in made for leaf in _leaves("", arguments)]
    hidden = [leaf for leaf in leaves if not _is_shown(leaf[-1], shown)]
    lacking = ((tool, name) for tool, name, value in hidden if any(_is_shown(value, text) for text in message.told))
    if (found := next(lacking, None)) is not None:
        return ModelTurn(text=ASK.format(tool=found[0], argument=found[1]))
    facts = "; ".join(fact for fact in message.facts if carries(shown, fact) and not carries(own.text or "", fact))
    if own.text == NOTHING_FOUND:
        parts = [f"{facts or NOTED}.", message.request]
    elif str(own.text).startswith(FOUND):
        parts = [str(own.text), facts and f"{facts}.", message.request]
    else:
        return own
    return replace(own, text=" ".join(filter(None, parts)))


def _since(messages: Sequence[ModelMessage], text: str) -> Sequence[ModelMessage]:
    """Return the messages from the user's text on, wherever the framework put it last."""
    places = [at for at, message in enumerate(messages) if message.role != "assistant" and text in message.text]
    return messages[places[-1] :] if places else messages


def texts_of(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Yield the texts of messages and the arguments of their calls."""
    for message in messages:
        yield message.text
        yield from (call.arguments for call in message.calls)


def _leaves(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield the texts and numbers in arguments with the names of the arguments."""
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
