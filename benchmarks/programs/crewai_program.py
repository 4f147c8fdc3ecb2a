"""Run CrewAI's ``Agent.kickoff`` with subclasses of ``BaseTool`` that have a JSON Schema as ``args_schema``.

It runs in a thread next to an event loop, like programs that are otherwise asynchronous: ``kickoff`` blocks.
"""

import asyncio
import json
import os

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

import httpx
from _loop import call_body, response_text, serve_async
from crewai import LLM, Agent
from crewai.tools import BaseTool
from pydantic import PrivateAttr

http = httpx.Client()


class ApiTool(BaseTool):
    """A tool of the task."""

    _item: dict = PrivateAttr()
    _root: str = PrivateAttr()

    def _run(self, **arguments):
        given = {name: value for name, value in arguments.items() if value is not None}
        body = json.loads(json.dumps(call_body(self._item, given), default=str))
        return response_text(http.post(self._root + "/virtual", json=body).json())


def bound(item, root):
    made = ApiTool(name=item["name"], description=item["description"], args_schema=item["parameters"])
    made._item, made._root = item, root
    return made


async def answer(task):
    root = task["root"]
    llm = LLM(task["model"], base_url=root + "/v1", api_key="none", custom_openai=True, seed=task["seed"])
    agent = Agent(
        role="Assistant",
        goal="Answer the user's question",
        backstory=task["instructions"],
        llm=llm,
        tools=[bound(item, root) for item in task["tools"]],
    )
    return (await asyncio.to_thread(agent.kickoff, task["query"])).raw


serve_async(answer)
