"""The server's settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from trialbed.errors import UsageError
from trialbed.records import FaultPlan, Prices
from trialbed.settings import (
    CONTROL_TOKEN,
    REAL_KEY,
    SERVER_TOKEN,
    SIMULATOR_KEY,
    UPSTREAM_KEY,
    UPSTREAM_KEYS,
    state_dir,
)
from trialbed.wire import lenient_json
from trialbed.wire.addresses import is_loopback
from trialbed.wire.redaction import check_url

MIN_TOKEN = 16
"""Characters of a token."""

GENERATE = "`python -c 'import secrets; print(secrets.token_urlsafe())'`"
MEBIBYTE = 2**20

_URLS = {"upstream": "--base-url", "simulator_upstream": "--simulator-model", "real_url": "--real-url"}


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The server's settings, checked.

    Attributes:
        cache: the response cache: a file (SQLite) or a database URL.
        upstream: the model endpoint that the gateway forwards to, without a final ``/``, or None.
        upstream_key: its key. It leaves the server towards the upstream only.
        other_upstreams: further endpoints, for trials that name them; upstream_keys: the keys of these, by address.
        token: bearer token that guards the server; required beyond loopback.
        control_token: makes this the server of one run: only requests with this token control trials and see metrics,
            and requests to the model and the virtual API must belong to a trial.
        allow_hosts: names of the server, in addition to loopback's and ``host``, that requests may be for if it
            asks for no token.
        trial_expiry: seconds without a request after which a trial without a lease is closed.
        datasets: ``NAME`` or ``NAME:TEST_SET`` of datasets; the server knows their Apis without a trial.
        data_dir: folder of imported datasets; None is the user's.
        simulator: answers for Apis without a trial; None is the dataset's own, ``template`` for unknown Apis.
        simulator_model: a model of the upstream that simulators may ask, or None.
        simulator_upstream, simulator_key: another endpoint for that model, and its key.
        simulator_prices: of that model, if the server belongs to a run; None if they are not known.
        user_model: ``NAME@URL`` of the model that plays users, or None. Its key is the upstream's, or among
            ``upstream_keys``.
        user_prices: of that model.
        simulator_prompt: the file of the system prompt that a simulator asks its model with; None for Trialbed's.
        real_url: the endpoint for real Apis, by ToolBench's protocol, or None. real_key: its key.
        real_timeout: seconds for one real call.
        faults: injected into requests without a trial, or None.
        read_only: whether answers are not kept in the cache.
        max_helper_requests: the most that each simulator asks of it; None for any number.
        completions: the file that keeps the replies to simulators; None to keep nothing.
        model_cache: the file that keeps the answers to trials that ask for it, or None.
        pages: whether the pages of the store are shown at ``/pages``; right answers stand there, so never for agents.
        watch_stdin: end when standard input does, because the parent process is gone.
        max_body: largest request body in bytes. max_answer: largest answer of an Api.
        memory: bytes of cached responses kept in memory.
        simulator_timeout: seconds a simulator has for one answer.
        upstream_timeout: seconds the upstream may be silent before the gateway gives up, unless the trial sets it.
        model_retries: how often a request that the upstream could not answer is repeated.
        endpoint_patience: seconds for the repetitions of one request, and for an upstream that only fails.
        rpm, tpm: the most requests that the upstream gets in any minute, and the most tokens; None for any number.

    Raises:
        UsageError: an option is wrong, or the combination is unsafe.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    host: str = "127.0.0.1"
    port: int = 8080
    cache: str = field(default_factory=lambda: str(state_dir() / "responses.db"))
    upstream: str | None = None
    upstream_key: str | None = field(default=None, repr=False)
    other_upstreams: tuple[str, ...] = ()
    upstream_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: str | None = field(default=None, repr=False)
    control_token: str | None = field(default=None, repr=False)
    allow_hosts: tuple[str, ...] = ()
    pages: bool = False
    trial_expiry: float = 600.0
    datasets: tuple[str, ...] = ()
    data_dir: Path | None = None
    simulator: str | None = None
    simulator_model: str | None = None
    simulator_upstream: str | None = None
    simulator_key: str | None = field(default=None, repr=False)
    simulator_prices: Prices | None = None
    user_model: str | None = None
    user_prices: Prices | None = None
    simulator_prompt: Path | None = None
    real_url: str | None = None
    real_key: str | None = field(default=None, repr=False)
    real_timeout: float = 30.0
    faults: FaultPlan | None = None
    read_only: bool = False
    max_helper_requests: int | None = None
    completions: str | None = None
    model_cache: str | None = None
    watch_stdin: bool = False
    max_body: int = 16 * MEBIBYTE
    max_answer: int = 16 * MEBIBYTE
    memory: int = 256 * MEBIBYTE
    simulator_timeout: float = 30.0
    upstream_timeout: float = 300.0
    model_retries: int = 8
    endpoint_patience: float = 120.0
    rpm: int | None = None
    tpm: int | None = None

    def __post_init__(self) -> None:
        check_token(self.token or self.control_token, self.host)
        for name, option in _URLS.items():
            url = getattr(self, name)
            if url is not None:
                object.__setattr__(self, name, _checked_upstream(url, option))
        others = tuple(_checked_upstream(url, "--other-upstream") for url in self.other_upstreams)
        object.__setattr__(self, "other_upstreams", others)
        object.__setattr__(self, "upstream_keys", {url.rstrip("/"): key for url, key in self.upstream_keys.items()})
        if self.simulator_model is not None and not (self.upstream or self.simulator_upstream):
            raise UsageError(f"--simulator-model {self.simulator_model} needs an endpoint: give --base-url URL")

    def secrets(self) -> tuple[str, ...]:
        """Keys and tokens, which must never appear in a log or an answer."""
        known = (self.upstream_key, self.simulator_key, self.real_key, self.token, self.control_token)
        return tuple(secret for secret in (*known, *self.upstream_keys.values()) if secret)


def check_token(token: str | None, host: str) -> None:
    """Check that a token guards what other machines can reach, and that it is hard to guess.

    Raises:
        UsageError: it does not.
    """
    if token and len(token) < MIN_TOKEN:
        raise UsageError(
            f"{SERVER_TOKEN} is so short that it can be guessed; give it at least {MIN_TOKEN} characters, such as "
            f"those of {GENERATE}"
        )
    if not token and not is_loopback(host):
        raise UsageError(
            f"--host {host} can be reached from other machines; set {SERVER_TOKEN} to a token that "
            f"clients must send, such as the output of {GENERATE}, or bind to 127.0.0.1"
        )


def options_from(text: str) -> ServerOptions:
    """Read a process's options from a JSON object, and its secrets from the environment.

    Raises:
        UsageError: the text is not a JSON object, or an option is wrong.
    """
    try:
        given = json.loads(text)
        return TypeAdapter(ServerOptions).validate_python({**given, **secrets_from(os.environ)})
    except ValidationError as error:
        named = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise UsageError(f"options of the server: {'; '.join(named)}") from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"the options of the server are not a JSON object: {error}") from None


def secrets_from(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that come from the environment, which keeps them out of process lists.

    Raises:
        UsageError: the keys of further endpoints are not a JSON object of texts.
    """
    return {
        "upstream_key": environ.get(UPSTREAM_KEY) or None,
        "upstream_keys": _upstream_keys(environ.get(UPSTREAM_KEYS) or "{}"),
        "simulator_key": environ.get(SIMULATOR_KEY) or None,
        "real_key": environ.get(REAL_KEY) or None,
        "token": environ.get(SERVER_TOKEN) or None,
        "control_token": environ.get(CONTROL_TOKEN) or None,
    }


def _upstream_keys(text: str) -> dict[str, str]:
    keys = lenient_json(text)
    if not isinstance(keys, dict) or not all(isinstance(key, str) for key in keys.values()):
        # Not the value, which has keys in it.
        raise UsageError(
            f"{UPSTREAM_KEYS} is not a JSON object of keys by address; give one such as "
            '{"https://api.openai.com/v1": "KEY"}'
        )
    return keys


def _checked_upstream(url: str, option: str) -> str:
    """Return the URL without its final ``/``."""
    check_url(url, option, "http://localhost:8080/rapidapi" if option == "--real-url" else "https://api.openai.com/v1")
    return url.rstrip("/")
