"""Keys, addresses and what is redacted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest
from support.cases import for_each
from support.verification import configured
from yarl import URL

from trialbed.errors import UsageError
from trialbed_verify.verification.row import RowRedaction
from trialbed_verify.verification.targets import (
    checked_key,
    checked_url,
    key_from_file,
    key_variables,
    proxy_for,
    would_be_committed,
)

CONFIG = "m:\n  vendors:\n  - {name: silicon-flow, url: 'http://h/v1'}\n"


def key_in(folder: Path, environment: Mapping[str, str], patch: pytest.MonkeyPatch) -> str:
    """The key of the one vendor of a configuration file."""
    for name, value in environment.items():
        patch.setenv(name, value)
    (target,) = configured(folder, CONFIG)
    return target.api_key


@for_each("variable", ["silicon-flow", "SILICON_FLOW", "SILICON_FLOW_API_KEY"])
def test_a_key_is_found_by_the_vendors_name(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_in(tmp_path, {variable: "k", "OTHER": "x"}, monkeypatch) == "k"


def test_the_name_as_the_file_has_it_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_variables("429.icu", "ICU_KEY") == ["429.icu", "429_ICU", "429_ICU_API_KEY", "ICU_KEY"]
    found = key_in(tmp_path, {"silicon-flow": "as-named", "SILICON_FLOW_API_KEY": "other"}, monkeypatch)
    assert found == "as-named"


@pytest.mark.parametrize("text", ["xxxxxx", "XXX", "...", "***", "<your key>", "your-api-key", "YOUR_KEY"])
def test_a_placeholder_is_no_key(text: str, tmp_path: Path) -> None:
    assert key_from_file(tmp_path / "config.yaml", 3, text, "acme") is None


def test_outside_a_work_tree_nothing_is_committed(tmp_path: Path) -> None:
    assert not would_be_committed(tmp_path / "config.yaml")
    assert key_from_file(tmp_path / "config.yaml", 3, "sk-real", "acme") == "sk-real"


def test_in_a_work_tree_only_what_is_ignored_may_hold_a_key(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    config = tmp_path / "config.yaml"
    assert would_be_committed(config)
    with pytest.raises(UsageError, match=r"config\.yaml, line 3: contains a key.*move the key to \.env as acme="):
        key_from_file(config, 3, "sk-real", "acme")
    (tmp_path / ".gitignore").write_text("*.yaml\n")
    assert not would_be_committed(config)


def test_what_a_link_leads_to_counts(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path / "work")], check=True)
    (tmp_path / "work" / "config.yaml").write_text("")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "work" / "config.yaml")
    assert would_be_committed(tmp_path / "link.yaml")


def test_where_git_cannot_be_asked_every_file_of_a_work_tree_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert would_be_committed(work / "config.yaml")
    assert not would_be_committed(tmp_path / "config.yaml")


@for_each("key", ["", "  ", "sk-a sk-secret", "sk\nsecret", "ключ-secret", "sk\x00secret"])
def test_what_is_no_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match="acme: the key is empty or contains") as caught:
        checked_key(key, "acme")
    assert "secret" not in str(caught.value)


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


def test_a_proxy_of_another_kind_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@proxy:1080")
    with pytest.raises(UsageError, match=r"HTTPS_PROXY does not name an HTTP proxy.*NO_PROXY=api\.example") as caught:
        proxy_for("https://api.example/v1")
    assert "secret" not in str(caught.value)


KEY = 'sk-aB3/+dE5"gH7=jK9'


@for_each(
    "said",
    [
        KEY,
        f"Bearer {KEY}.",
        f"{KEY} and {KEY}",
        f"http://h/login?key={quote(KEY, safe='')}",
        json.dumps({"error": f"bad key {KEY}"}),
        json.dumps({"error": KEY.replace('"', "")}).replace("/", "\\/"),
        "cut off: " + KEY[:-1],
        "cut off: " + KEY[:9],
        f"cut off: {KEY[:12]}…",
    ],
)
def test_a_secret_is_found_however_it_is_spelt(said: str) -> None:
    redaction = RowRedaction((KEY, KEY.replace('"', "")))
    (line,) = redaction.lines(json.dumps({"said": said}, ensure_ascii=False).encode())
    kept = json.loads(line)["said"]
    assert "[redacted]" in kept
    assert KEY[:9] not in kept
    assert KEY[-5:] not in kept


@for_each("said", ["sk-aB3/+", "sk-aB3/+dE and more", "nothing"])
def test_what_only_begins_alike_stays(said: str) -> None:
    line = json.dumps({"said": said + " "}).encode()
    assert RowRedaction((KEY, "short")).lines(line)[0] is line
