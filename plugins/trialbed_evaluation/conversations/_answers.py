"""Reads answers of StableToolBench, raw and converted, and answers of agents in the same form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from trialbed.answers import function_name, read_answer
from trialbed.errors import DataError
from trialbed_evaluation.conversations._messages import (
    Message,
    Sample,
    ToolCall,
    calls_in,
    check_type,
    items,
    kind,
    read_call,
    read_messages,
    read_tools,
)

FINISH = "Finish"
RAW = "stabletoolbench-raw"
CONVERTED = "stabletoolbench"
GOLD = "relevant APIs"


def is_raw(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a raw answer."""
    return isinstance(value.get("answer_generation"), Mapping)


def is_converted(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds converted answers, by the ids of their queries."""
    return bool(value) and all(isinstance(item, Mapping) and is_answer(item) for item in value.values())


def is_answer(value: Mapping[str, Any]) -> bool:
    """Return whether an object is an answer with its graph, of StableToolBench or of Trialbed."""
    answer = value.get("answer")
    return isinstance(answer, Mapping) and "answer_details" in answer


def is_query(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a query of StableToolBench, which names its expected Apis."""
    return GOLD in value


def gold_calls(value: Mapping[str, Any], place: str) -> tuple[ToolCall, ...]:
    """Return a query's expected Apis as calls with any arguments, each once, under the names that agents are offered.

    Raises:
        DataError: they are malformed; names the place.
    """
    names = []
    for index, pair in enumerate(items(value[GOLD], f"{place}: {GOLD}")):
        if not isinstance(pair, (list, tuple)) or [type(part) for part in pair] != [str, str]:
            raise DataError(f"{place}: {GOLD}[{index}]: must be [tool_name, api_name], not {pair!r:.100}")
        tool, api = pair
        names.append(function_name(tool, api))
    return tuple(ToolCall(name, None) for name in dict.fromkeys(names))


def read_raw(value: Mapping[str, Any], place: str, path: PurePath) -> Sample:
    """Return the sample of a raw answer; the file's name begins with the query's id.

    An unfinished answer has the path of its last try.

    Raises:
        DataError: it is malformed; names the key.
    """
    made = value["answer_generation"]
    at = f"{place}: answer_generation"
    turns = made.get("train_messages") or []
    if made.get("valid_data") and turns:
        messages = read_messages(turns[-1], f"{at}.train_messages[{len(turns) - 1}]")
    else:
        query = Message("user", check_type(made.get("query") or "", str, f"{at}.query", "text"))
        messages = (query, *_path(value, place))
    return _sample(path.stem.partition("_")[0], place, RAW, messages, made.get("function"))


def read_converted(value: Mapping[str, Any], place: str) -> Iterator[Sample]:
    """Yield the samples of converted answers.

    Raises:
        DataError: one is malformed; names the key.
    """
    for query_id, item in value.items():
        yield read_graph(item, f"{place}: {query_id}", query_id)


def read_graph(value: Mapping[str, Any], place: str, query_id: str) -> Sample:
    """Return the sample of one answer with its graph.

    Raises:
        DataError: it is malformed; names the key.
    """
    query = value.get("query")
    messages = answer_messages(value["answer"], place, query if isinstance(query, str) else "")
    return _sample(query_id, place, CONVERTED, messages, value.get("available_tools"))


def answer_messages(answer: Mapping[str, Any], place: str, query: str) -> tuple[Message, ...]:
    """Return the messages of an answer's graph, with calls in chronological order.

    Raises:
        DataError: a node is malformed; names it.
    """
    details = answer.get("answer_details", [])
    try:
        # The one reader of answers names the malformed part.
        plain = {**answer, "answer_details": details, "final_answer": _plain(answer.get("final_answer"))}
        read = read_answer({"answer": plain}, {})
    except DataError as error:
        raise DataError(f"{place}: {error}") from None
    messages = [Message("user", query)] if query else []
    for role, said in _nodes(details or []):
        if role == "tool":
            messages += _call_messages(said, place)
        elif said and isinstance(said, str):
            messages.append(Message("assistant" if role == "assistant" else "user", said))
    if read.final_answer and not (messages and messages[-1].content == read.final_answer):
        messages.append(Message("assistant", read.final_answer))
    return tuple(messages)


def _call_messages(said: Any, place: str) -> list[Message]:
    fields = json.loads(said) if isinstance(said, str) else said
    if fields["name"] == FINISH:
        return []
    call = read_call({"name": fields["name"], "arguments": fields.get("arguments") or {}}, place)
    response = fields.get("response", "")
    text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    return [Message("assistant", "", (call,)), Message("tool", text)]


def _nodes(details: list[Any]) -> Iterator[tuple[str, Any]]:
    pending = list(details)[::-1]
    while pending:
        node = pending.pop()
        yield node["role"], node.get("message")
        pending += list(node.get("next") or [])[::-1]


def _sample(query_id: str, place: str, form: str, messages: tuple[Message, ...], tools: Any) -> Sample:
    kept = tuple(_without_finish(message) for message in messages)
    return Sample(
        id=query_id,
        place=place,
        format=form,
        messages=kept,
        calls=calls_in(kept),
        tools={name: schema for name, schema in read_tools(tools, f"{place}: tools").items() if name != FINISH},
    )


def _without_finish(message: Message) -> Message:
    """Return the message with the text of its ``Finish`` call, which does not call a tool."""
    ends = [call for call in message.calls or () if call.name == FINISH]
    if not ends:
        return message
    said = (ends[-1].args or {}).get("final_answer") or message.content
    calls = tuple(call for call in message.calls or () if call.name != FINISH)
    return Message(message.role, said if isinstance(said, str) else json.dumps(said), calls or None)


def _path(value: Mapping[str, Any], place: str) -> list[Message]:
    tries = value.get("trys")
    if isinstance(tries, list) and tries:
        return _chain(tries[-1].get("chain", []), f"{place}: trys[{len(tries) - 1}].chain")
    tree = value.get("tree")
    node = tree.get("tree") if isinstance(tree, Mapping) else None
    chain = []
    while isinstance(node, Mapping):
        chain.append(node)
        children = node.get("children") or []
        node = children[-1] if children else None
    return _chain(chain, f"{place}: tree")


def _chain(nodes: list[Any], place: str) -> list[Message]:
    messages: list[Message] = []
    name = ""
    for index, node in enumerate(nodes):
        if not isinstance(node, Mapping):
            raise DataError(f"{place}[{index}]: must be a node, not {kind(node)}")
        said = check_type(node.get("description") or "", str, f"{place}[{index}].description", "text")
        form = node.get("node_type")
        if form == "Action":
            name = said
        elif form == "Action Input" and name:
            observation = check_type(node.get("observation") or "", str, f"{place}[{index}].observation", "text")
            messages.append(Message("assistant", "", (read_call({"name": name, "arguments": said}),)))
            messages += [] if name == FINISH else [Message("tool", observation)]
        elif form == "Thought" and said.strip():
            messages.append(Message("assistant", said))
    return messages


def _plain(final: Any) -> Any:
    """Return the text of a final answer, which StableToolBench stores as JSON arguments of Finish."""
    if isinstance(final, str) and final.lstrip().startswith("{"):
        try:
            value = json.loads(final)
        except ValueError:
            return final
        if isinstance(value, dict) and isinstance(value.get("final_answer"), str):
            return value["final_answer"]
    return final
