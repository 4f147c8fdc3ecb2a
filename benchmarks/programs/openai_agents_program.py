"""Run the OpenAI Agents SDK's ``Agent`` with a ``FunctionTool`` for each JSON Schema."""

import json

import httpx
from _loop import call_body, response_text, serve_async
from agents import Agent, FunctionTool, ModelSettings, OpenAIChatCompletionsModel, RunConfig, Runner
from openai import AsyncOpenAI

http = httpx.AsyncClient()


def bound(item, root):
    async def call(_context, arguments):
        reply = await http.post(root + "/virtual", json=call_body(item, json.loads(arguments)))
        return response_text(reply.json())

    return FunctionTool(item["name"], item["description"], item["parameters"], call)


async def answer(task):
    root = task["root"]
    client = AsyncOpenAI(base_url=root + "/v1", api_key="none")
    agent = Agent(
        name="Assistant",
        instructions=task["instructions"],
        tools=[bound(item, root) for item in task["tools"]],
        model=OpenAIChatCompletionsModel(model=task["model"], openai_client=client),
        model_settings=ModelSettings(extra_args={"seed": task["seed"]}),
    )
    result = await Runner.run(agent, task["query"], run_config=RunConfig(tracing_disabled=True))
    return str(result.final_output)


serve_async(answer)
