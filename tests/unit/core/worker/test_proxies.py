"""A proxy between workers and their server is not asked: it would see the tokens of trials."""

from __future__ import annotations

import os
from typing import Any

import httpx
import pytest

from trialbed.worker import _loop, worker_environment

SERVER = "http://bench.example:8080"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def asks_proxy(url: str) -> bool:
    client = httpx.Client()
    return client._transport_for_url(httpx.URL(url)) is not client._transport


def begin_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the loop of a worker begin a trial of the server, and stop there."""

    class Began(Exception): ...

    def stop(*_: Any) -> None:
        raise Began

    spec = type("Spec", (), {"trial": "t", "server_url": SERVER, "limits": type("Limits", (), {"timeout": 1.0})})
    begin = _loop.Begin.model_construct(spec=spec)
    channel = type("Channel", (), {"receive": lambda _: begin, "send": lambda *_: None, "owner_only": None})()
    monkeypatch.setattr(_loop, "SUPERVISED", True)
    monkeypatch.setattr(_loop, "WorkerTrial", stop)
    with pytest.raises(Began):
        _loop._run_trials(channel, "nonce", _loop.BaseAgent, _loop.ProcessState())


def test_a_worker_asks_its_server_itself_where_there_is_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "intranet")
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert asks_proxy(SERVER)
    for _ in range(2):
        begin_trial(monkeypatch)
    assert not asks_proxy(SERVER)
    assert asks_proxy("http://elsewhere.example")
    assert os.environ["no_proxy"] == os.environ["NO_PROXY"] == "intranet,bench.example"
    assert worker_environment("mark")["no_proxy"] == "intranet,bench.example,127.0.0.1,localhost,::1"


def test_no_host_is_named_where_there_is_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    begin_trial(monkeypatch)
    assert "no_proxy" not in os.environ
