"""An adapter that answers without ``async``, in a thread, as one over a blocking framework does."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from trialbed import Answer, ClaimedCall, ModelFailed, tls_for
from trialbed_plugins.frameworks.reference import ReferenceAgent


class BlockingAgent(ReferenceAgent):
    """The reference loop with blocking requests and calls."""

    def answer(self, query: str) -> Answer:  # type: ignore[override]
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self.system_prompt},
            {"role": "user", "content": query},
        ]
        with self._http() as http, ThreadPoolExecutor() as pool:
            for turn in range(1, self.limits.max_steps + 1):
                message = self._post(http, messages)
                messages.append(message)
                calls = message.get("tool_calls") or []
                if not calls:
                    return self._finish(message.get("content") or "", turn)
                made = list(pool.map(self._made, calls))
                messages += [message for message, _ in made]
                self._calls += [claim for _, claim in made if claim is not None]
        turns = self.limits.max_steps
        return Answer(final_answer="", calls=tuple(self._calls), usage=self._usage, model_turns=turns)

    def _http(self) -> httpx.Client:
        return httpx.Client(timeout=self.limits.request_timeout, verify=tls_for(self.endpoint.base_url))

    def _post(self, http: httpx.Client, messages: list[dict[str, Any]]) -> dict[str, Any]:
        try:
            response = http.post(
                f"{self.endpoint.base_url}/chat/completions",
                json=self._request(messages),
                headers={"Authorization": f"Bearer {self.endpoint.api_key}"},
            )
        except httpx.HTTPError as error:
            raise ModelFailed(f"the model could not be reached: {error}") from error
        if response.status_code != 200:
            raise ModelFailed(f"status {response.status_code}: {response.text}")
        return self._message(response.content)

    def _made(self, call: dict[str, Any]) -> tuple[dict[str, Any], ClaimedCall | None]:
        content, claim = self._make(call["function"]["name"], call["function"]["arguments"])
        return {"role": "tool", "tool_call_id": call["id"], "content": content}, claim

    def _make(self, name: str, text: str) -> tuple[str, ClaimedCall | None]:
        try:
            tool, arguments = self._tools[name], json.loads(text or "{}")
        except (KeyError, ValueError) as error:
            return f"Error: {error!r}", None
        if not isinstance(arguments, dict):
            return "Error: the arguments must be a JSON object", None
        response = tool.invoke(arguments)
        return response, ClaimedCall(name=tool.name, api=tool.api, arguments=arguments, response=response)
