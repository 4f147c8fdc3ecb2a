"""Which requests are a web page's."""

from __future__ import annotations

from support.cases import for_each

from trialbed_server._access import SiteCheck, TokenCheck

CHECK = SiteCheck("192.168.7.7", ["Bench.Example"])


def problem(path: str = "/v1/models", **headers: str) -> str | None:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return CHECK.problem({"type": "http", "path": path, "headers": raw})


@for_each(
    "host",
    [
        "",
        "localhost",
        "LOCALHOST:8080",
        "a.localhost:1",
        "127.0.0.1:8080",
        "[::1]:80",
        "192.168.7.7",
        "bench.example:1",
    ],
)
def test_names_of_the_server_are_served(host: str) -> None:
    assert problem(host=host) is None


@for_each("host", ["evil.example", "127.0.0.1.evil.example:8080", "[::", "0x7f.1", "10.0.0.1"])
def test_other_names_are_refused(host: str) -> None:
    assert "--allow-host" in str(problem(host=host))


@for_each(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"},
        {"origin": "https://evil.example", "sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"},
    ],
)
def test_pages_of_other_origins_are_refused(headers: dict[str, str]) -> None:
    assert "a web page of another origin" in str(problem(host="localhost:8080", **headers))


@for_each(
    "headers",
    [
        {"origin": "http://localhost:8080", "sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"},
    ],
)
def test_its_own_pages_and_links_are_not(headers: dict[str, str]) -> None:
    assert problem(host="localhost:8080", **headers) is None


def test_a_trials_urls_are_guarded_by_their_token() -> None:
    assert problem("/t/trial-token-1/v1/models", host="gateway.internal", origin="https://evil.example") is None


RIGHT = (b"authorization", b"Bearer token")
KEY = (b"x-api-key", b"token")


@for_each(
    ("headers", "admitted"),
    [
        ([RIGHT], True),
        ([KEY], True),
        ([RIGHT, KEY], True),
        ([RIGHT, (b"x-api-key", b"placeholder")], True),
        ([(b"authorization", b"Bearer placeholder"), KEY], True),
        ([], False),
        ([(b"authorization", b"Bearer placeholder"), (b"x-api-key", b"placeholder")], False),
        ([RIGHT, (b"authorization", b"Bearer placeholder")], False),
        ([KEY, (b"x-api-key", b"placeholder")], False),
        ([(b"x-api-key", b"Bearer token")], False),
    ],
)
def test_the_token_may_come_in_either_header_beside_a_placeholder(
    headers: list[tuple[bytes, bytes]], admitted: bool
) -> None:
    scope = {"type": "http", "path": "/v1/models", "headers": headers}
    assert (TokenCheck("token").refusal(scope) is None) == admitted
