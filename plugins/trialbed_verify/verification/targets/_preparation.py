"""Prepares requests: from a line of the test set to the body that is sent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from trialbed.contracts import ModelAdapter, Vendor
from trialbed_verify.verification.wire import PreparedRequest

Body = dict[str, Any]

SUITE = "suite"
"""The key of a test set's line that holds a suite's expectations."""


@dataclass(frozen=True)
class RequestSettings:
    """Settings that apply to every request.

    Attributes:
        model: the unified name of the model.
        model_id: the vendor's name of the model; None for the vendor's own mapping.
        temperature, max_tokens, stream: replace the line's own; None leaves it.
        streams_unsaid: whether a stream is asked for where neither the line nor ``stream`` says it.
        extra_body: merged in last, top level only.
        tokenizer: name or folder, for raw completions; None for chat completions.
        trust_tokenizer_code: whether code that comes with the tokenizer may be run.
    """

    model: str
    model_id: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    extra_body: Body = field(default_factory=dict)
    tokenizer: str | None = None
    stream: bool | None = None
    streams_unsaid: bool = False
    trust_tokenizer_code: bool = False

    @property
    def raw(self) -> bool:
        """Return whether raw completions are requested."""
        return self.tokenizer is not None


@dataclass
class Preparation:
    """Prepares the requests of one vendor and model."""

    settings: RequestSettings
    vendor: Vendor
    adapter: ModelAdapter

    def __post_init__(self) -> None:
        self.adapter.trust_tokenizer_code = self.settings.trust_tokenizer_code

    def __call__(self, body: Body) -> PreparedRequest:
        """Prepare the request for one line, without changing the line."""
        settings = self.settings
        # A suite's expectations are for the results, not for the vendor.
        request = {key: value for key, value in body.items() if key != SUITE}
        if isinstance(request.get("messages"), list):
            request["messages"] = self.adapter.transform(request["messages"])
        request["model"] = settings.model_id or self.vendor.model_id(settings.model)
        overrides = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "stream": settings.stream}
        request |= {key: value for key, value in overrides.items() if value is not None}
        if settings.streams_unsaid and request.get("stream") is None:
            request["stream"] = True
        tools = request.get("tools")
        if settings.tokenizer is not None:
            request = self._raw(request, settings.tokenizer)
        elif request.get("stream"):
            request["stream_options"] = _with_usage(request.get("stream_options"))
        request = self.vendor.prepare(request, settings.model)
        sent = {**request, **settings.extra_body}
        if sent.get("stream") and not request.get("stream"):
            sent["stream_options"] = _with_usage(sent.get("stream_options"))
        return PreparedRequest(request, sent, request_hash(request), tools)

    def _raw(self, request: Body, tokenizer: str) -> Body:
        prompt = self.adapter.prompt(request.get("messages") or [], request.get("tools"), tokenizer)
        rest = {key: value for key, value in request.items() if key not in ("messages", "tools")}
        return {**rest, "prompt": prompt}


def request_hash(request: Body) -> str:
    """MD5 of the prepared request with sorted keys, hex: the ``hash`` of K2-style result rows."""
    parts = (
        f"{_text(key)}: {_tools(value) if key == 'tools' else _text(value)}" for key, value in sorted(request.items())
    )
    text = f"{{{', '.join(parts)}}}"
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


_text = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def _tools(tools: Any) -> str:
    """The text of tools; many requests have the same, and their text is long."""
    try:
        compact = orjson.dumps(tools)
    except TypeError:
        return _text(tools)
    # An infinite number is written as null there.
    return _text(tools) if b"null" in compact else _text_of(compact)


@lru_cache(maxsize=64)
def _text_of(tools: bytes) -> str:
    return _text(json.loads(tools))


def _with_usage(options: Any) -> Body:
    return {"include_usage": True, **(options if isinstance(options, dict) else {})}
