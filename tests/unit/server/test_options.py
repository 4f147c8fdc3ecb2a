"""The server's options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_server import ServerOptions
from trialbed_server.__main__ import main
from trialbed_server._options import options_from


@for_each("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_beyond_loopback_a_token_is_required(host: str) -> None:
    with pytest.raises(UsageError, match="TRIALBED_SERVER_TOKEN"):
        ServerOptions(host=host)
    assert ServerOptions(host=host, token="a-token-of-16-or-more").host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_a_token_that_can_be_guessed_is_refused_with_how_to_make_one(host: str) -> None:
    with pytest.raises(UsageError, match=r"so short that it can be guessed.*at least 16.*secrets\.token_urlsafe"):
        ServerOptions(host=host, token="x")


@for_each("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_loopback_none_is(host: str) -> None:
    assert ServerOptions(host=host).token is None


def test_secrets_come_from_the_environment_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_UPSTREAM_KEY", "sk-very-secret")
    monkeypatch.setenv("TRIALBED_UPSTREAM_KEYS", '{"https://others/v1/": "other-very-secret"}')
    monkeypatch.setenv("TRIALBED_SERVER_TOKEN", "token-very-secret")
    monkeypatch.setenv("TRIALBED_CONTROL_TOKEN", "control-very-secret")
    given = {
        "upstream": "https://models/v1/",
        "other_upstreams": ["https://others/v1"],
        "datasets": ["mini", "x:y"],
        "data_dir": "data",
    }
    options = options_from(json.dumps(given))
    assert options.upstream_key == "sk-very-secret"
    assert options.other_upstreams == (*options.upstream_keys,) == ("https://others/v1",)
    assert {"sk-very-secret", "other-very-secret"} <= set(options.secrets())
    assert options.token == "token-very-secret"
    assert options.control_token == "control-very-secret"
    assert (options.upstream, options.datasets) == ("https://models/v1", ("mini", "x:y"))
    assert options.data_dir == Path("data")
    assert "very-secret" not in repr(options)


@pytest.mark.parametrize("url", ["models/v1", "ftp://models/v1", "http://"])
def test_an_upstream_that_is_no_url_is_named(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([json.dumps({"upstream": url})]) == 2
    assert repr(url) in capsys.readouterr().err


def test_a_refused_upstream_is_named_without_its_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['{"upstream": "ftp://user:very-secret@models/v1"}']) == 2
    assert "--base-url 'ftp://models/v1' is not" in capsys.readouterr().err


@pytest.mark.parametrize("keys", ["very-secret", '["very-secret"]', '{"https://others/v1": ["very-secret"]}', "null"])
def test_keys_of_upstreams_that_cannot_be_read_are_refused_without_being_shown(
    keys: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIALBED_UPSTREAM_KEYS", keys)
    assert main([]) == 2
    error = capsys.readouterr().err
    assert "TRIALBED_UPSTREAM_KEYS is not a JSON object" in error
    assert "very-secret" not in error


@for_each(
    ("text", "said"),
    [
        ("[5]", "are not a JSON object"),
        ("--port 0", "are not a JSON object"),
        ('{"prot": 0}', "prot: "),
        ('{"port": "very-secret"}', "port: Input should be a valid integer"),
    ],
)
def test_options_that_cannot_be_read_are_named(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        options_from(text)
    assert said in str(refused.value)
    assert "very-secret" not in str(refused.value)
