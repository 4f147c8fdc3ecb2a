"""The model and the judge of a run, before anything is started."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.models import helper_endpoint, helpers_of, judge_choice, key_hint, with_endpoint
from trialbed.preparation import RunOptions
from trialbed.settings import RunSettings

OPENAI_URL = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:8000/v1"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine's user."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@for_each(
    ("settings", "message"),
    [
        ({"model": ("scripted:glod",)}, "did you mean 'scripted:gold'?"),
        ({"model": ("scripted:",)}, "The scripted models are scripted:gold"),
        ({"judge": "scripted:glod"}, "--judge: there is no scripted model"),
        ({"model": ("scriptd:gold",)}, "did you mean 'scripted:gold'?"),
        ({"model": ("nowhere.py:Model",)}, "nowhere.py cannot be read: No such file"),
        ({"selector_model": "scripted:gold"}, "--selector-model: scripted:gold plays agents only"),
        ({"selector_model": "m@http://me:pw@h/v1"}, "--selector-model: the endpoint at h is given with a password"),
        ({"simulator_model": f"m@{OPENAI_URL}"}, "set OPENAI_API_KEY in the environment or in .env"),
        ({"model": ("m@http://me:pw@h/v1",)}, "--model: the endpoint at h is given with a password"),
        ({"endpoint_key_env": ("VARIABLE",)}, "--endpoint-key-env 'VARIABLE' is not HOST=VARIABLE"),
        ({"endpoint_key_env": ("https://h/v1=KEY",)}, "--endpoint-key-env 'https://h/v1=KEY' is not HOST=VARIABLE"),
        ({"judge": "ruel"}, "there is no judge 'ruel'; did you mean 'rule'?"),
        ({"model": ("gpt-4o",)}, "--model: the model 'gpt-4o' needs an endpoint"),
        ({"judge": "llmm"}, "The judges with names of their own are "),
        ({"model": ("m",), "base_url": "htp://host/v1"}, "--base-url 'htp://host/v1' is not an http(s) URL"),
        ({"model": ("m",), "base_url": "host:80/v1"}, "--base-url 'host:80/v1' is not an http(s) URL"),
        (
            {"model": ("m",), "base_url": "http://host:99999/v1"},
            "--base-url 'http://host:99999/v1' is not an http(s) URL",
        ),
        ({"model": ("m",), "base_url": "http://host/v1\n"}, "is not an http(s) URL"),
        ({"model": ("m",), "base_url": "http://me:secret@host/v1"}, "--base-url: the address of host is given with a"),
        ({"model": ("m",), "base_url": "http://host/v1?key=secret"}, "given with a password, a query or a fragment"),
        ({"model": (" ",)}, "--model is empty"),
        ({"server_url": "http://me:secret@host"}, "--server-url: the address of host is given with a password"),
        ({"model": ("m",), "base_url": "http://[::1/v1"}, "--base-url 'http://[::1/v1' is not an http(s) URL"),
        ({"judge": "gpt-4o"}, "put OPENAI_API_KEY into the environment or .env"),
        ({"model": ("gpt-4o",), "base_url": OPENAI_URL}, "set OPENAI_API_KEY in the environment or in .env"),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        with_endpoint(RunSettings(**settings))
    assert message in str(error.value)


@for_each(
    "settings",
    [
        {"judge": "gpt@https://user:sekret@host/v1"},
        {"model": ("gpt@https://user:sekret@host:port/v1",)},
        *(
            {"model": ("m",), "base_url": f"{start}user:sekret@{host}/v1"}
            for start, host in (("htp://", "host"), ("", "host"), ("http://", "[::1"))
        ),
    ],
)
def test_a_password_in_an_address_is_not_said(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as error:
        with_endpoint(RunSettings(**settings))
    assert "sekret" not in str(error.value)


def test_helpers_that_name_their_endpoints_need_none_of_the_run_and_get_the_keys_of_their_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    monkeypatch.setenv("OTHER_API_KEY", "sk-0987654321")
    named = {"judge": "j@http://a/v1", "selector_model": "s@http://b:1/v1"}
    settings = RunSettings(**named, simulator_model="w@http://c/v1", endpoint_key_env=("b:1=OTHER_API_KEY",))  # type: ignore[arg-type]
    assert with_endpoint(settings).base_url is None
    assert judge_choice(settings) == ("llm", "j@http://a/v1")
    assert [helper[:3] for helper in helpers_of(settings)] == [
        ("judge", "j", "http://a/v1"),
        ("selector", "s", "http://b:1/v1"),
        ("simulator", "w", "http://c/v1"),
    ]
    found = [helper_endpoint(name, settings) for name in ("s@http://b:1/v1", "e@http://b:2/v1", "own")]
    assert [(one.model, one.base_url, one.api_key) for one in found] == [
        ("s", "http://b:1/v1", "sk-0987654321"),
        ("e", "http://b:2/v1", ""),
        ("own", "", "sk-1234567890"),
    ]


def test_openais_key_means_openais_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    assert with_endpoint(RunSettings(model=("gpt-4o",))).base_url == OPENAI_URL
    assert with_endpoint(RunSettings(judge="gpt-4o")).base_url == OPENAI_URL
    assert with_endpoint(RunSettings(model=("gpt-4o",), base_url=LOCAL)).base_url == LOCAL


def test_the_address_of_openais_clients_is_used_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", LOCAL)
    assert with_endpoint(RunSettings(judge="gpt-4o")).base_url == LOCAL
    assert with_endpoint(RunSettings(selector_model="gpt-4o")).base_url == LOCAL
    assert with_endpoint(RunSettings(judge="gpt-4o", base_url="http://other/v1")).base_url == "http://other/v1"
    assert with_endpoint(RunSettings()).base_url is None
    monkeypatch.setenv("OPENAI_BASE_URL", "host/v1")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL 'host/v1' is not an http"):
        with_endpoint(RunSettings(judge="gpt-4o"))


@pytest.mark.parametrize(
    "settings",
    [RunSettings(judge="gpt-4o", server_url="http://localhost:8000"), RunOptions(judge="gpt-4o", server_port=8000)],
)
def test_the_server_of_the_run_does_not_judge_its_own_agents(
    settings: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", LOCAL)
    with pytest.raises(UsageError, match="the server of this run, which answers agents; say where the model 'gpt-4o'"):
        with_endpoint(settings)


def test_the_hint_names_the_variable_and_never_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "set MY_KEY in the environment or in .env" in key_hint("MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-1234567890")
    assert "MY_KEY was sent" in key_hint("MY_KEY")
    assert "sk-" not in key_hint("MY_KEY")
    assert "--endpoint-key-env HOST=VARIABLE" in key_hint("MY_KEY", ("m@https://h/v1",))


@for_each("option", [{"model": ("llama",)}, {"selector_model": f"m@{LOCAL}"}, {"simulator_model": f"m@{LOCAL}"}])
def test_a_variable_that_would_be_given_to_agents_is_refused(option: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MY_VENDOR", "sk-1234567890")
        with pytest.raises(UsageError, match="call it MY_VENDOR_API_KEY") as error:
            with_endpoint(RunSettings(**option, base_url=LOCAL, api_key_env="MY_VENDOR"))
    assert "sk-" not in str(error.value)
