"""Calls of tools that Trialbed does not serve, read from the conversation between an agent and its model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from trialbed.records import ApiCall, ApiRef, Json, ModelCall, Query, SentCall, ToolSpec, WireLog
from trialbed.tool_calls._origins import canonical
from trialbed.wire import Call, ModelMessage, ModelRequest, dump_json, lenient_json, recorded_answer, recorded_request
from trialbed.wire_log import failed


def observe_own_tools(
    wire: WireLog, query: Query, tools: Sequence[ToolSpec], *, handed_over: bool, every: bool
) -> WireLog:
    """Return the log with the agent's own tools and their calls.

    A call is made if a later request of the trial carries its result. Tools that Trialbed serves are excluded: their
    calls count only if they reached the server. The tool of structured output does not count, unless the task names it.

    Args:
        tools: the trial's.
        handed_over: whether the agent takes them. If it does not, its own tool of the same name counts in their place,
            unless the server got a call of it.
        every: whether all of the agent's tools count, or only tools that the task names. An adapter adds tools of its
            framework, which are not the task's.
    """
    named = {api.api_name: api for api in query.own_tools}
    if not (every or named):
        return wire
    reached = {call.api for call in wire.api_calls}
    apis = {tool.name: tool.api for tool in tools if not handed_over and tool.api not in reached} | named
    served = {tool.name for tool in tools} - apis.keys()
    turns = [(turn, recorded_request(turn)) for turn in wire.model_calls if not failed(turn)]
    # If every answer must be a call, the last one is the agent's answer: its tool is structured output, not a tool.
    last = [turn for turn, request in turns[-1:] if request and request.tool_choice.mode in ("required", "any")]
    outputs = {call.name for turn in last for call in turn.tool_calls}
    offered = {tool.name: tool for _, request in turns for tool in (() if request is None else request.tools)}
    own = {
        name: ToolSpec(
            name=name,
            description=tool.description,
            parameters=tool.parameters if isinstance(tool.parameters, dict) else {},
            api=apis.get(name) or ApiRef(category="", tool_name="", api_name=name),
        )
        for name, tool in offered.items()
        if name not in served and (name in apis or (every and name not in outputs))
    }
    calls = [_made(own, *one) for one in _results(turns)] if own else []
    made = [call for call in calls if call is not None]
    counted = {call.api for call in made} | set(apis.values())
    return wire.model_copy(
        update={
            "api_calls": tuple(sorted((*wire.api_calls, *made), key=lambda call: call.started)),
            "own_tools": tuple(tool for tool in own.values() if tool.api in counted),
        }
    )


SHOWN = 8
"""Names of tools that a reason lists."""

SHORTEST_ID = 8
"""Characters of a call's id that is looked for in texts."""

WRITTEN = "the prompt describes the tool in words, so its calls are text or code"
"""Why a call of the agent's own tool is not observed; it may have been made."""


def is_written(api: ApiRef, query: Query, wire: WireLog) -> bool:
    """Return whether a request without tools describes one in words, other than the user's."""
    word = re.compile(rf"\b{re.escape(api.api_name)}\b")
    requests = (recorded_request(turn) for turn in wire.model_calls)
    return any(
        word.search(message.text.replace(query.text, ""))
        for request in requests
        if request is not None and not request.tools
        for message in takewhile(lambda message: message.role != "assistant", request.messages)
    )


def why_unobservable(api: ApiRef, query: Query, wire: WireLog, *, handed_over: bool) -> str:
    """Return why a call of a tool would not be seen and its absence proves nothing; empty if it would be seen.

    Args:
        handed_over: whether the agent takes the trial's tools.
    """
    if handed_over and api not in query.own_tools and (api.category or api.tool_name):
        return ""  # the server would see it
    requests = [recorded_request(turn) for turn in wire.model_calls]
    names = dict.fromkeys(name for request in requests if request is not None for name in sorted(request.names))
    if api.api_name in names or any(call.api == api for call in wire.api_calls):
        return ""
    if not requests:
        return f"whether {api.api_name} was called is not observed: the agent sent no model request through Trialbed"
    offered = ", ".join(list(names)[:SHOWN]) or "none"
    return f"whether {api.api_name} was called is not observed: no model request offers it (offered: {offered})"


def ends_unseen(query: Query, tools: Sequence[ToolSpec], wire: WireLog) -> bool:
    """Return whether an agent with its own tools may answer with a result that no request shows.

    Args:
        tools: the trial's, with the agent's own.
    """
    if any(is_written(api, query, wire) for api in query.own_tools):
        return True
    ends = {turn.started + turn.duration: turn for turn in wire.model_calls if not failed(turn)}
    own = {tool.name for tool in wire.own_tools}
    return {tool.name for tool in tools} <= own and bool(ends) and bool(ends[max(ends)].tool_calls)


