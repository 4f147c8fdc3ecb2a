"""The server's options."""

from __future__ import annotations

import json

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_server import ServerOptions
from trialbed_server.__main__ import main


@for_each(
    ("host", "is_reached"),
    [
        *((host, True) for host in ("0.0.0.0", "::", "192.168.1.5", "example.org")),
        *((host, False) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")),
    ],
)
def test_beyond_loopback_a_token_is_required(host: str, is_reached: bool) -> None:
    if is_reached:
        with pytest.raises(UsageError, match="TRIALBED_SERVER_TOKEN"):
            ServerOptions(host=host)
    else:
        assert ServerOptions(host=host).token is None
    assert ServerOptions(host=host, token="a-token-of-16-or-more").host == host
    with pytest.raises(UsageError, match=r"so short that it can be guessed.*at least 16.*secrets\.token_urlsafe"):
        ServerOptions(host=host, token="x")


def test_secrets_are_known_and_not_shown() -> None:
    keys = {"https://others/v1/": "other-very-secret"}
    tokens = {"token": "token-very-secret", "control_token": "control-very-secret"}
    options = ServerOptions(upstream="https://models/v1/", upstream_key="sk-very-secret", upstream_keys=keys, **tokens)
    assert (options.upstream, *options.upstream_keys) == ("https://models/v1", "https://others/v1")
    assert {"sk-very-secret", "other-very-secret", *tokens.values()} == set(options.secrets())
    assert "very-secret" not in repr(options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"upstream": "models/v1"}', "'models/v1'"),
        ('{"upstream": "http://"}', "'http://'"),
        ('{"upstream": "ftp://user:very-secret@models/v1"}', "--base-url 'ftp://models/v1' is not"),
        ("[5]", "are not a JSON object"),
        ("--port 0", "are not a JSON object"),
        ('{"prot": 0}', "prot: "),
        ('{"port": "very-secret"}', "port: Input should be a valid integer"),
    ],
)
def test_options_that_cannot_be_used_are_named_without_secrets(
    text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([text]) == 2
    error = capsys.readouterr().err
    assert (said in error, "very-secret" in error) == (True, False)


@pytest.mark.parametrize("keys", ["very-secret", '["very-secret"]', '{"https://others/v1": ["very-secret"]}', "null"])
def test_keys_of_upstreams_that_cannot_be_read_are_refused_without_being_shown(
    keys: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIALBED_UPSTREAM_KEYS", keys)
    assert main([json.dumps({})]) == 2
    error = capsys.readouterr().err
    assert "TRIALBED_UPSTREAM_KEYS is not a JSON object" in error
    assert "very-secret" not in error
