"""Files of live tools, whose server is ``mcp_server.py``, and the calls of a trial to them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from trialbed.tasks import AnsweredApi
from trialbed_tools.worlds import open_world

SERVER = Path(__file__).with_name("mcp_server.py")
KEY = "sk-0123456789abcdef"
ADD, LIST, VARIABLE, FAIL, IMAGE = ("cart_add", "list", "variable", "fail", "image")


def written(folder: Path, habit: str = "", answers: str = "live", **mcp: Any) -> Path:
    """A file of the tools of the server."""
    names = {ADD: "cart.add", LIST: "list", VARIABLE: "variable", FAIL: "fail", IMAGE: "image", "other": "other"}
    tools: list[dict[str, Any]] = [
        {"function": {"name": name}, "original": original} for name, original in names.items()
    ]
    tools[1]["reads"] = True
    path = folder / "shop.yaml"
    server = {"command": f"{sys.executable} -I {SERVER} {habit}", **mcp}
    path.write_text(json.dumps({"answers": answers, "mcp": server, "tools": tools}), encoding="utf-8")
    return path


class Trial:
    """The calls of a trial, made as the run makes them."""

    def __init__(self, path: Path) -> None:
        world = open_world(path)
        self.bodies = {tool.api.api_name: tool.body for tool in world.tools if isinstance(tool, AnsweredApi)}
        self.begin()

    def begin(self) -> None:
        self.owner = next(iter(self.bodies.values())).make_owner(None)

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        async def here(begin: Any) -> Any:
            return await begin()

        found = await self.bodies[tool].call(arguments, self.owner, here)
        return json.loads(found) if isinstance(found, str) and found.startswith("{") else found

    async def end(self) -> None:
        for body in self.bodies.values():
            await body.end_trial(self.owner)

    async def end_run(self) -> None:
        await self.end()
        for body in self.bodies.values():
            await body.end_run()


def starts(folder: Path) -> int:
    """How often the server was started."""
    path = folder / "started"
    return len(path.read_text().split()) if path.exists() else 0
