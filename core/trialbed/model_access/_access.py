"""Access to a model for helpers, within a budget and with a cache of its replies."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

from trialbed.errors import ModelFailed, ModelUnavailable
from trialbed.files import make_private_file, make_private_folder
from trialbed.records import ModelEndpoint, ModelUse, Prices, Usage
from trialbed.settings import secret_values
from trialbed.texts import number_of
from trialbed.wire import ANSWERED, ChatClient, ModelMessage, Reading
from trialbed.wire.dialects import dialect
from trialbed.wire.redaction import redact


class ModelBudget:
    """The most that may be asked of a model; safe to share between threads.

    Args:
        requests: the most requests; None for any number.
        prices: of the model's tokens, if they are known.
    """

    def __init__(self, requests: int | None = None, *, prices: Prices | None = None) -> None:
        self.requests = requests
        self._prices = prices
        self._use = ModelUse()
        self._lock = Lock()

    @property
    def use(self) -> ModelUse:
        """The requests so far."""
        return self._use

    def take_request(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            ModelUnavailable: the budget is used up.
        """
        with self._lock:
            if self.requests is not None and self._use.requests >= self.requests:
                raise ModelUnavailable(
                    f"the budget of {number_of(self.requests, 'request')} is used up; raise --max-helper-requests, or "
                    "leave it out"
                )
            self._use = self._use.model_copy(update={"requests": self._use.requests + 1})

    def add_tokens(self, usage: Usage) -> None:
        """Count the tokens of an answer."""
        cost = None if self._prices is None else self._prices.cost(usage)
        with self._lock:
            use = self._use
            total = use.cost if cost is None else (use.cost or 0.0) + cost
            self._use = use.model_copy(update={"usage": use.usage + usage, "cost": total})

    def add_unreported(self) -> None:
        """Count an answer without a reported number of tokens."""
        with self._lock:
            self._use = self._use.model_copy(update={"unreported": self._use.unreported + 1})

    def add_cached(self) -> None:
        """Count a reply that came from the cache."""
        with self._lock:
            self._use = self._use.model_copy(update={"cached": self._use.cached + 1})


log = logging.getLogger("trialbed.model_access")

PATIENCE = 10.0
"""Seconds to wait for another process that writes."""


