"""Run AutoGen's ``AssistantAgent`` with an MCP server as its workbench."""

from _loop import serve_async
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams


async def answer(task):
    root = task["root"]
    client = OpenAIChatCompletionClient(model=task["model"], base_url=root + "/v1", api_key="none", seed=task["seed"])
    async with McpWorkbench(StreamableHttpServerParams(url=root + "/mcp")) as workbench:
        agent = AssistantAgent(
            "assistant",
            model_client=client,
            workbench=workbench,
            system_message=task["instructions"],
            max_tool_iterations=10,
        )
        result = await agent.run(task=task["query"])
    return result.messages[-1].to_text()


serve_async(answer)
