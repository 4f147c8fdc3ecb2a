"""A place on a node, without the cluster."""

from __future__ import annotations

import os

import pytest

from trialbed.worker import worker_environment
from trialbed_ray import _place


def test_a_nodes_proxy_is_not_asked_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "intranet")
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    _place._reach_without_proxy("10.0.0.7")
    variables = worker_environment("mark")
    assert variables["NO_PROXY"] == variables["no_proxy"] == "intranet,10.0.0.7,127.0.0.1,localhost,::1"