class CompletionCache:
    """Replies in a file, found again by the whole request and the endpoint that it went to.

    Many threads and processes may use one file. A file that cannot be read or written is reported once in the log, and
    nothing is found in it.

    Args:
        path: the file, which is made with its folder if it does not exist; ``:memory:`` keeps the replies in this
            object only.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._broken = False

    def find(self, origin: str, request: Mapping[str, Any]) -> str | None:
        """Return the reply to this request, if it is kept."""
        rows = self._run("SELECT reply FROM replies WHERE digest = ?", (_digest(origin, request),))
        return str(rows[0][0]) if rows else None

    def keep(self, origin: str, request: Mapping[str, Any], reply: str) -> None:
        """Keep a reply, unless there is one already. Secrets of this process's environment are masked in it."""
        text = redact(reply, secret_values()).encode(errors="replace").decode()
        self._run("INSERT OR IGNORE INTO replies (digest, reply) VALUES (?, ?)", (_digest(origin, request), text))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _run(self, statement: str, values: tuple[str, ...]) -> list[Any]:
        with self._lock:
            if self._broken:
                return []
            try:
                with self._open() as connection:
                    return connection.execute(statement, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                self._broken = True
                log.warning("%s: the cache of completions is not used: %s", self._path, error)
                return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path != ":memory:":
                make_private_folder(Path(self._path).parent)
                make_private_file(Path(self._path))
            self._connection = sqlite3.connect(self._path, timeout=PATIENCE, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS replies (digest TEXT PRIMARY KEY, reply TEXT NOT NULL)"
            )
        return self._connection


def _digest(origin: str, request: Mapping[str, Any]) -> str:
    text = json.dumps([origin, request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


Messages = Sequence[Mapping[str, Any]]
T = TypeVar("T")

TIMEOUT = 300.0
"""Seconds of silence after which a reply is given up."""

CORRECTION = "That reply cannot be read: {problem}. Reply again, in the form that was asked for and with nothing else."

REFUSALS = ("http_400", "http_422")
"""Kinds of problems that endpoints report for unknown fields."""

OPTIONAL = ("temperature", "seed")
"""Fields that some models refuse, and that are left out then."""


class ModelAccess:
    """A model that a selector, a simulator or a judge may ask, within a budget and with a cache of its replies.

    Requests that fail because the endpoint is busy, broken or out of reach are repeated a few times. A reply that was
    given once to the same request, at the same endpoint, comes from the cache. An endpoint that refuses structured
    output, a temperature or a seed is asked without it from then on.

    Args:
        endpoint: the model's endpoint, with the settings of its requests.
        budget: the most that may be asked; shared by all who are given the same budget.
        cache: keeps replies; None keeps nothing.
        origin: names the endpoint in the cache, if its URL differs from run to run.
        timeout: seconds of silence after which a reply is given up.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        budget: ModelBudget | None = None,
        cache: CompletionCache | None = None,
        origin: str = "",
        timeout: float = TIMEOUT,
    ) -> None:
        self.endpoint = endpoint
        self.budget = budget or ModelBudget()
        self._cache = cache
        self._origin = origin or endpoint.base_url
        self._timeout = timeout
        self._client: ChatClient | None = None
        self._format = 0
        self._refused: set[str] = set()

    @property
    def model(self) -> str:
        """The model's name."""
        return self.endpoint.model

    @property
    def use(self) -> ModelUse:
        """The requests to the model so far."""
        return self.budget.use

    async def ask(self, messages: Messages, *, seed: int | None = None, **settings: Any) -> str:
        """Return the text of the model's reply.

        Args:
            messages: the conversation; each has a ``role`` and a ``content``.
            seed: another one than the endpoint's.
            **settings: further fields of the request, such as ``max_tokens``.

        Raises:
            ModelFailed: the budget is used up, or the model cannot be reached, refuses, or replies with no text.
        """
        return await self.ask_for(_reply_text, messages, seed=seed, **settings)

    async def ask_for(
        self,
        read: Callable[[str], T],
        messages: Messages,
        *,
        schema: Mapping[str, Any] | None = None,
        seed: int | None = None,
        correction: str = CORRECTION,
        **settings: Any,
    ) -> T:
        """Ask the model, and read its reply. If the reply cannot be read, ask once more.

        Args:
            read: reads a reply; raises ``ValueError`` with the reason if it cannot.
            messages: the conversation; each has a ``role`` and a ``content``.
            schema: the JSON Schema of the reply, for endpoints with structured output.
            seed: replaces the endpoint's.
            correction: the message to the model in the second attempt; ``{problem}`` is the reason.
            **settings: further fields of the request.

        Raises:
            ModelFailed: as ``ask`` says, or two replies in a row cannot be read. Such a reply is not kept.
        """
        request = self._request(messages, seed, settings)
        kept = await self.kept_reply(request, schema)
        if kept is not None:
            try:
                found = read(kept)
            except ValueError:  # kept for another reader
                pass
            else:
                await self.count_kept()
                return found
        reply = await self.reply(request, schema)
        try:
            found = read(reply)
        except ValueError as problem:
            again = [
                *messages,
                {"role": "assistant", "content": reply},
                {"role": "user", "content": correction.replace("{problem}", str(problem))},
            ]
            reply = await self.reply(self._request(again, seed, settings), schema)
            found = _read_again(read, reply)
        await self.keep_reply(request, schema, reply)
        return found

    def ask_blocking(self, messages: Messages, *, seed: int | None = None, **settings: Any) -> str:
        """``ask`` for code that is not async, such as a selector's; not to be called in an event loop's thread."""
        return self.ask_for_blocking(_reply_text, messages, seed=seed, **settings)

    def ask_for_blocking(self, read: Callable[[str], T], messages: Messages, **settings: Any) -> T:
        """``ask_for`` for code that is not async."""

        async def alone() -> T:
            # Connections belong to the loop that makes them.
            own = self.copy()
            try:
                return await own.ask_for(read, messages, **settings)
            finally:
                await own.close()

        return asyncio.run(alone())

    async def close(self) -> None:
        """Close the connections; the cache stays open, as others may use it."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def copy(self) -> ModelAccess:
        """Return an access with connections of its own, and the same budget and cache."""
        made = copy(self)
        made._client = None
        return made

    def _request(self, messages: Messages, seed: int | None, settings: dict[str, Any]) -> dict[str, Any]:
        endpoint = self.endpoint
        own: dict[str, Any] = {
            "temperature": endpoint.temperature or 0.0,
            "seed": endpoint.seed if seed is None else seed,
        }
        if endpoint.max_tokens is not None:
            own["max_tokens"] = endpoint.max_tokens
        spoken = dialect(endpoint.dialect)
        return spoken.write_request(endpoint.model, [_sendable(message) for message in messages], own | settings)

    async def kept_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str | None:
        """Return the reply that is kept for a request."""
        if self._cache is None:
            return None
        return await asyncio.to_thread(self._cache.find, self._origin, _key(request, schema))

    async def count_kept(self) -> None:
        """Count a kept reply that was used."""
        self.budget.add_cached()

    async def keep_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None, reply: str) -> None:
        """Keep the reply to a request, which could be read."""
        if self._cache is not None:
            await asyncio.to_thread(self._cache.keep, self._origin, _key(request, schema), reply)

    async def reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str:
        """Send a request, and return the text of its reply.

        Raises:
            ModelFailed: the budget is used up, or the model cannot be reached, or refuses.
        """
        formats = [*dialect(self.endpoint.dialect).reply_formats(schema), {}] if schema is not None else [{}]
        while True:
            self.budget.take_request()
            step = min(self._format, len(formats) - 1)
            sent = {name: value for name, value in request.items() if name not in self._refused} | formats[step]
            reading = await self._open().complete(sent)
            if (usage := Usage.of(reading.answer.usage or {})) is not None:
                self.budget.add_tokens(usage)
            elif reading.outcome in ANSWERED:
                self.budget.add_unreported()
            if _kind(reading) not in REFUSALS or not self._degrade(reading, sent, last=step + 1 == len(formats)):
                return _text(reading)

    def _degrade(self, reading: Reading, sent: Mapping[str, Any], *, last: bool) -> bool:
        """Drop the settings that the endpoint refuses; False if there is nothing left to drop."""
        message = reading.problem.message if reading.problem else ""
        refused = {name for name in OPTIONAL if name in sent and name in message}
        if refused:
            self._refused |= refused
        elif last:
            return False
        else:
            self._format += 1
        return True

    def _open(self) -> ChatClient:
        if self._client is None:
            endpoint = self.endpoint
            self._client = ChatClient(
                endpoint.base_url, endpoint.api_key or None, timeout=self._timeout, spoken=endpoint.dialect
            )
        return self._client


def _key(request: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**request, "schema": schema}


def _sendable(message: Mapping[str, Any]) -> ModelMessage:
    """Return the message without lone surrogates, which no request can carry."""
    content = message.get("content")
    text = content.encode(errors="replace").decode() if isinstance(content, str) else content
    return ModelMessage(role=message["role"], content=text)


def _reply_text(reply: str) -> str:
    if not reply.strip():
        raise ValueError("it is empty")
    return reply


def _read_again(read: Callable[[str], T], reply: str) -> T:
    try:
        return read(reply)
    except ValueError as problem:
        raise ModelFailed(f"two replies in a row from the model cannot be read: {problem}") from problem


def _text(reading: Reading) -> str:
    answer = reading.answer
    if not answer.source:
        problem = reading.problem.message if reading.problem else "the message is empty"
        # What an endpoint refuses, another question may not meet.
        failed = ModelFailed if _kind(reading) in REFUSALS else ModelUnavailable
        raise failed(f"the model sent no chat completion: {problem}")
    if answer.refusal:
        raise ModelFailed(f"the model refused: {answer.refusal[:300]}")
    if reading.finish_reason == "content_filter":
        raise ModelFailed("the endpoint's content filter withheld the model's reply")
    return answer.text


def _kind(reading: Reading) -> str | None:
    return reading.problem.kind if reading.problem else None


class RelayedModel(ModelAccess):
    """A model that is asked elsewhere. Its replies are read here.

    Args:
        ask: calls a method of the other access.
    """

    def __init__(self, endpoint: ModelEndpoint, ask: Callable[..., Awaitable[Any]]) -> None:
        super().__init__(endpoint)
        self._ask = ask

    async def kept_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str | None:
        """Return the reply that is kept for a request."""
        return cast("str | None", await self._ask("kept_reply", request, schema))

    async def count_kept(self) -> None:
        """Count a kept reply that was used."""
        await self._ask("count_kept")

    async def keep_reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None, reply: str) -> None:
        """Keep the reply to a request."""
        await self._ask("keep_reply", request, schema, reply)

    async def reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str:
        """Have a request sent, and return the text of its reply.

        Raises:
            ModelFailed: as the other access.
        """
        return cast("str", await self._ask("reply", request, schema))

    def copy(self) -> ModelAccess:
        """Return this access, since it has no connections."""
        return self
