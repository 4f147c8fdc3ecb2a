"""An agent that asks its model in Responses, with OpenAI's SDK (``pip install openai``).

bench run --command 'python examples/responses_agent.py'
"""

import json
import os
import sys

import httpx
from openai import OpenAI


def call(task, name, arguments):
    """Call a tool; the text that came back."""
    tool = next((tool for tool in task["tools"] if tool["name"] == name), None)
    if tool is None:
        return f"Error: there is no tool {name}"
    request = {**tool["api"], "tool_input": arguments, "strip": "", "toolbench_key": ""}
    answer = httpx.post(os.environ["TRIALBED_TOOLS_URL"], json=request, timeout=60).raise_for_status().json()
    if answer["error"]:
        return f"Error: {answer['error']}"
    return answer["response"] if isinstance(answer["response"], str) else json.dumps(answer["response"])


def main():
    """Read the task, and print the answer."""
    task = json.load(sys.stdin)
    client = OpenAI()
    tools = [
        {
            "type": "function",
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["parameters"],
            "strict": False,
        }
        for tool in task["tools"]
    ]
    given = {"model": os.environ["OPENAI_MODEL"], "instructions": task["instructions"], "tools": tools}
    response = client.responses.create(input=task["query"], **given)
    while calls := [item for item in response.output if item.type == "function_call"]:
        outputs = [
            {"type": "function_call_output", "call_id": one.call_id, "output": call(task, one.name, one.arguments)}
            for one in calls
        ]
        response = client.responses.create(input=outputs, previous_response_id=response.id, **given)
    print(response.output_text)


main()
