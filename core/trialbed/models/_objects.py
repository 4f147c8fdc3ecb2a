"""Models that are objects of the calling program, or of a user's file. They answer in this process.

The server forwards requests to them as to any endpoint, and never runs code that a request names.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.conformity import check_function
from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.errors import UsageError
from trialbed.foreign_code import ForeignCode
from trialbed.identity import source_of
from trialbed.local_endpoint import local_endpoint
from trialbed.records import COMMON_NAME
from trialbed.settings import RunSettings
from trialbed.tracebacks import exception_text
from trialbed.wire import Call, ModelAnswer, ModelRequest, parse_object
from trialbed.wire.dialects import Dialect, dialect_at

if TYPE_CHECKING:
    from aiohttp import web

FINAL = {"x-should-retry": "false"}
"""Asks the gateway not to repeat a request that failed in the object, because it would fail again."""


class ObjectModel(ModelDriver):
    """A model that is an object, either a function of a ``ModelRequest`` or an object with such a method ``answer``.

    Its answer is a ``ModelAnswer``, a text, a ``Call`` or several of them. An attribute ``identity`` changes if it may
    answer differently; without it, the source counts.

    Attributes:
        answer: the function.

    Raises:
        UsageError: it is neither.
    """

    contract = "1"

    def __init__(self, thing: Any, *, title: str = "model") -> None:
        thing = _make(thing, title)
        self.answer: Callable[[ModelRequest], Any] = getattr(thing, "answer", thing)
        identity = getattr(thing, "identity", None)
        self._identity = identity if isinstance(identity, str) else _digest(source_of(thing))

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:  # noqa: ARG002 - it is one model
        """Describe it by its source."""
        return ModelInfo(identity=self._identity, told_name=COMMON_NAME)

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        """Serve it on this machine to clients that know its key."""
        key, code = secrets.token_urlsafe(24), ForeignCode(self.answer)
        try:
            ask = partial(_answer, self.answer, f"Bearer {key}", partial(code.call, seconds=settings.timeout))
            async with local_endpoint("/v1/{path:.+}", ask) as url:
                yield OpenedModel(model=name, base_url=f"{url}/v1", api_key=key)
        finally:
            code.end()


class FileModels(ModelDriver):
    """Models that are objects in files: ``my_model.py:Name``."""

    contract = "1"

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Run the file, and describe its object by the file's content."""
        described = _load(name).describe(name, settings)
        return replace(described, identity=hashlib.sha256(Path(name.rpartition(":")[0]).read_bytes()).hexdigest())

    def open(self, name: str, settings: RunSettings) -> AbstractAsyncContextManager[OpenedModel]:
        """Serve the file's object."""
        return _load(name).open(name, settings)


async def _answer(
    model: Callable[[ModelRequest], Any], bearer: str, call: Callable[[Any], Awaitable[Any]], http: web.Request
) -> web.StreamResponse:
    """Answer one request over HTTP with the words of an object.

    Args:
        model: the object.
        bearer: the authorization header that a request must have.
        call: calls it without blocking other requests.
    """
    from aiohttp import web

    spoken = dialect_at(http.match_info["path"])
    if not hmac.compare_digest(http.headers.get("Authorization", "").encode(), bearer.encode()):
        return web.Response(status=401)
    if spoken is None:
        return web.Response(status=404)
    request = spoken.read_request(*parse_object(await http.read()))
    if request.problem:
        return _error(spoken, request.problem, 400)
    try:
        answer = as_answer(await call(partial(model, request)))
    except Exception as error:  # noqa: BLE001 - the user's code
        return _error(spoken, f"the model failed: {exception_text(error, model)}", 500)
    parts = spoken.write_answer(replace(answer, model=answer.model or request.model), request)
    kind = "text/event-stream" if request.stream else "application/json"
    return web.Response(body=b"".join(parts), headers={"content-type": kind})


def as_answer(said: Any) -> ModelAnswer:
    """Return the words of an object as an answer. A turn of a script, such as ``say("done")``, makes its own.

    Raises:
        TypeError: it is not an answer.
    """
    if isinstance(said, str):
        return ModelAnswer(content=said)
    said = said.answer() if hasattr(said, "answer") else said
    if isinstance(said, Call):
        said = [said]
    if isinstance(said, list | tuple) and said and all(isinstance(call, Call) for call in said):
        said = ModelAnswer(calls=tuple(said))
    if not isinstance(said, ModelAnswer):
        raise TypeError(f"a model answers with a text, a Call, several, or a ModelAnswer, not {type(said).__name__}")
    return replace(said, finish_reason="tool_calls") if said.calls and said.finish_reason == "stop" else said


def _error(spoken: Dialect, message: str, status: int) -> web.Response:
    from aiohttp import web

    kind = "invalid_request_error" if status < 500 else "server_error"
    return web.json_response(spoken.write_error(message, kind), status=status, headers=FINAL)


def _make(thing: Any, title: str) -> Any:
    """Return the object, or an instance if it is a class with ``answer``."""
    found = thing() if isinstance(thing, type) and hasattr(thing, "answer") else thing
    if isinstance(found, type) or not callable(getattr(found, "answer", found)):
        raise UsageError(f"{title}: {thing!r:.60} is neither a function nor an object with answer(request)")
    check_function(title, getattr(found, "answer", found), "request")
    return found


def _load(text: str) -> ObjectModel:
    from trialbed.plugin_files import load_from_file  # most objects are in no file

    return ObjectModel(load_from_file(text), title=text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
