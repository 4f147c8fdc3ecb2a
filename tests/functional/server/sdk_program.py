"""Plays trials with the official SDKs of its environment: ``python sdk_program.py URL`` and JSON on its input.

The input has ``tools`` by dialect, the ``question``, the ``result`` of each call, and ``trials``: lists of a token, a
dialect, and whether answers are streamed. For each it prints a line of JSON: the text of the last answer, or the error.
"""

import json
import sys

import anthropic
import openai

MOST = 6


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
            return "".join(block.text for block in said.content)
        messages.append({"role": "assistant", "content": [block.to_dict() for block in said.content]})
        results = [{"type": "tool_result", "tool_use_id": one.id, "content": task["result"]} for one in calls]
        messages.append({"role": "user", "content": results})
    return "asked too often"


def play(url, task, dialect, stream):
    """Play one trial; the text, or the name of the SDK's exception."""
    try:
        if dialect == "messages":
            return play_messages(anthropic.Anthropic(base_url=url, api_key="x", max_retries=0), task, stream)
        return play_responses(openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0), task, stream)
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its answer
        return f"{type(error).__name__}: {error}"[:300]


def main():
    """Play all trials."""
    task = json.load(sys.stdin)
    for trial, dialect, stream in task["trials"]:
        said = play(f"{sys.argv[1]}/t/{trial}", task, dialect, stream)
        sys.stdout.write(json.dumps([trial, said]) + "\n")


if __name__ == "__main__":
    main()
