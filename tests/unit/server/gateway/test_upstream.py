"""The endpoints of a server, and how often requests are repeated."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from trialbed.records import EndpointStatus
from trialbed_server.gateway.upstream import Upstream, Upstreams


def upstream(url: str, **status: Any) -> Upstream:
    found = EndpointStatus(**status)
    return cast("Upstream", SimpleNamespace(url=url, status=lambda: found))


def test_a_trial_has_the_endpoint_that_it_names_or_the_first() -> None:
    first, second = upstream("http://a/v1"), upstream("http://b/v1")
    found = Upstreams([first, second])
    assert found.at(None) is first
    assert found.at("http://b/v1/") is second
    assert found.at("http://c/v1") is None
    assert Upstreams([]).at(None) is None


def test_the_condition_is_that_of_the_worst_and_what_waits_is_that_of_all() -> None:
    well = upstream("http://a/v1", answered=3, held=1, at_a_time=4)
    ill = upstream("http://b/v1", state="open", answered=1, waiting=2, reason="busy", at_a_time=2)
    found = Upstreams([well, ill])
    assert found.status() == EndpointStatus(state="open", answered=1, reason="busy", waiting=2, held=1, at_a_time=2)
    idle, paced = upstream("http://a/v1", answered=3), upstream("http://b/v1", answered=1, held=1)
    assert Upstreams([idle, paced]).status().answered == 1
    assert Upstreams([]).status() == EndpointStatus()
