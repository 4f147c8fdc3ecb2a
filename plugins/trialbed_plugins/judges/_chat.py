"""Asking the judge's model."""

from __future__ import annotations

from typing import Any

import httpx
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_base, wait_exponential_jitter

from trialbed.errors import JudgeError
from trialbed.records import ModelEndpoint
from trialbed.secrets import redact

ATTEMPTS = 4
"""Requests for one reply, where the model is busy or out of reach."""

TIMEOUT = 120.0
"""Seconds for one reply."""

REFUSALS = (400, 422)
"""How endpoints answer to a field they do not know."""

SHOWN = 300
"""Characters of an endpoint's own words in an error."""

JSON_ONLY = {"response_format": {"type": "json_object"}}


class _Unavailable(JudgeError):
    """Worth another attempt."""


class Chat:
    """Chat completions from one endpoint.

    Endpoints that know JSON mode are asked for JSON; one that refuses it is asked without from then on.
    """

    def __init__(self, endpoint: ModelEndpoint, wait: wait_base | None = None) -> None:
        self._endpoint = endpoint
        self._wait = wait or wait_exponential_jitter(initial=0.5, max=8)
        self._client = httpx.AsyncClient(timeout=TIMEOUT)
        self._format: dict[str, Any] = JSON_ONLY

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def reply(self, messages: list[dict[str, str]], seed: int) -> str:
        """The model's reply.

        Raises:
            JudgeError: there is none, after a bounded number of attempts.
        """
        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(_Unavailable),
            stop=stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            reraise=True,
        ):
            with attempt:
                return _content(await self._answered(messages, seed))
        raise AssertionError("tenacity returns or raises")

    async def _answered(self, messages: list[dict[str, str]], seed: int) -> httpx.Response:
        response = await self._post(messages, seed, self._format)
        if response.status_code in REFUSALS and self._format:
            response = await self._post(messages, seed, {})
            if response.status_code == 200:
                self._format = {}
        if response.status_code == 200:
            return response
        kind = _Unavailable if response.status_code == 429 or response.status_code >= 500 else JudgeError
        raise kind(f"the judge's model refused: status {response.status_code}: {redact(response.text[:SHOWN])}")

    async def _post(self, messages: list[dict[str, str]], seed: int, form: dict[str, Any]) -> httpx.Response:
        endpoint = self._endpoint
        body = {"model": endpoint.model, "messages": messages, "temperature": endpoint.temperature, "seed": seed}
        if endpoint.max_tokens is not None:
            body["max_tokens"] = endpoint.max_tokens
        try:
            return await self._client.post(
                f"{endpoint.base_url.rstrip('/')}/chat/completions",
                json=body | form,
                headers={"Authorization": f"Bearer {endpoint.api_key}"},
            )
        except httpx.HTTPError as error:
            said = f"{type(error).__name__}: {error}"
            raise _Unavailable(f"the judge's model could not be reached: {redact(said)}") from error


def _content(response: httpx.Response) -> str:
    try:
        content = response.json()["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        raise JudgeError(f"the judge's model sent no chat completion: {redact(response.text[:SHOWN])}") from error
    return content if isinstance(content, str) else ""
