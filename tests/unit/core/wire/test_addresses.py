from __future__ import annotations

import pytest

from trialbed.wire.addresses import is_loopback


@pytest.mark.parametrize("host", ["localhost", "api.localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
def test_these_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "127.0.0.1.nip.io"])
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)
