"""How much later the deadline of a trial is, asked of the server from elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from trialbed.worker import waited_at

ANSWERS = {"/t/one/waited": b'{"waited": 2.5}', "/t/odd/waited": b"[]", "/t/long/waited": b'{"waited": ' + b"1" * 9999}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = ANSWERS.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def test_the_deadline_is_later_by_what_the_server_says_and_stays_where_it_says_nothing(url: str) -> None:
    waited = waited_at(f"{url}/")
    assert await waited("one") == 2.5
    assert [await waited(trial) for trial in ("gone", "odd", "long")] == [0.0, 0.0, 0.0]
    assert await waited_at("http://127.0.0.1:9")("one") == 0.0
