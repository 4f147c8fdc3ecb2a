"""``bench serve``: what the server is started with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trialbed_server
from trialbed.cli import main


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of the server that would be started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRIALBED_SERVER_TOKEN", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-real-key")
    settings: dict[str, Any] = {}
    monkeypatch.setattr(trialbed_server, "ServerOptions", lambda **given: settings.update(given))
    monkeypatch.setattr(trialbed_server, "serve", lambda options: None)
    return settings


def test_it_listens_on_loopback_and_each_dataset_has_its_own_simulator(started: dict[str, Any]) -> None:
    assert main(["serve"]) == 0
    assert (started["host"], started["port"]) == ("127.0.0.1", 8080)
    assert (started["datasets"], started["simulator"]) == (("mini",), None)
    assert started["cache"] == str(Path(".trialbed") / "responses.db")
    assert Path(".trialbed").is_dir()


def test_read_only_needs_the_cache_that_is_named(started: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--read-only", "--response-cache", "missing/responses.db"]) == 2
    assert "missing/responses.db: there is no such file" in capsys.readouterr().err
    assert not Path("missing").exists()
    assert not started
    Path("responses.db").touch()
    assert main(["serve", "--read-only", "--response-cache", "responses.db"]) == 0
    assert main(["serve", "--read-only"]) == 0


def test_the_key_is_read_only_where_there_is_an_endpoint_to_send_it_to(started: dict[str, Any]) -> None:
    main(["serve"])
    assert started["upstream_key"] is None
    main(["serve", "--base-url", "http://models/v1"])
    assert (started["upstream"], started["upstream_key"]) == ("http://models/v1", "sk-the-real-key")


def test_faults_need_a_token_beyond_loopback_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for token in ("", "x"):
        monkeypatch.setenv("TRIALBED_SERVER_TOKEN", token)
        assert main(["serve", "--faults", "none", "--host", "0.0.0.0", "--port", "0"]) == 2


def test_a_simulators_endpoint_that_its_model_names_has_the_key_that_a_run_would_send(started: dict[str, Any]) -> None:
    def key(*words: str) -> str | None:
        assert main(["serve", *words]) == 0
        assert started["simulator_model"] == "m"
        found: str | None = started["simulator_key"]
        return found

    assert key("--simulator-model", "m@https://api.openai.com/v1") == "sk-the-real-key"
    assert key("--simulator-model", "m@http://models/v1", "--base-url", "http://models/v1") == "sk-the-real-key"
    assert key("--simulator-model", "m@http://other/v1", "--base-url", "http://models/v1") is None
    assert (
        key("--simulator-model", "m@http://other/v1", "--endpoint-key-env", "other=OPENAI_API_KEY") == "sk-the-real-key"
    )


def test_the_model_that_plays_users_has_the_key_of_its_endpoint(
    started: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--user-model", "m", "--base-url", "http://models/v1/"]) == 0
    assert started["user_model"] == "m@http://models/v1"
    assert main(["serve", "--user-model", "m@http://other/v1", "--endpoint-key-env", "other=OPENAI_API_KEY"]) == 0
    assert (started["user_model"], started["upstream_keys"]) == (
        "m@http://other/v1",
        {"http://other/v1": "sk-the-real-key"},
    )
    assert main(["serve", "--user-model", "m"]) == 2
    assert "--user-model m needs an endpoint: give --base-url URL" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--simulator-model", "--user-model"])
def test_an_endpoint_is_named_without_a_password(
    option: str, started: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", option, "m@http://me:sekret@h/v1"]) == 2
    said = capsys.readouterr().err
    assert f"{option}: the endpoint at h is given with a password" in said
    assert "sekret" not in said
    assert not started


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("https://other/v1=OPENAI_API_KEY", "is not HOST=VARIABLE"),
        ("other", "is not HOST=VARIABLE"),
        ("other=PLACE", "only if the name of its variable says that it is one"),
    ],
)
def test_a_key_for_no_host_is_refused(
    entry: str, said: str, started: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", "Paris")
    assert main(["serve", "--simulator-model", "m@http://other/v1", "--endpoint-key-env", entry]) == 2
    assert said in capsys.readouterr().err
    assert not started
