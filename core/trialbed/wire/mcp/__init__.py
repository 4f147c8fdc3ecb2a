"""A trial's tools over the Model Context Protocol (MCP), with the official SDK.

``python -m trialbed.wire.mcp URL`` offers the tools at a trial's URL to clients that speak MCP over standard streams.
The names are loaded when they are first used: a server needs no client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
