"""A trial's tools over the Model Context Protocol (MCP), with the official SDK.

``python -m trialbed.wire.mcp URL`` offers the tools at a trial's URL to clients that speak MCP over standard streams.
"""

from trialbed.wire.mcp._remote import RemoteTools, serve_stdio
from trialbed.wire.mcp._server import Refused, ToolSource, load_sdk, serve_request

__all__ = ["Refused", "RemoteTools", "ToolSource", "load_sdk", "serve_request", "serve_stdio"]
