"""Answers of a model that no framework should get."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from trialbed_adapter_lab.harness._records import ObservedRequest
from trialbed_scripted import ReceivedRequest, Response, Turn, ask, call, say

FINAL_TEXT = "The stations measured what was expected."
"""The answer of the model after its fault."""

ARGUMENTS = {"instrument": "gauge", "day": "Wed"}
"""The arguments of a call that is right but for the way in which it is written."""

DETAILED_USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 20,
    "total_tokens": 60,
    "prompt_tokens_details": {"cached_tokens": 32, "audio_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 16, "audio_tokens": 1},
}
"""The tokens that an answer reports, with the parts that are in the sums already."""

CUT_TEXT = "The stations meas"

Answer = Turn | Response


def _call(
    arguments: str, finish: str = "", *, text: str | None = None, rename: Callable[[str], str] = str
) -> Callable[[ReceivedRequest], Answer]:
    """Return an answer that calls the first tool on offer, or a name like its own."""

    def answer(request: ReceivedRequest) -> Answer:
        name = rename(next((tool.name for tool in request.asked.tools), "none"))
        return ask(call(name, arguments, "call_erring_1"), text=text, finish_reason=finish)

    return answer


def _call_in_text(form: str) -> Callable[[ReceivedRequest], Answer]:
    """Return an answer that writes a call of the first tool on offer in its text."""

    def answer(request: ReceivedRequest) -> Answer:
        name = next((tool.name for tool in request.asked.tools), "none")
        return say(form.format(json.dumps({"name": name, "arguments": ARGUMENTS})))

    return answer


def _always(answer: Turn) -> Callable[[ReceivedRequest], Answer]:
    return lambda _: answer


WITHOUT_MESSAGE: Mapping[str, Mapping[str, object]] = {
    "chat_completions": {"object": "chat.completion", "choices": []},
    "messages": {"type": "message", "role": "assistant", "stop_reason": "end_turn"},
    "responses": {"object": "response", "status": "completed", "created_at": 0},
}
"""Dialect -> an answer without the part that the model writes."""


def without_message(request: ReceivedRequest | ObservedRequest) -> Response:
    """Return an answer without the part that the model writes."""
    return Response.document({"id": "erring", "created": 0, "model": "erring", **WITHOUT_MESSAGE[request.dialect]})


def _overloaded(request: ReceivedRequest) -> Response:
    return Response.document(request.spoken.write_error("the model is overloaded", "server_error"))


HUGE_NUMBER = "a number of 5,000 digits"

FAULTY_ANSWERS: dict[str, Callable[[ReceivedRequest], Answer]] = {
    "arguments cut by the length limit": _call('{"instrument": "gau', "length"),
    "arguments that are a list": _call("[1]"),
    "arguments that are a text": _call('"text"'),
    "arguments that are empty": _call(""),
    "arguments that are null": _call("null"),
    "arguments that are encoded twice": _call(json.dumps(json.dumps(ARGUMENTS))),
    "arguments as Python writes them": _call(str(ARGUMENTS)),
    "arguments in a fence": _call(f"```json\n{json.dumps(ARGUMENTS)}\n```"),
    "arguments with a comma too many": _call(json.dumps(ARGUMENTS)[:-1] + ",}"),
    "a tool's name in another case": _call(json.dumps(ARGUMENTS), rename=str.lower),
    "a tool's name in a namespace": _call(json.dumps(ARGUMENTS), rename="functions.{}".format),
    "a call in tags of its text": _call_in_text("<tool_call>\n{}\n</tool_call>"),
    "a call as its text": _call_in_text("{}"),
    "thoughts in tags and a call": _call(json.dumps(ARGUMENTS), text="<think>A tool is needed.</think>"),
    "a text and a call": _call(json.dumps(ARGUMENTS), text="Let me look."),
    "a call with the finish reason stop": _call(json.dumps(ARGUMENTS), "stop"),
    "a text with the finish reason eos": _always(say(FINAL_TEXT, finish_reason="eos")),
    "a text with the finish reason of calls": _always(say(FINAL_TEXT, finish_reason="tool_calls")),
    "details of its tokens": _always(say(FINAL_TEXT, usage=DETAILED_USAGE)),
    HUGE_NUMBER: _call(f'{{"instrument": {"9" * 5000}, "day": "Wed"}}'),
    "an empty text": _always(say("")),
    "no text and no call": _always(say(None)),
    "a text cut by the length limit": _always(say(CUT_TEXT, finish_reason="length")),
    "no text, by the length limit": _always(say(None, finish_reason="length")),
    "a text cut by the content filter": _always(say(CUT_TEXT, finish_reason="content_filter")),
    "a refusal": _always(say(None, refusal="I cannot help with that.")),
    "an answer without choices": without_message,
    "an error with status 200": _overloaded,
}
"""The fault of an answer -> the answer to a request."""
