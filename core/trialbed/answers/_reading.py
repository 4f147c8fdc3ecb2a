"""Read and write the answers that agents return, and the names that an answer may use for an Api."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, get_args

from pydantic import ValidationError

from trialbed.errors import AnswerError
from trialbed.records import Answer, ApiRef, ClaimedCall, Finish, ToolSpec
from trialbed.wire import lenient_json

MAX_NAME = 64
"""Characters of a function's name; of a longer one, the last ones are kept."""

_OTHER = re.compile(r"[^\u4e00-\u9fa5a-zA-Z0-9_^]")  # ^ counts as a letter there, too
_UNDERSCORES = re.compile(r"_+")
_RESERVED = frozenset({"from", "class", "return", "false", "true", "id", "and"})


def answer_names(tools: Iterable[ToolSpec]) -> dict[str, ApiRef]:
    """Tool names and original titles of the offered tools, to look names up in; names are never split.

    A title that two different (tool_name, api_name) pairs share is not used. A tool's name wins over
    another's title.
    """
    specs = list(tools)
    names: dict[str, ApiRef] = {}
    shared: set[str] = set()
    for spec in specs:
        known = names.setdefault(spec.api.title, spec.api)
        if known.pair != spec.api.pair:
            shared.add(spec.api.title)
    for title in shared:
        del names[title]
    names.update({spec.name: spec.api for spec in specs})
    return names


def look_up_claims(answer: Answer, apis: Iterable[ApiRef], tools: Iterable[ToolSpec] = ()) -> Answer:
    """Fill in the tools that an answer claims by name only.

    Args:
        apis: further ones. An agent that posts requests directly may call, and truly report, an Api that it was not
            offered.
        tools: the trial's.
    """
    titles = {api.title: api for api in apis} | answer_names(tools)
    calls = tuple(
        call.model_copy(update={"api": titles[call.name]}) if call.api is None and call.name in titles else call
        for call in answer.calls
    )
    return answer.model_copy(update={"calls": calls})


def standardize(name: str) -> str:
    """Lower case, other characters as single inner ``_``, and ``get_`` before a leading digit."""
    name = _UNDERSCORES.sub("_", _OTHER.sub("_", name)).lower().strip("_")
    return f"get_{name}" if name[:1].isdigit() else name


def change_name(name: str) -> str:
    """``is_`` before the words that StableToolBench cannot use as names."""
    return f"is_{name}" if name in _RESERVED else name


def function_name(tool_name: str, api_name: str) -> str:
    """Return the name of an Api's function, ``{api}_for_{tool}`` in standardised form."""
    return f"{change_name(standardize(api_name))}_for_{standardize(tool_name)}"[-MAX_NAME:]


ROLES = ("tool", "assistant", "user", "system")


ToolNode = tuple[str, str, Any, Any]
"""The place of a node's message, and the name, the arguments and the response in it."""


def tool_nodes(details: Any, place: str) -> Iterator[ToolNode]:
    """Yield the nodes of role ``tool`` in the order of the calls, which is a node, its ``next``, its neighbour.

    Raises:
        AnswerError: a node is malformed; names it.
    """
    pending = _number_nodes(details, place)
    while pending:
        node, place = pending.pop()
        if not isinstance(node, Mapping):
            raise AnswerError(f"{place}: a node must be an object, not {_kind(node)}")
        role = node.get("role")
        if role not in ROLES:
            raise AnswerError(f"{place}.role: must be one of {', '.join(ROLES)}, not {role!r}")
        if role == "tool":
            yield _read_message(node.get("message"), f"{place}.message")
        pending += _number_nodes(node.get("next", []), f"{place}.next")


def _number_nodes(nodes: Any, place: str) -> list[tuple[Any, str]]:
    if not isinstance(nodes, (list, tuple)):
        raise AnswerError(f"{place}: must be a list of nodes, not {_kind(nodes)}")
    return [(node, f"{place}[{index}]") for index, node in enumerate(nodes)][::-1]


def _read_message(message: Any, place: str) -> ToolNode:
    if isinstance(message, str):
        try:
            message = json.loads(message)
        except (ValueError, RecursionError) as error:
            raise AnswerError(f"{place}: is not JSON: {error}") from error
    if not isinstance(message, Mapping):
        raise AnswerError(f"{place}: must be an object with name, arguments and response, not {_kind(message)}")
    name = message.get("name")
    if not isinstance(name, str) or not name:
        raise AnswerError(f"{place}.name: must be the tool's name, not {name!r}")
    return place, name, message.get("arguments"), message.get("response", "")


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


FINISH = "Finish"

NO_ANSWER = (
    "an agent returns its answer as text, as trialbed.Answer(final_answer=…), or as an object "
    '{{"answer": {{"final_answer": …, "answer_details": […]}}}}, not {}'
)

