from __future__ import annotations

from support.cases import for_each

from trialbed.wire.addresses import is_loopback


@for_each("host", ["localhost", "api.localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
def test_these_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@for_each("host", ["", "0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "127.0.0.1.nip.io"])
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)
