"""The tools that an agent calls, each in the forms that agents take: plain functions, OpenAI's and LangChain's."""

from trialbed.tools._tool import TOOL_TIMEOUT, Tool, ToolClient, ValueTool, connected_tools, reply_text

__all__ = ["TOOL_TIMEOUT", "Tool", "ToolClient", "ValueTool", "connected_tools", "reply_text"]
