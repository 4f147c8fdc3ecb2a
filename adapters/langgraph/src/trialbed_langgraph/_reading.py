"""Reads the graph's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of


def read_messages(messages: Sequence[BaseMessage], apis: Mapping[str, ApiRef]) -> Answer:
    """Return the answer that the messages of a run give.

    Args:
        apis: tool name -> Api.
    """
    turns = model_turns(messages)
    text = final_text(messages)
    return Answer(
        final_answer=text,
        calls=tuple(
            ClaimedCall(name=call["name"], api=apis.get(call["name"]), arguments=call["args"], response=result)
            for call, result in made_calls(messages)
        ),
        finish=finish_of(text),
        usage=claimed_usage(turns),
        model_turns=len(turns),
    )


def last_turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the messages after the user's last one."""
    asked = [place for place, message in enumerate(messages) if message.type == "human"]
    return messages[asked[-1] + 1 :] if asked else messages


def model_turns(messages: Sequence[BaseMessage]) -> list[AIMessage]:
    """Return the model's messages; a step limit's message has no metadata of a response."""
    return [message for message in messages if isinstance(message, AIMessage) and message.response_metadata]


def final_text(messages: Sequence[BaseMessage]) -> str:
    """Return the text of the last message, if it is the model's."""
    return "".join(str(turn.text) for turn in model_turns(messages[-1:]))


def made_calls(messages: Sequence[BaseMessage]) -> Iterator[tuple[ToolCall, str]]:
    """Yield the calls that were made, in the model's order, and their results, which are not LangChain's own errors."""
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            results = _results(messages[index + 1 :])
            for call in message.tool_calls:
                result = results.get(str(call["id"]))
                if result is not None and result.status == "success":
                    yield call, str(result.text)


def _results(messages: Sequence[BaseMessage]) -> dict[str, ToolMessage]:
    """Return the tool messages of one turn by call id; ids may be used again in later turns."""
    results: dict[str, ToolMessage] = {}
    for message in messages:
        if not isinstance(message, ToolMessage):
            break
        results[message.tool_call_id] = message
    return results


def claimed_usage(turns: Sequence[AIMessage]) -> Usage | None:
    """Return the tokens of the model's messages; None if one came without."""
    total = Usage()
    for turn in turns:
        if turn.usage_metadata is None:
            return None
        total += Usage(
            prompt_tokens=turn.usage_metadata["input_tokens"], completion_tokens=turn.usage_metadata["output_tokens"]
        )
    return total
