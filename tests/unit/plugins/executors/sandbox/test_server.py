from __future__ import annotations

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_plugins.executors.sandbox import ServerAddress


@for_each(
    ("url", "host", "port", "loopback"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1", 8080, "127.0.0.1"),
        ("http://127.0.0.9:8080/virtual", "127.0.0.9", 8080, "127.0.0.9"),
        ("http://[::1]:8080", "::1", 8080, "::1"),
        ("https://rig.example:8443", "rig.example", 8443, "127.0.0.1"),
        ("http://localhost:8080", "localhost", 8080, "127.0.0.1"),
    ],
)
def test_an_address_and_where_a_container_finds_it(url, host, port, loopback):
    address = ServerAddress.of(url)
    assert (address.host, address.port, address.loopback) == (host, port, loopback)
    address.check("container")


@for_each(
    ("sandbox", "url", "text"),
    [
        ("container", "http://192.0.2.1:8080", "give the name of the host 192.0.2.1"),
        ("container", "http://rig.example", "port must be 1024 or above, not 80"),
        ("process", "http://rig.example:8080", "workers cannot look up rig.example"),
    ],
)
def test_a_server_that_workers_cannot_reach_is_refused(sandbox, url, text):
    with pytest.raises(UsageError, match=text):
        ServerAddress.of(url).check(sandbox)


@for_each("url", ["http://192.0.2.1:80", "http://localhost:8080", "http://[::1]:8080"])
def test_a_process_reaches_addresses(url):
    ServerAddress.of(url).check("process")
