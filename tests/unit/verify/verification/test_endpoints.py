from __future__ import annotations

import pytest
from support.cases import for_each
from yarl import URL

from trialbed.errors import UsageError
from trialbed_verify.verification.targets import checked_url, proxy_for

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@for_each(
    ("given", "url"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        (" http://127.0.0.1:8000/v1// ", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_a_base_url_ends_without_a_slash(given: str, url: str) -> None:
    assert checked_url(given, "--base-url") == url


@for_each(
    ("url", "message"),
    [
        ("api.example/v1", "must begin with http"),
        ("ftp://api.example", "must begin with http"),
        ("http:///v1", "must begin with http"),
        ("http://h:99999/v1", "not a valid URL; check the host and the port"),
        ("http://user:se/cret@h/v1", "not a valid URL; check the host and the port"),
        ("https://user:secret@api.example/v1", "contains a user name or password for api.example"),
        ("https://api.example/v1?key=secret", "without query or fragment"),
        ("https://api.example/v1#secret", "without query or fragment"),
    ],
)
def test_what_is_no_base_url_is_refused_without_showing_what_may_be_a_key(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        checked_url(url, "--base-url")
    assert str(caught.value).startswith("--base-url: ")
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.9.9.9", "localhost", "a.localhost:1", "[::1]:8000"])
def test_this_machine_is_never_reached_through_a_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    assert proxy_for(f"http://{host}/v1") is None


def test_the_proxy_of_the_scheme_is_used_unless_the_host_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://us%40er:p%3Aw@proxy:3128")
    monkeypatch.setenv("NO_PROXY", ".intern.example,exact.example:443")
    assert proxy_for("https://api.example/v1") == URL("http://us%40er:p%3Aw@proxy:3128")
    assert proxy_for("http://api.example/v1") is None
    assert proxy_for("https://a.intern.example/v1") is None
    assert proxy_for("https://exact.example/v1") is None


def test_a_proxy_without_a_scheme_is_an_http_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy:3128")
    assert proxy_for("http://api.example/v1") == URL("http://proxy:3128")


def test_a_proxy_of_another_kind_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@proxy:1080")
    with pytest.raises(UsageError, match=r"HTTPS_PROXY does not name an HTTP proxy.*NO_PROXY=api\.example") as caught:
        proxy_for("https://api.example/v1")
    assert "secret" not in str(caught.value)
