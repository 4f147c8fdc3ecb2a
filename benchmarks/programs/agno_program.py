"""Run Agno's ``Agent`` with a ``Function`` for each JSON Schema."""

import httpx
from _loop import call_body, response_text, serve_async
from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.tools.function import Function

http = httpx.AsyncClient()


def bound(item, root):
    async def call(**arguments):
        reply = await http.post(root + "/virtual", json=call_body(item, arguments))
        return response_text(reply.json())

    return Function(
        name=item["name"],
        description=item["description"],
        parameters=item["parameters"],
        entrypoint=call,
        skip_entrypoint_processing=True,
    )


def model(task):
    return OpenAILike(id=task["model"], base_url=task["root"] + "/v1", api_key="none", seed=task["seed"])


async def answer(task, llm):
    agent = Agent(
        model=llm,
        tools=[bound(item, task["root"]) for item in task["tools"]],
        instructions=task["instructions"],
        telemetry=False,
    )
    return (await agent.arun(task["query"])).get_content_as_string()


serve_async(answer, model)
