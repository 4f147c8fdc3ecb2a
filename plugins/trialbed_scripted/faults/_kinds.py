"""Every fault by name, with its settings and its changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from trialbed.wire import ModelRequest
from trialbed.wire.dialects import CHAT
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import Response, fail
from trialbed_scripted._turns import Turn
from trialbed_scripted.faults import _atlas
from trialbed_scripted.faults import _behaviours as behaviours
from trialbed_scripted.faults import _breaks as breaks
from trialbed_scripted.faults._edits import EDITS, Edit, rewrite

NONE = "none"
UNKNOWN = "tool_that_was_not_offered"
REASONING = "Let me think about what is asked for here."

Settings = Mapping[str, Any]


class FaultKind(NamedTuple):
    """A fault: its effect, its settings with their defaults, and the stages of an answer that it changes.

    ``name:value`` sets the first setting. A stage that is None stays as it is.

    Attributes:
        ignores: the setting that lists the parameters of requests that the model does not see.
        refuses: the setting that lists the parameters for which a request is refused.
        turn: changes the turn of the model.
        edits: by dialect, the edits of the form of the answer; a dialect that is not among them cannot have the fault.
        response: changes what goes over the wire.
    """

    text: str
    settings: Settings = MappingProxyType({})
    ignores: str = ""
    refuses: str = ""
    turn: behaviours.TurnChange | None = None
    edits: Mapping[str, Edit] = MappingProxyType({})
    response: breaks.ResponseChange | None = None


def _behaviour(text: str, change: behaviours.TurnChange, settings: Settings = MappingProxyType({})) -> FaultKind:
    return FaultKind(text, settings, turn=behaviours.with_usage(change))


def _saying(text: str, change: Callable[[Turn], Turn]) -> FaultKind:
    return FaultKind(text, turn=lambda turn, _request, _settings: change(turn))


def _calling(text: str, *, name: str | None = None, arguments: str | None = None) -> FaultKind:
    return FaultKind(
        text,
        turn=lambda turn, request, _: behaviours.spoil_calls(turn, request, name=name, arguments=arguments),
    )


def _edit_form(name: str, text: str, *, calls: int = 0) -> FaultKind:
    edits = {dialect: of_dialect[name] for dialect, of_dialect in EDITS.items() if name in of_dialect}
    turn = (lambda turn, request, _: behaviours.make_calls(turn, request, calls)) if calls else None
    return FaultKind(text, turn=turn, edits=edits)


def _break(text: str, change: breaks.ResponseChange, settings: Settings = MappingProxyType({})) -> FaultKind:
    return FaultKind(text, settings, response=change)


def _instead(text: str, response: Response) -> FaultKind:
    return FaultKind(text, response=breaks.always(response))


FAULTS: MappingProxyType[str, FaultKind] = MappingProxyType(
    {
        NONE: FaultKind("a right answer"),
        "status": _break("an HTTP error in OpenAI's form", breaks.status, {"status": 500, "retry_after": 0.0}),
        "reset_before": _instead("the connection is reset before any answer", Response(bare=True, ending="reset")),
        "close_before": _instead("the connection is closed before any answer", Response(bare=True, ending="close")),
        "reset_midstream": _break("the connection is reset in the middle of the body", breaks.drop("reset")),
        "cut_stream": _break("the connection is closed in the middle of the body", breaks.drop("close")),
        "truncated": _break("the body ends properly, but in the middle of the answer", breaks.cut_short),
        "no_done": _edit_form("no_done", "a stream without [DONE]"),
        "no_finish_reason": _saying(
            "an answer without any finish reason", lambda turn: replace(turn, finish_reason=None)
        ),
        "malformed_event": _edit_form("malformed_event", "an event that is not JSON, in the middle"),
        "error_event": _edit_form("error_event", "an error as an event, in the middle"),
        "error_body": _break("HTTP 200 with an error as its body", breaks.error_body),
        "html": _instead("HTTP 200 with a web page", Response.text(breaks.PAGE, "text/html")),
        "wrong_content_type": _break("a stream with the content type text/plain", breaks.as_text),
        "null_message": _edit_form("null_message", "a completion whose message is null"),
        "no_choices": _edit_form("no_choices", "a completion without choices"),
        "empty": _break("HTTP 200 with an empty body", breaks.empty),
        "null_usage": _saying(
            "usage with a null in it",
            lambda turn: replace(turn, usage={**(turn.usage or {}), "completion_tokens": None}),
        ),
        "usage_in_choice": _edit_form("usage_in_choice", "usage in the last choice only"),
        "no_index": _edit_form("no_index", "fragments of tool calls without their index", calls=2),
        "name_fragments": _edit_form("name_fragments", "names of tools in fragments", calls=2),
        "two_choices": _edit_form("two_choices", "two choices"),
        "reasoning": _saying("reasoning before the answer", lambda turn: replace(turn, reasoning=REASONING)),
        "finish": FaultKind(
            "another finish reason",
            {"reason": "length"},
            turn=lambda turn, _, settings: replace(turn, finish_reason=settings["reason"]),
        ),
        "calls_with_stop": FaultKind(
            "tool calls that end with the finish reason stop",
            turn=lambda turn, request, _: replace(behaviours.make_calls(turn, request), finish_reason="stop"),
        ),
        "unknown_tool": _calling("a call of a tool that was not offered", name=UNKNOWN),
        "bad_arguments": _calling("a call whose arguments do not parse", arguments='{"broken": '),
        "wrong_tool": _behaviour("a call of another tool than the right one", behaviours.wrong_tool),
        "never_calls": _behaviour("a text instead of a call", behaviours.never_calls),
        "always_calls": _behaviour("a call instead of a text, where tools are offered", behaviours.always_calls),
        "leaks": _behaviour(
            "a mark of the chat template at the end of the text", behaviours.leaks, {"marker": "<|im_end|>"}
        ),
        "lossy_arguments": _behaviour("arguments whose values have all become strings", behaviours.lossy_arguments),
        "forgetful": _behaviour("no calls from a turn of the conversation on", behaviours.forgetful, {"turns": 3}),
        "short_context": _behaviour(
            "tools beyond a number of tokens are not seen", behaviours.short_context, {"tokens": 8000}
        ),
        "ignores": FaultKind(
            "parameters of requests are ignored, `+` between several",
            {"parameter": "tool_choice+parallel_tool_calls+response_format+max_tokens"},
            ignores="parameter",
        ),
        "refuses": FaultKind(
            "requests with one of these parameters get HTTP 400", {"parameter": "logprobs"}, refuses="parameter"
        ),
        "echo_key": _break("an error that repeats the client's key", breaks.echo_key, {"status": 401}),
        "slow": _break("seconds before the first token", breaks.delay, {"seconds": 1.0}),
        "silent": _instead("no answer at all", Response(bare=True, ending="never")),
    }
)


@cache
def find_kind(name: str) -> FaultKind:
    """Return the kind of a fault: one of ``FAULTS``, or a row of the atlas.

    Raises:
        KeyError: there is none.
    """
    if name in FAULTS:
        return FAULTS[name]
    row = _atlas.atlas()[name]
    return FaultKind(
        row["says"],
        turn=partial(_atlas.change_turn, row),
        edits={CHAT: partial(_atlas.edit_parts, row)},
        response=partial(_atlas.change_response, row),
    )


@dataclass(frozen=True)
class Fault:
    """A fault and its settings, such as ``status`` and ``retry_after`` of ``status``."""

    name: str = NONE
    settings: Settings = field(default_factory=dict)

    @property
    def kind(self) -> FaultKind:
        """The kind of the fault."""
        return find_kind(self.name)

    def shorten(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the request as the model sees it: without the parameters that it ignores."""
        ignored = self._parameters(self.kind.ignores)
        return {key: value for key, value in document.items() if key not in ignored} if ignored else document

    def refuse(self, request: ReceivedRequest) -> Response | None:
        """Return the refusal of a request for one of its parameters; None if it is not refused."""
        parameters = self._parameters(self.kind.refuses)
        refused = next((name for name in parameters if request.document.get(name) is not None), None)
        if refused is None:
            return None
        message = f"the parameter {refused!r} is not supported"
        return fail(400, message, "invalid_request_error", spoken=request.spoken)

    def change_turn(self, turn: Turn, request: ModelRequest) -> Turn:
        """Do this fault to a turn."""
        return turn if self.kind.turn is None else self.kind.turn(turn, request, self.settings)

    def edit(self, response: Response, dialect: str) -> Response:
        """Do this fault to the form of an answer.

        Raises:
            LookupError: no answer in this dialect can have it.
        """
        edits = self.kind.edits
        if edits and dialect not in edits:
            raise LookupError(f"{dialect} has no fault {self.name!r}, but {', '.join(edits)}")
        return rewrite(response, edits[dialect]) if edits else response

    def change_response(self, response: Response, request: ReceivedRequest) -> Response:
        """Do this fault to a response."""
        return response if self.kind.response is None else self.kind.response(response, request, self.settings)

    def _parameters(self, setting: str) -> list[str]:
        return [name.strip() for name in str(self.settings[setting]).split("+")] if setting else []
