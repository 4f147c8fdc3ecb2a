"""Reads the answers that agents return."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from pydantic import ValidationError

from trialbed.errors import AnswerError
from trialbed.records import Answer, ApiRef, ClaimedCall, Finish
from trialbed.wire import lenient_json

ROLES = ("tool", "assistant", "user", "system")


@dataclass(frozen=True)
class NodePlace:
    """The place of a value; linked to its parent, so that a deep chain costs nothing until it is named."""

    text: str
    parent: NodePlace | None = None

    def __truediv__(self, text: str) -> NodePlace:
        return NodePlace(text, self)

    def __str__(self) -> str:
        parts = [self.text]
        place = self.parent
        while place is not None:
            parts.append(place.text)
            place = place.parent
        return "".join(reversed(parts))


@dataclass(frozen=True)
class ToolNode:
    """A node of role ``tool``, its message read."""

    place: NodePlace
    name: str
    arguments: Any
    response: Any


def tool_nodes(details: Any, place: NodePlace) -> Iterator[ToolNode]:
    """Yield the tool nodes in the order of the calls: a node, then what follows from its ``next``, then its neighbour.

    Raises:
        AnswerError: a node is malformed; names it.
    """
    pending = _number_nodes(details, place)
    while pending:
        node, at = pending.pop()
        if not isinstance(node, Mapping):
            raise AnswerError(f"{at}: a node must be an object, not {_kind(node)}")
        if _role(node, at) == "tool":
            yield _tool_node(node.get("message"), at / ".message")
        pending += _number_nodes(node.get("next", []), at / ".next")


def _number_nodes(nodes: Any, place: NodePlace) -> list[tuple[Any, NodePlace]]:
    if not isinstance(nodes, (list, tuple)):
        raise AnswerError(f"{place}: must be a list of nodes, not {_kind(nodes)}")
    return [(node, place / f"[{index}]") for index, node in enumerate(nodes)][::-1]


def _role(node: Mapping[str, Any], place: NodePlace) -> str:
    role = node.get("role")
    if role not in ROLES:
        raise AnswerError(f"{place}.role: must be one of {', '.join(ROLES)}, not {role!r}")
    return str(role)


def _tool_node(message: Any, place: NodePlace) -> ToolNode:
    fields = _parse(message, place)
    if not isinstance(fields, Mapping):
        raise AnswerError(f"{place}: must be an object with name, arguments and response, not {_kind(fields)}")
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise AnswerError(f"{place}.name: must be the tool's name, not {name!r}")
    return ToolNode(place, name, fields.get("arguments"), fields.get("response", ""))


def _parse(message: Any, place: NodePlace) -> Any:
    if not isinstance(message, str):
        return message
    try:
        return json.loads(message)
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"{place}: is not JSON: {error}") from error


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


FINISH = "Finish"

NO_ANSWER = (
    "an agent returns its answer as text, as trialbed.Answer(final_answer=…), or as an object "
    '{{"answer": {{"final_answer": …, "answer_details": […]}}}}, not {}'
)

TEXTS = ("text", "content", "output", "final_output")
"""Attributes under which the results of frameworks have their text."""


def read_answer(value: Any, names: Mapping[str, ApiRef]) -> Answer:
    """Return the answer that an agent returned in one of these forms.

    * A text, ``{"answer": text}``, or an object or mapping with a text as its ``text``, ``content``,
      ``output`` or ``final_output``, or whose last of ``messages`` has one: the agent has answered and finished, and
      claims no calls.
    * Nothing: an empty text, with which it did not finish.
    * An ``Answer``, or a mapping with the fields of one.
    * A mapping ``{"answer": {"final_answer", "answer_details"}, "called_apis"?}``. The details' nodes may be flat or
      nested by ``next``, their messages JSON text or objects. The calls are those of the details. Pairs
      ``[tool_name, api_name]`` of ``called_apis`` that no call of the details is about are added behind them, each
      once, without arguments: both are claims, and neither overrides the other. How the agent ended is in the
      ``Finish`` node; without one it did not finish.

    Args:
        value: the value that the agent returned.
        names: tool names and original titles -> Api, as ``answer_names`` gives them. A name that is not
            there is kept with no Api.

    Raises:
        AnswerError: the value is malformed; names the place, as in ``answer.answer_details[3].message``.
    """
    if isinstance(value, Answer):
        return value
    if isinstance(value, Mapping) and "final_answer" in value:
        return _from_fields(value, names)
    if isinstance(value, Mapping) and "answer" in value and not isinstance(value["answer"], str):
        return _from_document(value, names)
    text = _text_of(value.get("answer", value) if isinstance(value, Mapping) else value)
    if text is None:
        raise AnswerError(NO_ANSWER.format(_kind(value)))
    return Answer(final_answer=text.strip())


def _text_of(value: Any) -> str | None:
    """Return the text of a result; None where it has none."""
    if value is None or isinstance(value, str):
        return value or ""
    text = next((text for text in _fields(value, TEXTS) if isinstance(text, str)), None)
    messages = next(_fields(value, ("messages",)), None)
    if text is None and isinstance(messages, (list, tuple)) and messages:
        return next((text for text in _fields(messages[-1], TEXTS) if isinstance(text, str)), None)
    return text


def _fields(value: Any, names: Iterable[str]) -> Iterator[Any]:
    of = value.get if isinstance(value, Mapping) else partial(getattr, value)
    return (of(name, None) for name in names)


def _from_fields(value: Mapping[str, Any], names: Mapping[str, ApiRef]) -> Answer:
    try:
        answer = Answer.model_validate({**value, **_claims(value)})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, ("answer", *problem["loc"])))
        raise AnswerError(f"{place}: {problem['msg']}") from error
    calls = [call.model_copy(update={"api": call.api or names.get(call.name)}) for call in answer.calls]
    return answer.model_copy(update={"calls": tuple(calls)})


def _claims(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the calls with responses as text: any JSON may be claimed as a response."""
    calls = value.get("calls")
    return {"calls": [_claim(call) for call in calls]} if isinstance(calls, (list, tuple)) else {}


