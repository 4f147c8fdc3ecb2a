"""Runs against endpoints that fail: which trials are measured, and how the command ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.bench import Bench, Finished

pytestmark = pytest.mark.slow

Reply = tuple[int, dict[str, str], dict[str, Any]] | None
"""Status, headers and body; None drops the connection."""


@dataclass
class Endpoint:
    """One tool call, then an answer, unless ``fails`` gives something else for the number of a request."""

    fails: Callable[[int], Reply | bool] = lambda _number: False
    identified: bool = True
    url: str = ""
    requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, request: dict[str, Any]) -> Reply:
        with self.lock:
            self.requests += 1
            failure = self.fails(self.requests)
        if failure is not False:
            return failure  # type: ignore[return-value]
        message: dict[str, Any] = {"role": "assistant", "content": "This is what I know."}
        if request["messages"][-1]["role"] == "user":
            function = {"name": request["tools"][0]["function"]["name"], "arguments": "{}"}
            call = {"type": "function", "function": function} | ({"id": "c1"} if self.identified else {})
            message |= {"content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return 200, {}, {"id": "x", "created": 1, "model": request["model"], "choices": [choice], "usage": usage}


@contextmanager
def serving(endpoint: Endpoint) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            reply = endpoint.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if reply is None:
                self.close_connection = True
                return
            status, headers, document = reply
            body = json.dumps(document).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(bench: Bench, endpoint: Endpoint, *more: object, code: int = 0) -> Finished:
    return bench("run", "--model", "m", "--base-url", endpoint.url, "--json", *more, code=code)


def kinds(document: dict[str, Any]) -> set[str | None]:
    return {result.get("error", {}).get("kind") for result in document["results"]}


def test_every_tenth_request_refused_for_capacity_costs_no_trial(bench: Bench) -> None:
    def fails(number: int) -> Reply | bool:
        refusal = 429, {"retry-after-ms": "20"}, {"error": {"message": "slow down", "code": "429"}}
        return refusal if number % 10 == 0 else False

    with serving(Endpoint(fails)) as endpoint:
        document = run(bench, endpoint, "--limit", 15).document
    assert kinds(document) == {None}
    assert len(document["results"]) == 15
    assert {result["wire"]["model_calls"] for result in document["results"]} == {2}
    assert endpoint.requests == 33
    assert sum(result["timing"]["waiting_time"] > 0 for result in document["results"]) == 3


def test_an_endpoint_that_dies_leaves_an_incomplete_run_that_the_same_command_completes(bench: Bench) -> None:
    options = ("--limit", 12, "--concurrency", 2, "--endpoint-patience", 1, "--model-retries", 2)
    with serving(Endpoint(lambda number: None if number > 10 else False)) as endpoint:
        dead = run(bench, endpoint, *options, code=3)
        assert "incomplete" in dead.err
        assert "endpoint" in dead.err
        measured = [result for result in dead.document["results"] if "error" not in result]
        assert 3 <= len(measured) <= 5
        assert kinds(dead.document) <= {None, "endpoint"}
        endpoint.fails, endpoint.requests = lambda _number: False, 0
        alive = run(bench, endpoint, *options).document
    assert kinds(alive) == {None}
    assert len(alive["results"]) == 12
    assert endpoint.requests == 2 * (12 - len(measured))


def test_a_model_that_omits_call_ids_is_no_fault_of_the_endpoint(bench: Bench) -> None:
    with serving(Endpoint(identified=False)) as endpoint:
        document = run(bench, endpoint, "--limit", 3).document
    assert kinds(document) == {"model"}
    assert document["summary"]["average_api_call_score"] == 0
    assert endpoint.requests == 3


def test_a_request_at_which_the_endpoint_always_breaks_is_a_failed_trial(bench: Bench) -> None:
    class Breaking(Endpoint):
        def reply(self, request: dict[str, Any]) -> Reply:
            if "from Skellmoor to Zephyrine" in json.dumps(request["messages"]):
                return 500, {}, {"error": {"message": "cannot parse the template", "code": "500"}}
            return super().reply(request)

    with serving(Breaking()) as endpoint:
        document = run(bench, endpoint, "--limit", 6, "--concurrency", 1, "--model-retries", 1).document
    assert kinds(document) == {None, "model"}
    (failed,) = [result for result in document["results"] if "error" in result]
    assert "cannot parse the template" in failed["error"]["message"]
