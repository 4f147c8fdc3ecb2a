"""Makes each documented call of the official SDKs that concerns tools: ``python sdk_program.py``, JSON on its input.

The input has the ``url`` of a trial, ``tools`` by dialect, and the ``question``. For each call it prints a line of
JSON: its name, and the answer or the error.
"""

import json
import sys
from functools import partial

import anthropic
import openai
from pydantic import BaseModel


class Answer(BaseModel):
    """A structured answer."""

    answer: str


def documented_calls(url, task):
    """Yield the name of each documented call that concerns tools, and a function that makes it."""
    tools, question = task["tools"], [{"role": "user", "content": task["question"]}]
    chat = {"model": "m", "messages": question, "tools": tools["chat_completions"]}
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0, timeout=60)
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
    client = anthropic.Anthropic(base_url=url, api_key="x", max_retries=0, timeout=60)
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
    """Make all calls."""
    task = json.load(sys.stdin)
    for name, make in documented_calls(task["url"], task):
        try:
            said = str(make())
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its answer
            said = f"failed: {type(error).__name__}: {error}"
        sys.stdout.write(json.dumps([name, said[:2000]]) + "\n")


if __name__ == "__main__":
    main()
