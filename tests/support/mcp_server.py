"""A small MCP server over standard streams, with a state and with bad habits: ``python mcp_server.py [HABIT]``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HABIT = sys.argv[1] if len(sys.argv) > 1 else ""
ADD = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "cart.add", "description": "Add an item.", "inputSchema": ADD},
    {"name": "list", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "variable", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    {"name": "fail", "inputSchema": {"type": "object"}},
    {"name": "image", "inputSchema": {"type": "object"}},
]
CART: list[str] = []


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "cart.add":
        CART.append(arguments["item"])
        return text(f"{len(CART)} items")
    if name == "list":
        return {**text({"items": CART, "process": os.getpid()}), "structuredContent": {}}
    if name == "variable":
        return text({"value": os.environ.get(arguments["name"]), "folder": os.getcwd()})
    if name == "image":
        return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "text", "text": "hi"}]}
    return {**text("it failed"), "isError": True}


def answer(message: dict[str, Any]) -> None:
    method, params = message["method"], message.get("params", {})
    if method == "initialize" and HABIT == "refuses":
        send({"id": message["id"], "error": {"code": -32600, "message": "not today"}})
    elif method == "initialize":
        send({"id": message["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}})
    elif method == "tools/list":
        place = int(params.get("cursor", 0))
        more = {"nextCursor": str(place + 2)} if place + 2 < len(TOOLS) else {}
        send({"id": message["id"], "result": {"tools": TOOLS[place : place + 2], **more}})
    elif method == "tools/call":
        misbehave(params["name"])
        if params["name"] in [tool["name"] for tool in TOOLS]:
            send({"id": message["id"], "result": call(params["name"], params["arguments"])})
        else:
            send({"id": message["id"], "error": {"code": -32602, "message": "no such tool"}})


def misbehave(name: str) -> None:
    """Do what foreign servers do before their answer."""
    if HABIT == "talks":
        sys.stdout.write("a line for people\n[]\n")
        send({"method": "notifications/progress", "params": {}})
        send({"id": "a", "method": "sampling/createMessage", "params": {}})
        refused = json.loads(sys.stdin.readline())
        send({"id": "b", "method": "ping"})
        answered = json.loads(sys.stdin.readline())
        assert (refused["error"]["code"], answered["result"]) == (-32601, {})
        send({"id": 999, "result": {}})
    elif HABIT == "floods":
        sys.stdout.write("x" * 5_000_000 + "\n")
    elif HABIT == "eats":
        eaten = bytearray(200 * 2**20)
        time.sleep(600)
        del eaten
    elif HABIT == "ends":
        sys.stderr.write(f"no more of {os.environ.get('SHOP_KEY')}\n")
        sys.exit(3)
    elif HABIT == "crashes" and name == "fail":
        sys.exit(3)
    elif HABIT == "errs":
        send({"id": 2, "error": {"code": -32603, "message": "broken"}})


if __name__ == "__main__":
    with Path("started").open("a") as started:
        started.write(f"{os.getpid()}\n")
    if HABIT == "stays":
        with Path("started").open("a") as started:
            sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
            started.write(f"{subprocess.Popen(sleep, start_new_session=True).pid}\n")
    for line in sys.stdin:
        if "method" in json.loads(line):
            answer(json.loads(line))
    if HABIT == "stays":
        time.sleep(600)
