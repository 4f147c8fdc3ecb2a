"""An agent that asks its model in Messages, with Anthropic's SDK (``pip install anthropic``).

bench run --command 'python examples/messages_agent.py'
"""

import json
import os
import sys

import httpx
from anthropic import Anthropic


def call(task, name, arguments):
    """Call a tool; the text that came back, and whether it is an error."""
    tool = next((tool for tool in task["tools"] if tool["name"] == name), None)
    if tool is None:
        return f"there is no tool {name}", True
    request = {**tool["api"], "tool_input": arguments, "strip": "", "toolbench_key": ""}
    answer = httpx.post(os.environ["TRIALBED_TOOLS_URL"], json=request, timeout=60).raise_for_status().json()
    if answer["error"]:
        return answer["error"], True
    return answer["response"] if isinstance(answer["response"], str) else json.dumps(answer["response"]), False


def main():
    """Read the task, and print the answer."""
    task = json.load(sys.stdin)
    client = Anthropic()
    tools = [
        {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
        for tool in task["tools"]
    ]
    given = {"model": os.environ["OPENAI_MODEL"], "max_tokens": 4096, "system": task["instructions"], "tools": tools}
    messages = [{"role": "user", "content": task["query"]}]
    while True:
        with client.messages.stream(messages=messages, **given) as stream:
            message = stream.get_final_message()
        messages.append({"role": "assistant", "content": message.content})
        if message.stop_reason != "tool_use":
            break
        results = []
        for block in message.content:
            if block.type == "tool_use":
                text, failed = call(task, block.name, block.input)
                result = {"type": "tool_result", "tool_use_id": block.id, "content": text, "is_error": failed}
                results.append(result)
        messages.append({"role": "user", "content": results})
    print("".join(block.text for block in message.content if block.type == "text"))


main()
