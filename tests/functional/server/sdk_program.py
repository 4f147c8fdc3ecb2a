"""Plays trials with the official SDKs of its environment: ``python sdk_program.py`` and JSON on its input.

The input has ``tools`` by dialect, the ``question``, the ``result`` of each call, and ``trials``: lists of a name, a
URL, a dialect, and whether answers are streamed. For each it prints a line of JSON: the text of the last answer, or
the error. With ``calls``, a URL, it makes each documented call that concerns tools there instead.
"""

import json
import sys
from functools import partial

import anthropic
import openai
from pydantic import BaseModel

MOST = 6


class Answer(BaseModel):
    """A structured answer."""

    answer: str


def made_whole(events):
    """Put the pieces of a chat completion together; the text, and the calls by index."""
    text, calls = "", {}
    for event in events:
        for choice in event.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, {"id": piece.id, "name": piece.function.name, "arguments": ""})
                call["arguments"] += piece.function.arguments or ""
    return text, list(calls.values())


def play_chat(client, task, stream):
    """Ask until there are no calls."""
    messages = [{"role": "user", "content": task["question"]}]
    for _ in range(MOST):
        given = {"model": "m", "messages": messages, "tools": task["tools"]["chat_completions"]}
        if stream:
            text, calls = made_whole(client.chat.completions.create(**given, stream=True))
        else:
            said = client.chat.completions.create(**given).choices[0].message
            text = said.content or ""
            calls = [{"id": one.id, **one.function.to_dict()} for one in said.tool_calls or ()]
        if not calls:
            return text
        named = [{"id": one["id"], "type": "function", "function": _function(one)} for one in calls]
        messages.append({"role": "assistant", "content": None, "tool_calls": named})
        messages += [{"role": "tool", "tool_call_id": one["id"], "content": task["result"]} for one in calls]
    return "asked too often"


def _function(call):
    return {"name": call["name"], "arguments": call["arguments"]}


def play_responses(client, task, stream):
    """Ask until there are no calls."""
    items = [{"role": "user", "content": task["question"]}]
    for _ in range(MOST):
        given = {"model": "m", "input": items, "tools": task["tools"]["responses"]}
        if stream:
            with client.responses.stream(**given) as events:
                said = events.get_final_response()
        else:
            said = client.responses.create(**given)
        calls = [item for item in said.output if item.type == "function_call"]
        if not calls:
            return said.output_text
        known = ("type", "id", "call_id", "name", "arguments", "status", "role", "content")
        items += [{name: value for name, value in item.to_dict().items() if name in known} for item in said.output]
        items += [{"type": "function_call_output", "call_id": one.call_id, "output": task["result"]} for one in calls]
    return "asked too often"


def play_messages(client, task, stream):
    """Ask until there are no calls."""
    messages = [{"role": "user", "content": task["question"]}]
    for _ in range(MOST):
        given = {"model": "m", "max_tokens": 500, "messages": messages, "tools": task["tools"]["messages"]}
        if stream:
            with client.messages.stream(**given) as events:
                said = events.get_final_message()
        else:
            said = client.messages.create(**given)
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in said.content if block.type == "text")
        messages.append({"role": "assistant", "content": [block.to_dict() for block in said.content]})
        results = [{"type": "tool_result", "tool_use_id": one.id, "content": task["result"]} for one in calls]
        messages.append({"role": "user", "content": results})
    return "asked too often"


PLAYERS = {"chat_completions": play_chat, "responses": play_responses, "messages": play_messages}


def play(task, url, dialect, stream):
    """Play one trial; the text, or the name of the SDK's exception."""
    try:
        return PLAYERS[dialect](client_of(url, dialect), task, stream)
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its answer
        return f"{type(error).__name__}: {error}"[:300]


def client_of(url, dialect):
    """Return the SDK's client for a dialect."""
    if dialect == "messages":
        return anthropic.Anthropic(base_url=url, api_key="x", max_retries=0, timeout=60)
    return openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0, timeout=60)


def documented_calls(url, task):
    """Yield the name of each documented call that concerns tools, and a function that makes it."""
    tools, question = task["tools"], [{"role": "user", "content": task["question"]}]
    chat = {"model": "m", "messages": question, "tools": tools["chat_completions"]}
    client = client_of(url, "chat_completions")
    completions, strict = client.chat.completions, {**chat, "tools": [openai.pydantic_function_tool(Answer)]}
    yield "chat.create", partial(completions.create, **chat)
    yield "chat.create, stream", lambda: list(completions.create(**chat, stream=True))
    yield "chat.create, required", partial(completions.create, **chat, tool_choice="required")
    yield "chat.parse", partial(completions.parse, **strict, tool_choice="required")
    yield "chat.parse, format", partial(completions.parse, **strict, tool_choice="none", response_format=Answer)
    yield "chat.stream", partial(_ended, completions.stream, "get_final_completion", strict)
    yield "chat.raw", lambda: completions.with_raw_response.create(**chat).parse()
    asked = {"model": "m", "input": task["question"], "tools": tools["responses"]}
    responses = client.responses
    yield "responses.create", partial(responses.create, **asked)
    yield "responses.create, stream", lambda: list(responses.create(**asked, stream=True))
    yield "responses.create, required", partial(responses.create, **asked, tool_choice="required")
    yield "responses.parse", partial(responses.parse, **asked, tool_choice="none", text_format=Answer)
    yield "responses.stream", partial(_ended, responses.stream, "get_final_response", asked)
    yield "responses.raw", lambda: responses.with_raw_response.create(**asked).parse()
    told = {"model": "m", "max_tokens": 500, "messages": question, "tools": tools["messages"]}
    client = client_of(url, "messages")
    for name, messages in (("messages", client.messages), ("beta.messages", client.beta.messages)):
        yield f"{name}.create", partial(messages.create, **told)
        yield f"{name}.create, stream", lambda messages=messages: list(messages.create(**told, stream=True))
        yield f"{name}.create, any", partial(messages.create, **told, tool_choice={"type": "any"})
        yield f"{name}.stream", partial(_ended, messages.stream, "get_final_message", told)
        yield f"{name}.raw", lambda messages=messages: messages.with_raw_response.create(**told).parse()
        counted = {field: value for field, value in told.items() if field != "max_tokens"}
        yield f"{name}.count_tokens", partial(messages.count_tokens, **counted)
        parsed = {field: value for field, value in told.items() if field != "tools"}
        yield f"{name}.parse", partial(messages.parse, **parsed, output_format=Answer)


def _ended(stream, last, given):
    with stream(**given) as events:
        return getattr(events, last)()


def main():
    """Play all trials, or make all calls."""
    task = json.load(sys.stdin)
    for name, url, dialect, stream in task["trials"]:
        sys.stdout.write(json.dumps([name, play(task, url, dialect, stream)]) + "\n")
    if task.get("calls"):
        for name, make in documented_calls(task["calls"], task):
            try:
                said = str(make())
            except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its answer
                said = f"failed: {type(error).__name__}: {error}"
            sys.stdout.write(json.dumps([name, said[:2000]]) + "\n")


if __name__ == "__main__":
    main()