TEXTS = ("text", "content", "output", "final_output")
"""Attributes that hold the text in results of frameworks."""


def read_answer(value: Any, names: Mapping[str, ApiRef]) -> Answer:
    """Return the answer that an agent returned in any of these forms.

    * A text, ``{"answer": text}``, or an object or mapping with a text as its ``text``, ``content``, ``output`` or
      ``final_output``, or in the last of its ``messages``: the agent has answered and finished, and claims no calls.
    * Nothing: an empty text; the agent did not finish.
    * An ``Answer``, or a mapping with the fields of one.
    * A mapping ``{"answer": {"final_answer", "answer_details"}, "called_apis"?}``. The details' nodes may be flat or
      nested by ``next``, their messages JSON text or objects. The details have the calls. Pairs ``[tool_name,
      api_name]`` of ``called_apis`` without a call in the details are added behind them, each once, without arguments,
      because both are claims, and neither overrides the other. How the agent ended is in the ``Finish`` node; without
      one it did not finish.

    Args:
        value: the value that the agent returned.
        names: tool names and original titles -> Api, as ``answer_names`` gives them. A name that is not there is kept
            with no Api.

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
    """Return the text of a result, or None without text."""
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
    calls = value.get("calls")
    if isinstance(calls, (list, tuple)):
        # Any JSON may be claimed as a response.
        calls = [
            {**call, "response": _as_text(call.get("response", ""))} if isinstance(call, Mapping) else call
            for call in calls
        ]
        value = {**value, "calls": calls}
    try:
        answer = Answer.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, ("answer", *problem["loc"])))
        raise AnswerError(f"{place}: {problem['msg']}") from error
    known = (call.model_copy(update={"api": call.api or names.get(call.name)}) for call in answer.calls)
    return answer.model_copy(update={"calls": tuple(known)})


def _from_document(value: Mapping[str, Any], names: Mapping[str, ApiRef]) -> Answer:
    body = value["answer"]
    if not isinstance(body, Mapping):
        raise AnswerError(f"answer: must be an object, not {type(body).__name__}")
    calls, ending = list[ClaimedCall](), ("", None)
    for place, name, arguments, response in tool_nodes(body.get("answer_details", []), "answer.answer_details"):
        if name == FINISH:
            ending = place, arguments
        else:
            claimed = _arguments(arguments, place)
            text = _as_text(response)
            calls.append(ClaimedCall(name=name, api=names.get(name), arguments=claimed, response=text))
    calls += _only_listed(value.get("called_apis"), calls, names)
    finish, said = _ending(*ending)
    final = body.get("final_answer") or ""
    if not isinstance(final, str):
        raise AnswerError(f"answer.final_answer: must be text, not {type(final).__name__}")
    return Answer(final_answer=final or said, calls=tuple(calls), finish=finish)


def _arguments(value: Any, place: str) -> dict[str, Any] | str | None:
    if isinstance(value, str):
        found = lenient_json(value)
        return found if isinstance(found, dict) else value
    if value is None:
        return None
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise AnswerError(f"{place}.arguments: must be an object or its JSON text, not {type(value).__name__}")


def _only_listed(pairs: Any, calls: Iterable[ClaimedCall], names: Mapping[str, ApiRef]) -> list[ClaimedCall]:
    if pairs is None:
        return []
    if not isinstance(pairs, (list, tuple)):
        raise AnswerError(f"called_apis: must be a list of [tool_name, api_name], not {type(pairs).__name__}")
    known = {api.pair: api for api in names.values()}
    seen = {call.api.pair for call in calls if call.api} | {call.name for call in calls if not call.api}
    listed: list[ClaimedCall] = []
    for index, pair in enumerate(pairs):
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise AnswerError(f"called_apis[{index}]: must be [tool_name, api_name], not {pair!r}")
        tool_name, api_name = pair
        title = f"{tool_name}_{api_name}"
        api = known.get((tool_name, api_name))
        key: tuple[str, str] | str = api.pair if api else title
        if key not in seen:
            seen.add(key)
            listed.append(ClaimedCall(name=title, api=api))
    return listed


def _ending(place: str, found: Any) -> tuple[Finish | None, str]:
    """Return how an agent finished, and the answer there; None if no node says so."""
    if not place:
        return None, ""
    arguments = _arguments(found, place)
    if not isinstance(arguments, dict):
        raise AnswerError(f"{place}.arguments: must be an object with return_type, not {arguments!r}")
    kind = arguments.get("return_type")
    if kind not in get_args(Finish):
        raise AnswerError(f"{place}.arguments.return_type: must be one of {get_args(Finish)}, not {kind!r}")
    return kind, _as_text(arguments.get("final_answer", ""))


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
