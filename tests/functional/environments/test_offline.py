"""Without a network, what uv has in its cache is built."""

from __future__ import annotations

import pytest
from support.index import Index
from support.machines import Machine

pytestmark = pytest.mark.slow


def test_uv_offline_is_heeded(machine: Machine, index: Index) -> None:
    machine.add("acme")
    machine.bench("env", "remove", "acme")
    index.requests.clear()
    machine.variables["UV_OFFLINE"] = "1"
    machine.add("acme")
    assert index.requests == []
