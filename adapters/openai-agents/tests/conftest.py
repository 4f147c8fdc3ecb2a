"""A model and an Api of a few lines, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from trialbed import Answer, ApiRef, Limits, ModelEndpoint, Tool, ToolSpec
from trialbed_openai_agents import OpenAIAgentsAgent

API = ApiRef(category="Weather", tool_name="Weather", api_name="now")


class Rig:
    """Says one message after the other, the last for ever; answers every call with its arguments."""

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.usage: dict[str, int] | None = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        self.schema: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
        self.endpoint: dict[str, Any] = {}
        self.max_steps = 4

    async def run(self, *script: Any, tools: int = 1) -> Answer:
        """One trial of the adapter in this process."""
        self.script = list(script)
        endpoint = ModelEndpoint(base_url=f"{self.url}/v1", api_key="dummy", model="m", **self.endpoint)
        agent = OpenAIAgentsAgent(endpoint, Limits(max_steps=self.max_steps), system_prompt="Be brief.")
        spec = ToolSpec(name="Weather_now", description="The weather.", parameters=self.schema, api=API)
        try:
            async with httpx.AsyncClient() as client:
                bound = [Tool(spec, f"{self.url}/virtual", client)][:tools]
                agent.bind_tools(bound, server_url=f"{self.url}/virtual")
                return await agent.answer("Rain?")
        finally:
            await agent.close()

    def results(self) -> list[str]:
        """What the model was last told of its calls."""
        return [entry["content"] for entry in self.requests[-1]["messages"] if entry["role"] == "tool"]

    def reply(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and document for one request."""
        if path == "/virtual":
            return 200, {"error": "", "response": body["tool_input"]}
        self.requests.append(body)
        self.headers.append(headers)
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, int):
            return said, {"error": {"message": "the model is down", "type": "server_error"}}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        document = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return 200, {**document, "usage": self.usage} if self.usage else document


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A rig with its server."""
    rig = Rig()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, document = rig.reply(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    rig.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield rig
    server.shutdown()
    thread.join()
    server.server_close()
