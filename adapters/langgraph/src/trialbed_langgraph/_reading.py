"""Reads the graph's messages as an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of


def read_messages(messages: Sequence[BaseMessage], apis: Mapping[str, ApiRef]) -> Answer:
    """The answer that the messages of a run give.

    Args:
        apis: tool name -> Api.
    """
    turns = [message for message in messages if isinstance(message, AIMessage) and _from_model(message)]
    last = messages[-1]
    ended = bool(turns) and last is turns[-1]
    text = str(last.text) if ended else ""
    return Answer(
        final_answer=text,
        calls=tuple(_calls(messages, apis)),
        finish=finish_of(text),
        usage=_usage(turns),
        model_turns=len(turns),
    )


def _from_model(message: AIMessage) -> bool:
    """Return whether the model said it; the step limit's own message has no metadata of a response."""
    return bool(message.response_metadata)


def _calls(messages: Sequence[BaseMessage], apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
    """The calls that were made, in the model's order: those with a result that is not LangChain's own error."""
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            results = _results(messages[index + 1 :])
            for call in message.tool_calls:
                result = results.get(str(call["id"]))
                if result is not None and result.status == "success":
                    yield ClaimedCall(
                        name=call["name"],
                        api=apis.get(call["name"]),
                        arguments=call["args"],
                        response=str(result.text),
                    )


def _results(messages: Sequence[BaseMessage]) -> dict[str, ToolMessage]:
    """The tool messages of one turn by call id; ids may be used again in later turns."""
    results: dict[str, ToolMessage] = {}
    for message in messages:
        if not isinstance(message, ToolMessage):
            break
        results[message.tool_call_id] = message
    return results


def _usage(turns: Sequence[AIMessage]) -> Usage | None:
    total = Usage()
    for turn in turns:
        if turn.usage_metadata is None:
            return None
        total += Usage(
            prompt_tokens=turn.usage_metadata["input_tokens"], completion_tokens=turn.usage_metadata["output_tokens"]
        )
    return total
