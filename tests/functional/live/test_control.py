"""Agents that turn on the server that their trials are opened on."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from trialbed import open_store, run_benchmark


class Saboteur:
    """Closes its own trial in its first query, with what its URL tells it."""

    def __init__(self) -> None:
        self.statuses: list[int] = []

    def bind_tools(self, tools: Any = None, server_url: str = "") -> None:
        self.root, _, rest = server_url.partition("/t/")
        self.trial = rest.partition("/")[0]

    def answer(self, query: str) -> dict[str, Any]:
        if not self.statuses:
            self.statuses.append(httpx.delete(f"{self.root}/control/trials/{self.trial}").status_code)
            self.statuses.append(httpx.get(f"{self.root}/metrics").status_code)
        return {"answer": {"final_answer": "done", "answer_details": []}}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_trial_that_cannot_be_closed_costs_itself_only(server_url: str) -> None:
    agent = Saboteur()
    document = run_benchmark(agent, "mini", 3, server_url, agent_name="saboteur")
    assert agent.statuses == [200, 200]
    assert document["summary"]["error_count"] == 0
    assert [result["attempt"] for result in document["results"]] == [1, 0, 0]
    with open_store(".trialbed/trialbed.db") as store:
        first, *_ = store.run(document["metadata"]["run_id"]).attempts()
    assert first.failure is not None
    assert first.failure.kind == "server"
    assert "there is no" in first.failure.message or "closed" in first.failure.message


def test_the_server_of_a_run_obeys_its_engine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    # A token of the user's is for servers of theirs.
    monkeypatch.setenv("TRIALBED_SERVER_TOKEN", "a-token-for-another-server")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        url = f"http://localhost:{found.getsockname()[1]}"
    agent = Saboteur()
    document = run_benchmark(agent, "mini", 2, url, agent_name="saboteur")
    assert agent.statuses == [401, 401]
    assert document["summary"]["error_count"] == 0
