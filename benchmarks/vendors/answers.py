"""Answers of a played model, in rows of results; the request of a case depends on its number alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

Row = dict[str, Any]
Random = np.random.Generator

TEXT = """the weather in this town is mild today and you can walk to the river with your friends for an hour or two
before it rains again as it often does in the valley"""
WORDS = TEXT.split()
TOOLS = 24


class Case:
    """The prompt, the parameters and the tools of a request, and its good answer."""

    def __init__(self, number: int) -> None:
        random = np.random.default_rng(number)
        self.number = number
        self.prompt = int(np.exp(random.normal(6.6, 0.7)))
        self.calls = bool(random.random() < 0.5)
        self.certain = bool(random.random() < 0.8)
        self.several = bool(random.random() < 0.25)
        self.tool = int(random.integers(0, TOOLS))
        self.place = f"Zürich {number}" if random.random() < 0.1 else f"town {number}"
        self.account = int(random.integers(1 << 54, 1 << 60)) if random.random() < 0.05 else int(random.integers(1, 90))
        self.unit = "metric" if random.random() < 0.7 else None
        self.noted = bool(random.random() < 0.3)
        self.parameters = self._parameters(random)
        if self.forced:
            self.calls = self.certain = True
        if "parallel_tool_calls" in self.parameters:
            self.several = False
        if "response_format" in self.parameters or "stop" in self.parameters:
            self.calls, self.certain = False, True

    @property
    def forced(self) -> bool:
        """Whether tool_choice demands a call."""
        return self.parameters.get("tool_choice") is not None

    @property
    def fixed(self) -> bool:
        """Whether its parameters ask for the same answer each time."""
        return not {"seed", "temperature"}.isdisjoint(self.parameters)

    @staticmethod
    def _parameters(random: Random) -> Row:
        rare: dict[int, Row] = {
            0: {"stop": ["river"]},
            1: {"tool_choice": "required"},
            2: {"parallel_tool_calls": False},
            3: {"response_format": {"type": "json_object"}},
            4: {"temperature": 0},
            5: {"seed": 7},
            6: {"tool_choice": {"type": "function", "function": {"name": "tool_0"}}},
        }
        return rare.get(int(random.integers(0, 20)), {})


def answers(cases: int, trials: int, seed: int) -> Iterator[tuple[Case, int, Row]]:
    """Yield a good answer per case and trial."""
    random = np.random.default_rng(seed)
    for number in range(1, cases + 1):
        case = Case(number)
        for trial in range(trials):
            flips = 0.02 if case.certain else 0.3
            calls = case.calls != bool(random.random() < flips and not case.forced and not case.parameters)
            # Neither a seed nor a temperature of 0 leaves anything to chance.
            chance = np.random.default_rng([number, 3]) if case.fixed else random
            one = row(case, trial, calls=calls, random=chance)
            one["response"]["id"] = f"chatcmpl-{random.integers(1 << 60):x}"
            yield case, trial, one


def row(case: Case, trial: int, *, calls: bool, random: Random) -> Row:
    """Return the row of one answer."""
    made = [call_of(case, place, random) for place in range(1 + case.several)] if calls else None
    return {
        "data_index": case.number,
        "request": {
            "model": "kimi-k2",
            "messages": [{"role": "user", "content": f"task {case.number} " + "x" * (3 * case.prompt)}],
            "tools": [{"type": "function", "function": {"name": f"tool_{place}"}} for place in range(TOOLS)],
            **case.parameters,
        },
        "extra_body": {},
        "response": {
            "id": f"chatcmpl-{random.integers(1 << 60):x}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "kimi-k2",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": None if calls else _text(case, random),
                        **({"tool_calls": made} if calls else {}),
                    },
                    "finish_reason": "tool_calls" if calls else "stop",
                }
            ],
        },
        "status": "success",
        "trial": trial,
        "duration_ms": 800 + int(random.integers(0, 400)),
    }


def finish(case: Case, one: Row) -> Row:
    """Add what follows from an answer, with correct counts if it has no counts."""
    if one["status"] != "success":
        return one | {"finish_reason": None, "outcome": "protocol_error", "response": None, "findings": []}
    choice = one["response"]["choices"][0]
    made = choice["message"].get("tool_calls") or []
    said = (choice["message"].get("content") or "") + "".join(call["function"]["arguments"] for call in made)
    counted = one.pop("counted", {})
    prompt, completion = case.prompt, 12 * len(made) + max(1, len(said) // 4)
    if counted:
        prompt, completion = counted["prompt"](prompt), counted["completion"](completion)
    one["response"]["usage"] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    reason = choice["finish_reason"]
    one["finish_reason"] = reason
    one["outcome"] = reason if reason in ("tool_calls", "stop") else "other"
    one.setdefault("tool_calls_valid", True if made else None)
    return one


def calls_of(one: Row) -> list[Row]:
    """Return the calls of an answer."""
    return list(message_of(one).get("tool_calls") or [])


def message_of(one: Row) -> Row:
    """Return the message of an answer."""
    message: Row = one["response"]["choices"][0]["message"]
    return message


def arguments_of(call: Row) -> Row:
    """Return the arguments of a call."""
    arguments: Row = json.loads(call["function"]["arguments"])
    return arguments


def call_of(case: Case, place: int, random: Random) -> Row:
    """Return the call in this place of an answer."""
    given: Row = {"city": case.place, "account": case.account + place, "days": case.number % 7}
    if case.unit:
        given["unit"] = case.unit
    if case.noted:
        given["note"] = " ".join(WORDS[int(at)] for at in random.integers(0, len(WORDS), 7))
    name = "tool_0" if isinstance(case.parameters.get("tool_choice"), dict) else f"tool_{(case.tool + place) % TOOLS}"
    arguments = json.dumps(given, ensure_ascii=False)
    called = {"name": name, "arguments": arguments}
    return {"id": f"call_{random.integers(1 << 40):x}", "type": "function", "function": called}


def _text(case: Case, random: Random) -> str:
    length = 20 + case.number % 60 + int(random.integers(0, 10))
    chosen = [WORDS[int(place)] for place in random.integers(0, len(WORDS), length)]
    said = f"Town {case.number}: {' '.join(chosen)}."
    if "response_format" in case.parameters:
        return json.dumps({"answer": said})
    return said.replace("river", "lake") if "stop" in case.parameters else said
