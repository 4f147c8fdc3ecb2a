"""Make gold answers from the gold Apis' responses, asked from a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from trialbed_masbench._queries import QueryLoader

DEFAULT_CATEGORY = "Data"
"""The category of a tool that a query does not describe, as MASBench has it."""

TIMEOUT = 60.0
"""Seconds that a response may take."""

Response = dict[str, Any]


class GoldAnswerGenerator:
    """Calls the gold Apis of queries.

    Args:
        server_url: the virtual API.
    """

    def __init__(self, server_url: str = "http://localhost:8080/virtual") -> None:
        self.server_url = server_url

    def execute_gold_apis(
        self,
        query: Mapping[str, Any],
        gold_apis: Sequence[Sequence[str]],
        default_parameters: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
    ) -> list[Response]:
        """Call each gold Api, and return the responses with what was sent.

        Args:
            default_parameters: (tool_name, api_name) -> arguments; else the defaults of the required parameters.
        """
        given = default_parameters or {}
        categories = {tool["tool_name"]: tool["category"] for tool in QueryLoader.extract_available_tools(query)}
        found = []
        for tool_name, api_name in gold_apis:
            arguments = given.get((tool_name, api_name))
            api = {
                "tool_name": tool_name,
                "api_name": api_name,
                "category": categories.get(tool_name) or DEFAULT_CATEGORY,
            }
            parameters = dict(_defaults(query, tool_name, api_name) if arguments is None else arguments)
            found.append({**api, "parameters": parameters, "response": self._call(api, parameters)})
        return found

    def generate_gold_answer(self, query: Mapping[str, Any], api_responses: Sequence[Response]) -> Response:  # noqa: ARG002 - MASBench's signature
        """Return responses as an answer, with a step for each, their texts as the final answer, and Finish."""
        steps = [
            _step(f"{one['tool_name']}_{one['api_name']}", one["parameters"], one["response"].get("response", ""))
            for one in api_responses
        ]
        texts = [str(one["response"].get("response", "")) for one in api_responses if not one["response"].get("error")]
        final_answer = "\n".join(filter(None, texts)) or "No response received"
        finish = _step("Finish", {"return_type": "give_answer", "final_answer": final_answer}, "")
        return {"answer": {"final_answer": final_answer, "answer_details": [*steps, finish]}}

    def _call(self, api: Mapping[str, str], parameters: Mapping[str, Any]) -> Response:
        payload = {**api, "tool_input": parameters, "strip": "", "toolbench_key": "EMPTY"}
        try:
            reply = httpx.post(self.server_url, json=payload, timeout=TIMEOUT)
            if reply.status_code != httpx.codes.OK:
                return {"error": f"Server error: {reply.status_code}", "response": ""}
            body: Response = reply.json()
        except (httpx.HTTPError, ValueError) as error:
            return {"error": f"Request error: {error}", "response": ""}
        return body


def _defaults(query: Mapping[str, Any], tool_name: str, api_name: str) -> dict[str, Any]:
    for api in query.get("api_list", ()):
        if (api.get("tool_name"), api.get("api_name")) == (tool_name, api_name):
            required = api.get("required_parameters", ())
            return {parameter["name"]: parameter["default"] for parameter in required if "default" in parameter}
    return {}


def _step(name: str, arguments: Mapping[str, Any], response: Any) -> Response:
    message = json.dumps({"name": name, "arguments": arguments, "response": response})
    return {"role": "tool", "message": message, "next": []}
