"""An agent with tools over the Model Context Protocol, by the official client (``pip install 'mcp>=2'``).

bench run --command 'python examples/mcp_agent.py'
"""

import asyncio
import json
import os
import sys

import httpx
from mcp import Client


async def main() -> None:
    """Read the task, and print the answer."""
    task = json.load(sys.stdin)
    messages = [{"role": "system", "content": task["instructions"]}, {"role": "user", "content": task["query"]}]
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    async with (
        Client(os.environ["TRIALBED_MCP_URL"]) as server,
        httpx.AsyncClient(
            base_url=os.environ["OPENAI_BASE_URL"], headers=headers, timeout=task["limits"]["timeout"]
        ) as model,
    ):
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in (await server.list_tools()).tools
        ]
        while True:
            request = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools}
            reply = (await model.post("/chat/completions", json=request)).raise_for_status()
            message = reply.json()["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                print(message["content"])
                return
            for call in message["tool_calls"]:
                result = await server.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"]))
                text = "".join(part.text for part in result.content if part.type == "text")
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


asyncio.run(main())