def has_own_result(wire: WireLog, name: str, arguments: Json) -> bool:
    """Return whether a request carries a result of a call that the model asked for."""
    turns = [(turn, recorded_request(turn)) for turn in wire.model_calls if not failed(turn)]
    return any((sent.name, sent.arguments) == (name, arguments) for _, sent, _, _ in _results(turns))


def invented_calls(wire: WireLog, query: Query, tools: Sequence[ToolSpec]) -> list[str]:
    """Return the names of the agent's own tools with calls and results in requests but in no earlier answer.

    The calls in the first request of a conversation are a history that the agent gives. Others are counted by name, as
    frameworks edit arguments and ids. The result is empty if the agent takes the trial's tools and no other tools
    count, because frameworks add their own calls.

    Args:
        tools: the trial's, with the agent's own.
    """
    served = {tool.name for tool in tools} - {tool.name for tool in wire.own_tools}
    if served and not (query.own_tools or wire.own_tools):
        return []
    given: dict[tuple[str, ...], Counter[str]] = {}
    asked, most = Counter[str](), Counter[str]()
    for turn, request in ((turn, recorded_request(turn)) for turn in wire.model_calls if not failed(turn)):
        sent = request.messages if request is not None else ()
        told = {message.call_id for message in sent if message.role == "tool"}
        calls = (call for message in sent for call in message.calls if call.id in told and call.name not in served)
        written = Counter(call.name for call in calls)
        opening = tuple(message.text for message in takewhile(lambda message: message.role != "assistant", sent))
        most |= written - given.setdefault(opening, written) - asked
        asked.update(call.name for call in (*turn.tool_calls, *turn.text_calls))
    return list(most.elements())


def _results(
    turns: Sequence[tuple[ModelCall, ModelRequest | None]],
) -> Iterator[tuple[ModelCall, SentCall, ModelCall, ModelMessage]]:
    """Yield the model's calls that got results, with both requests, the call and its result."""
    asked: dict[_Key, list[tuple[ModelCall, SentCall]]] = defaultdict(list)
    told: dict[_Key, int] = defaultdict(int)
    changed: dict[_Key, _Key] = {}
    for turn, request in turns:
        results: dict[_Key, list[tuple[ModelMessage, str]]] = defaultdict(list)
        written: dict[_Key, str] = {}
        messages = request.messages if request is not None else ()
        waiting = [key for key, calls in asked.items() if told[key] < len(calls)]
        sent_back: dict[str, _Key] = {}
        for previous, message in zip((None, *messages), messages, strict=False):
            sent_back |= {call.id: _key(call.id, call) for call in message.calls}
            written |= {_key(call.id, call): call.arguments for call in message.calls}
            if message.role == "tool":
                key = sent_back.get(message.call_id, (message.call_id, ""))
                if key not in asked and key not in changed:
                    # Some frameworks change arguments, or give calls ids of their own.
                    free = [one for one in waiting if one not in changed.values()]
                    name = key[1].partition(" ")[0]
                    alike = [one for one in free if one[0] == key[0] and one[1].startswith(name)]
                    alike = alike or [one for one in free if one[1] == key[1]]
                    changed[key] = alike[0] if alike else key
                origin = changed.get(key, key)
                # A call that was edited, as by a person, is made with the arguments that the model is then shown.
                edited = written.get(key, "") if origin != key and origin[0] == key[0] else ""
                results[origin].append((message, edited))
            elif previous is not None and previous.role == "assistant" and not previous.calls:
                # Others write the call as a text of the assistant, and its result as a text of the user.
                for key in waiting:
                    if len(key[0]) >= SHORTEST_ID and key[0] in previous.text:
                        results[key].append((message, ""))
        for key, found in results.items():
            # Each request repeats the conversation, and some endpoints give an id twice: so results are counted.
            for message, edited in found[told[key] : len(asked[key])]:
                before, sent = asked[key][told[key]]
                yield before, sent.model_copy(update={"arguments": edited}) if edited else sent, turn, message
                told[key] += 1
        for call, sent in zip(recorded_answer(turn).answer.calls, turn.tool_calls, strict=False):
            asked[_key(call.id, sent)].append((turn, sent))


_Key = tuple[str, str]
"""The id of a call, which some endpoints give to several; and its name with its arguments."""


def _key(call_id: str, call: Call | SentCall) -> _Key:
    return call_id, f"{call.name} {canonical(call.arguments)}"


def _made(
    own: Mapping[str, ToolSpec], asked: ModelCall, sent: SentCall, told: ModelCall, message: ModelMessage
) -> ApiCall | None:
    if sent.name not in own or sent.problem is not None:
        return None
    text = message.text.removeprefix("Observation:").strip() or (
        "" if message.content in (None, "") else dump_json(message.content).decode()
    )
    ended = asked.started + asked.duration
    return ApiCall(
        source="conversation",
        started=ended,
        duration=max(0.0, told.started - ended),
        api=own[sent.name].api,
        offered=True,
        arguments=lenient_json(sent.arguments),
        error=(text or "the agent marked it as failed") if message.is_error else "",
        response=None if message.is_error else lenient_json(text, text),
    )
