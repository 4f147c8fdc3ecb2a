"""Run LangGraph's ``create_agent`` with tools that have a JSON Schema as ``args_schema``."""

import httpx
from _loop import call_body, response_text, serve_async
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI

http = httpx.AsyncClient()


def bound(item, root):
    async def call(**arguments):
        reply = await http.post(root + "/virtual", json=call_body(item, arguments))
        return response_text(reply.json())

    return tool(item["name"], description=item["description"], args_schema=item["parameters"])(call)


def model(task):
    return ChatOpenAI(
        model=task["model"], base_url=task["root"] + "/v1", api_key="none", seed=task["seed"], use_responses_api=False
    )


async def answer(task, llm):
    tools = [bound(item, task["root"]) for item in task["tools"]]
    agent = create_agent(llm, tools=tools, system_prompt=task["instructions"])
    result = await agent.ainvoke({"messages": [{"role": "user", "content": task["query"]}]})
    return result["messages"][-1].text


async def close(llm):
    # LangChain keeps clients by URL. Every trial has its own, and connections that stay open slow the next ones.
    llm.root_client.close()
    await llm.root_async_client.close()


serve_async(answer, model, close)
