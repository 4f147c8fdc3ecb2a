"""The prompt: a framework's additions to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from trialbed.records import Record
from trialbed.wire.estimates import compact_bytes, estimated_tokens
from trialbed_adapter_lab.fidelity.reading import MessageChange, body, conversation, is_same, message_changes, messages
from trialbed_adapter_lab.harness import Observed, ObservedRequest, WorkerHarness, stations

CALLS = 3
"""Tool calls of the trial, one per turn; an answer follows."""


class TurnSize(Record):
    """One request, and how it compares with the reference's of the same turn.

    Attributes:
        request_bytes: of the body as it went over the wire.
        message_bytes: of its messages as compact JSON; ``tool_bytes``: of its tools.
        prompt_tokens: of messages and tools, by the estimate of a token per 4 bytes.
        added_bytes: request bytes beyond the reference's; ``added_tokens``: prompt tokens beyond them.
    """

    request_bytes: int
    message_bytes: int
    tool_bytes: int
    prompt_tokens: int
    added_bytes: int
    added_tokens: int


class Prompt(Record):
    """The prompts of one trial, compared with those of the reference.

    Attributes:
        tools: tools on offer.
        turns: request by request, as far as both made one.
        requests: how many the framework made.
        first: the messages of the first request that differ.
        last: the same for the last request that both made, which holds the whole conversation.
        other_tools: the framework's requests, counted from 1, that offer other tools than its first one.
        dialects: those of the requests.
    """

    tools: int
    requests: int
    turns: tuple[TurnSize, ...]
    first: tuple[MessageChange, ...]
    last: tuple[MessageChange, ...]
    other_tools: tuple[int, ...] = ()
    dialects: tuple[str, ...] = ()

    def request_bytes(self, turns: int | None = None) -> tuple[int, int]:
        """Return the request bytes of the first turns, or of all, and how many are beyond the reference's."""
        chosen = self.turns[:turns]
        return sum(turn.request_bytes for turn in chosen), sum(turn.added_bytes for turn in chosen)

    def prompt_tokens(self, turns: int | None = None) -> tuple[int, int]:
        """Return the prompt tokens of the first turns, or of all, and how many are beyond the reference's."""
        chosen = self.turns[:turns]
        return sum(turn.prompt_tokens for turn in chosen), sum(turn.added_tokens for turn in chosen)


async def measure_prompt(harness: WorkerHarness, reference: Callable[[str], Awaitable[Observed]], tools: int) -> Prompt:
    """Run a trial and compare its requests with the reference's.

    Args:
        reference: returns the reference's trial in a dialect.

    Raises:
        NotMeasured: one of the two trials failed.
    """
    seen = (await run_prompt_trial(harness, tools)).require_success()
    return compare_prompts((await reference(seen.requests[0].dialect)).require_success(), seen, tools)


async def run_prompt_trial(harness: WorkerHarness, tools: int) -> Observed:
    """Run the trial that prompts are compared on."""
    return await harness.run(stations(tools, CALLS))


def compare_prompts(reference: Observed, seen: Observed, tools: int) -> Prompt:
    """Return the differences between a trial's requests and the reference's."""
    pairs = list(zip(reference.requests, seen.requests, strict=False))
    first, last = pairs[0], pairs[-1]
    return Prompt(
        tools=tools,
        requests=len(seen.requests),
        turns=tuple(_size(*pair) for pair in pairs),
        first=_changes(*first),
        last=_changes(*last),
        other_tools=_other_tools([body(request) for request in seen.requests]),
        dialects=tuple(dict.fromkeys(request.dialect for request in seen.requests)),
    )


def _size(reference: ObservedRequest, request: ObservedRequest) -> TurnSize:
    plain, sent = _prompt(body(reference)), _prompt(body(request))
    size = len(request.received.body)
    return TurnSize(
        request_bytes=size,
        message_bytes=compact_bytes(sent["messages"]),
        tool_bytes=compact_bytes(sent["tools"]),
        prompt_tokens=estimated_tokens(sent),
        added_bytes=size - len(reference.received.body),
        added_tokens=estimated_tokens(sent) - estimated_tokens(plain),
    )


def _other_tools(requests: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    offered = [request.get("tools", []) for request in requests]
    return tuple(number for number, tools in enumerate(offered, 1) if not is_same(offered[0], tools))


def _changes(reference: ObservedRequest, request: ObservedRequest) -> tuple[MessageChange, ...]:
    return message_changes(messages(body(reference)), messages(body(request)))


def _prompt(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"messages": conversation(request), "tools": request.get("tools", [])}
