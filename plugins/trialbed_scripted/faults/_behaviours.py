"""Ways in which a vendor answers wrongly although nothing is wrong with the form of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import offered_functions
from trialbed_scripted.faults._answers import LETTERS, Answer, usage_of
from trialbed_scripted.faults._script import Fault


def seen_by(fault: Fault, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request as the vendor sees it: without the parameters that it ignores."""
    if fault.name != "ignores":
        return request
    ignored = _parameters(fault)
    return {key: value for key, value in request.items() if key not in ignored}


def refused_parameter(fault: Fault, request: Mapping[str, Any]) -> str | None:
    """The parameter for which the vendor refuses the request; None if it does not."""
    if fault.name != "refuses":
        return None
    return next((name for name in _parameters(fault) if request.get(name) is not None), None)


def _parameters(fault: Fault) -> list[str]:
    return [name.strip() for name in str(fault.settings["parameter"]).split("+")]


def _silent(answer: Answer) -> Answer:
    return replace(answer, calls=(), text=answer.text or answer.instead, finish_reason="stop")


def _calling(answer: Answer, call: Call) -> Answer:
    return replace(answer, calls=(call,), text="", finish_reason="tool_calls")


def _wrong_tool(answer: Answer, _: Fault) -> Answer:
    others = [call for call in answer.offered if all(call.name != right.name for right in answer.calls)]
    return _calling(answer, others[0]) if answer.calls and others else answer


def _never_calls(answer: Answer, _: Fault) -> Answer:
    return _silent(answer) if answer.calls else answer


def _always_calls(answer: Answer, _: Fault) -> Answer:
    return _calling(answer, answer.spare) if answer.offered and not answer.calls else answer


def _leaks(answer: Answer, fault: Fault) -> Answer:
    return replace(answer, text=f"{answer.text}{fault.settings['marker']}")


def _lossy_arguments(answer: Answer, _: Fault) -> Answer:
    return replace(answer, calls=tuple(Call(call.name, _flattened(call.arguments)) for call in answer.calls))


def _flattened(arguments: str) -> str:
    value = json.loads(arguments)
    flat = {name: item if isinstance(item, str) else json.dumps(item) for name, item in value.items()}
    return json.dumps(flat, ensure_ascii=False)


def _forgetful(answer: Answer, fault: Fault) -> Answer:
    messages = answer.request.get("messages") or ()
    turns = sum(isinstance(message, Mapping) and message.get("role") == "user" for message in messages)
    return _silent(answer) if answer.calls and turns >= fault.settings["turns"] else answer


def _short_context(answer: Answer, fault: Fault) -> Answer:
    left, seen = fault.settings["tokens"] * LETTERS, set()
    for function in offered_functions(answer.request):
        left -= len(json.dumps(function))
        if left < 0:
            break
        seen.add(function["name"])
    if all(call.name in seen for call in answer.calls):
        return answer
    known = [call for call in answer.offered if call.name in seen]
    return _calling(answer, known[0]) if known else _silent(answer)


BEHAVIOURS: dict[str, Callable[[Answer, Fault], Answer]] = {
    "wrong_tool": _wrong_tool,
    "never_calls": _never_calls,
    "always_calls": _always_calls,
    "leaks": _leaks,
    "lossy_arguments": _lossy_arguments,
    "forgetful": _forgetful,
    "short_context": _short_context,
}


def behaving(answer: Answer, fault: Fault) -> Answer:
    """The answer of a vendor with this behaviour, with the usage that it then has."""
    changed = BEHAVIOURS[fault.name](answer, fault)
    if changed is answer or answer.usage is None:
        return changed
    return replace(changed, usage=usage_of(answer.request, changed.text, changed.calls))