def _claim(call: Any) -> Any:
    return {**call, "response": _as_text(call.get("response", ""))} if isinstance(call, Mapping) else call


def _from_document(value: Mapping[str, Any], names: Mapping[str, ApiRef]) -> Answer:
    body = _object(value["answer"], "answer")
    nodes = list(tool_nodes(body.get("answer_details", []), NodePlace("answer.answer_details")))
    calls = [_call(node, names) for node in nodes if node.name != FINISH]
    calls += _only_listed(value.get("called_apis"), calls, names)
    finish, said = _ending(nodes)
    final = _text(body.get("final_answer", ""), "answer.final_answer")
    return Answer(final_answer=final or said, calls=tuple(calls), finish=finish)


def _call(node: ToolNode, names: Mapping[str, ApiRef]) -> ClaimedCall:
    return ClaimedCall(
        name=node.name,
        api=names.get(node.name),
        arguments=_arguments(node.arguments, node.place),
        response=_as_text(node.response),
    )


def _arguments(value: Any, place: NodePlace) -> dict[str, Any] | str | None:
    if isinstance(value, str):
        return _object_in(value)
    if value is None:
        return None
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise AnswerError(f"{place}.arguments: must be an object or its JSON text, not {type(value).__name__}")


def _object_in(text: str) -> dict[str, Any] | str:
    value = lenient_json(text)
    return value if isinstance(value, dict) else text


def _only_listed(pairs: Any, calls: Iterable[ClaimedCall], names: Mapping[str, ApiRef]) -> list[ClaimedCall]:
    if pairs is None:
        return []
    if not isinstance(pairs, (list, tuple)):
        raise AnswerError(f"called_apis: must be a list of [tool_name, api_name], not {type(pairs).__name__}")
    known = {api.pair: api for api in names.values()}
    seen = {call.api.pair for call in calls if call.api} | {call.name for call in calls if not call.api}
    listed: list[ClaimedCall] = []
    for index, pair in enumerate(pairs):
        tool_name, api_name = _pair(pair, f"called_apis[{index}]")
        title = f"{tool_name}_{api_name}"
        api = known.get((tool_name, api_name))
        key: tuple[str, str] | str = api.pair if api else title
        if key not in seen:
            seen.add(key)
            listed.append(ClaimedCall(name=title, api=api))
    return listed


def _pair(value: Any, place: str) -> tuple[str, str]:
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return value[0], value[1]
    raise AnswerError(f"{place}: must be [tool_name, api_name], not {value!r}")


def _ending(nodes: Iterable[ToolNode]) -> tuple[Finish | None, str]:
    last = next((node for node in reversed(list(nodes)) if node.name == FINISH), None)
    if last is None:
        return None, ""
    arguments = _arguments(last.arguments, last.place)
    if not isinstance(arguments, dict):
        raise AnswerError(f"{last.place}.arguments: must be an object with return_type, not {arguments!r}")
    kind = arguments.get("return_type")
    if kind not in get_args(Finish):
        raise AnswerError(f"{last.place}.arguments.return_type: must be one of {get_args(Finish)}, not {kind!r}")
    return kind, _as_text(arguments.get("final_answer", ""))


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise AnswerError(f"{place}: must be an object, not {type(value).__name__}")


def _text(value: Any, place: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise AnswerError(f"{place}: must be text, not {type(value).__name__}")


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def answer_document(answer: Answer) -> dict[str, Any]:
    """Return the answer as ``{"answer": {"final_answer", "answer_details"}, "called_apis"}``.

    The nodes are flat. A call stands under its Api's original title, or as reported if it was not
    offered. There is a ``Finish`` node only if the agent did finish. ``called_apis`` lists the
    (tool_name, api_name) pair of every call of an offered Api, in order.
    """
    nodes = [_node(call.api.title if call.api else call.name, call.arguments, call.response) for call in answer.calls]
    if answer.finish is not None:
        ending = {"return_type": answer.finish, "final_answer": answer.final_answer}
        nodes.append(_node(FINISH, ending, ""))
    return {
        "answer": {"final_answer": answer.final_answer, "answer_details": nodes},
        "called_apis": [list(call.api.pair) for call in answer.calls if call.api],
    }


def _node(name: str, arguments: Any, response: str) -> dict[str, Any]:
    message = {"name": name, "arguments": arguments, "response": response}
    return {"role": "tool", "message": json.dumps(message, ensure_ascii=False), "next": []}
