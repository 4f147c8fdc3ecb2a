"""Without a network: what is built is used, and what uv has in its cache is built."""

from __future__ import annotations

import pytest
from support.index import Index
from support.machines import Machine

pytestmark = pytest.mark.slow


def test_with_a_warm_cache_an_environment_is_built_again(machine: Machine, index: Index) -> None:
    row = machine.add("acme")
    machine.bench("env", "remove", "acme")
    index.stop()
    done = machine.bench("env", "add", "acme")
    assert "no network; using only uv's cache" in done.err
    assert [kept["lock_digest"] for kept in machine.listed()] == [row["lock_digest"]]


def test_with_a_cold_cache_both_reasons_are_told(machine: Machine, index: Index) -> None:
    index.stop()
    done = machine.bench("env", "add", "acme", code=3)
    assert "Connection refused" in done.err
    assert "not found in the cache" in done.err


def test_uv_offline_is_heeded(machine: Machine, index: Index) -> None:
    machine.add("acme")
    machine.bench("env", "remove", "acme")
    index.requests.clear()
    machine.variables["UV_OFFLINE"] = "1"
    machine.add("acme")
    assert index.requests == []


def test_without_a_network_the_advice_is_not_to_look_for_the_adapter(machine: Machine) -> None:
    machine.variables["UV_OFFLINE"] = "1"
    done = machine.bench("env", "add", "acme", code=3)
    assert "a network unless its cache has every package" in done.err
    assert "--adapter" not in done.err
