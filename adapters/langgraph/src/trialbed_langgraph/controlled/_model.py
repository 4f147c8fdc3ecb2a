"""The chat model: ``ChatOpenAI`` on the trial's endpoint."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import openai
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from trialbed import Limits, ModelEndpoint, ModelFailed, tls_for

MAX_ERROR_TEXT = 500


class Connections:
    """The HTTP clients of one trial.

    LangChain keeps clients forever, by URL; every trial has its own URL.
    """

    def __init__(self, endpoint: ModelEndpoint, limits: Limits) -> None:
        verify = tls_for(endpoint.base_url)
        self.blocking = openai.DefaultHttpxClient(timeout=limits.request_timeout, verify=verify)
        self.asynchronous = openai.DefaultAsyncHttpxClient(timeout=limits.request_timeout, verify=verify)

    async def close(self) -> None:
        """Close both."""
        self.blocking.close()
        await self.asynchronous.aclose()


class TolerantChatOpenAI(ChatOpenAI):
    """Reads a call whose arguments are JSON but not an object as an invalid call; ``ChatOpenAI`` raises.

    A response without a message is the model's failure; ``ChatOpenAI`` raises any kind of error.
    """

    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        body = _completion(response)
        wrong = _calls_without_object(body)
        result = super()._create_chat_result(body, generation_info)
        for generation in result.generations:
            if wrong and isinstance(generation.message, AIMessage):
                _mark_invalid(generation.message, wrong)
        return result


def chat_model(endpoint: ModelEndpoint, limits: Limits, connections: Connections) -> ChatOpenAI:
    """The trial's model: not streamed, no retries, chat completions.

    ``max_tokens`` goes into the body as it is; LangChain would rename it to ``max_completion_tokens``, which
    few compatible servers know.
    """
    return TolerantChatOpenAI(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=SecretStr(endpoint.api_key),
        temperature=endpoint.temperature or 0.0,
        seed=endpoint.seed,
        extra_body=None if endpoint.max_tokens is None else {"max_tokens": endpoint.max_tokens},
        timeout=limits.request_timeout,
        max_retries=0,
        use_responses_api=False,
        streaming=False,
        http_client=connections.blocking,
        http_async_client=connections.asynchronous,
    )


def _completion(response: Any) -> Any:
    """The document of a completion.

    Raises:
        ModelFailed: the response is not a completion.
    """
    body = response.model_dump(warnings=False) if isinstance(response, openai.BaseModel) else response
    with suppress(LookupError, TypeError):
        if isinstance(body["choices"][0]["message"], dict):
            return body
    text = json.dumps(body, ensure_ascii=False)[:MAX_ERROR_TEXT]
    raise ModelFailed(f"the model's endpoint did not answer with a completion: {text}")


def _calls_without_object(body: dict[str, Any]) -> dict[str, str]:
    """Take the arguments that are JSON but not an object out of the body; returns them by call id.

    Empty arguments are no arguments; older releases of LangChain treat them as invalid JSON.
    """
    wrong: dict[str, str] = {}
    for choice in body["choices"]:
        for call in choice["message"].get("tool_calls") or []:
            function = call.get("function") or {}
            text = function.get("arguments")
            if text and isinstance(_parse(text), dict):
                continue
            function["arguments"] = "{}"
            if text:
                wrong[call["id"]] = text
    return wrong


def _parse(text: str) -> Any:
    """The JSON value in a text; an empty object if it is not JSON, since LangChain detects that by itself.

    None if LangChain would fail on it: thousands of nested lists, or half an emoji, which it could not send back.
    """
    try:
        value = json.loads(text, strict=False)
        json.dumps(value, ensure_ascii=False).encode()
    except (RecursionError, UnicodeEncodeError):
        return None
    except ValueError:
        return {}
    return value


def _mark_invalid(message: AIMessage, wrong: dict[str, str]) -> None:
    for call in [call for call in message.tool_calls if call["id"] in wrong]:
        message.tool_calls.remove(call)
        text = wrong[str(call["id"])]
        message.invalid_tool_calls.append(
            invalid_tool_call(name=call["name"], args=text, id=call["id"], error="the arguments must be a JSON object")
        )
