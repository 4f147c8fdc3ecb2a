"""LangGraph's agent does the same in Responses as in chat completions, under every policy."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError
from packaging.version import Version

from trialbed_scripted import POLICIES, call, policy, serve

OLD = Version(version("langchain-openai")) < Version("1.7")
pytestmark = [pytest.mark.slow(10), pytest.mark.skipif(OLD, reason="older clients of Responses were not tried")]

CALLS = (call("find_order", id=7), call("refund", id=7))


def play(name: str, spoken: str) -> tuple[list[str], str]:
    """Return the calls that the tools got, and the last text."""
    made: list[str] = []

    def find_order(id: int) -> str:  # noqa: A002 - the parameter's name
        """Find an order."""
        made.append(f"find_order {id}")
        return json.dumps({"code": "kxqzvv 48213"})

    def refund(id: int) -> str:  # noqa: A002 - the parameter's name
        """Give the money back."""
        made.append(f"refund {id}")
        return json.dumps({"receipt": "R-90817"})

    with serve(policy(name, *CALLS)) as server:
        model: Any = ChatOpenAI(
            model="m", base_url=server.url, api_key="x", max_retries=0, use_responses_api=spoken == "responses"
        )
        agent: Any = create_agent(model, [find_order, refund])
        try:
            messages = agent.invoke({"messages": [("user", "Refund order 7")]}, {"recursion_limit": 12})["messages"]
            said = str(messages[-1].text)
        except GraphRecursionError as error:
            said = type(error).__name__
        assert {request.dialect for request in server.requests} == {spoken}
    return made, said


def test_every_policy_does_the_same_in_responses() -> None:
    found = {name: play(name, "responses") for name in POLICIES}
    assert found == {name: play(name, "chat_completions") for name in POLICIES}
    assert found["gold"] == (["find_order 7", "refund 7"], "Here is what I found: kxqzvv 48213; R-90817.")
