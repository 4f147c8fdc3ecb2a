"""Writes an answer as its document."""

from __future__ import annotations

import json
from typing import Any

from trialbed.answers._reading import FINISH
from trialbed.records import Answer, ClaimedCall


def answer_document(answer: Answer) -> dict[str, Any]:
    """Return the answer as ``{"answer": {"final_answer", "answer_details"}, "called_apis"}``.

    The nodes are flat. A call stands under its Api's original title, or as reported if it was not
    offered. There is a ``Finish`` node only if the agent did finish. ``called_apis`` lists the
    (tool_name, api_name) pair of every call of an offered Api, in order.
    """
    nodes = [_node(_name(call), call.arguments, call.response) for call in answer.calls]
    if answer.finish is not None:
        ending = {"return_type": answer.finish, "final_answer": answer.final_answer}
        nodes.append(_node(FINISH, ending, ""))
    return {
        "answer": {"final_answer": answer.final_answer, "answer_details": nodes},
        "called_apis": [list(call.api.pair) for call in answer.calls if call.api],
    }


def _name(call: ClaimedCall) -> str:
    return call.api.title if call.api else call.name


def _node(name: str, arguments: Any, response: str) -> dict[str, Any]:
    message = {"name": name, "arguments": arguments, "response": response}
    return {"role": "tool", "message": json.dumps(message, ensure_ascii=False), "next": []}
