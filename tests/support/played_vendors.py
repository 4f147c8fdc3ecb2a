"""Vendors that are played: rows of results with chosen faults, without a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trialbed_verify.panel import Measures, Panel, PanelOptions, judge, measure
from trialbed_verify.rows import FileRows

Row = dict[str, Any]
Change = Callable[[Row, np.random.Generator], None]
Sides = dict[int, list[Measures]]
"""Case -> the measures of its trials."""

TOOLS = ("get_weather", "search_web", "send_mail")
TEXT = """the weather in this town is mild today and you can walk to the river with your friends for an hour or two
before it rains again as it often does in the valley"""
WORDS = TEXT.split()


def rows(
    cases: int, trials: int, seed: int, *, flips: float = 0.1, vendor: str = "acme", change: Change | None = None
) -> Iterator[Row]:
    """The rows of a vendor; what a case asks depends on its number only, how it is answered on the seed too.

    Args:
        flips: the chance that two trials of a case decide differently.
        change: what this vendor does otherwise with an answer.
    """
    random = np.random.default_rng(seed)
    rare = (1 - (1 - 2 * flips) ** 0.5) / 2
    for number in range(1, cases + 1):
        usual = bool(np.random.default_rng(number).random() < 0.5)
        for trial in range(trials):
            calls = usual != bool(random.random() < rare)
            row = _row(number, trial, vendor, calls=calls, random=random)
            if change is not None:
                change(row, random)
            _finish(row)
            yield row


def measured(played: Iterable[Row]) -> Sides:
    """The measures of each case's trials."""
    found: Sides = {}
    for row in played:
        found.setdefault(row["data_index"], []).append(measure(row, FileRows(Path("rows.jsonl")), 0))
    return found


def judged(baseline: Sides, vendor: Sides, **options: Any) -> Panel:
    """The panel's verdict on a vendor."""
    sides = [(baseline[case], vendor[case]) for case in baseline]
    return judge(sides, PanelOptions(**{"permutations": 499, **options}))


def write_played(path: Path, seed: int, cases: int = 24) -> Path:
    """Write the results file of a vendor that is named for its file: two trials of each case, of which some fail."""
    played = list(rows(cases, 2, seed, vendor=path.stem))
    for number, row in enumerate(played):
        row["ttft_ms"] = 200.0 + 7 * (number * 37 % 61)
        if number % (11 + seed) == 5:
            row |= {"status": "failed", "finish_reason": None, "outcome": "protocol_error", "findings": []}
            row |= {"problem": {"kind": "cut_stream", "message": "it ended early"}, "response": None, "calls": []}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in played), encoding="utf-8")
    return path


def message_of(row: Row) -> Row:
    """The answer's message."""
    message: Row = row["response"]["choices"][0]["message"]
    return message


def _row(number: int, trial: int, vendor: str, *, calls: bool, random: np.random.Generator) -> Row:
    names = [TOOLS[number % 3], TOOLS[(number + 1) % 3]] if number % 4 == 0 else [TOOLS[number % 3]]
    made = [
        {
            "id": f"call_{random.integers(1 << 40):x}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"city": f"town {number}", "days": number % 7 + place})},
        }
        for place, name in enumerate(names)
    ]
    length = 15 + int(random.integers(0, 10))
    text = " ".join(WORDS[int(place)] for place in random.integers(0, len(WORDS), length))
    message = {"role": "assistant", "content": None, "tool_calls": made} if calls else None
    return {
        "data_index": number,
        "request": {"model": "kimi-k2", "messages": [{"role": "user", "content": f"task {number}"}]},
        "extra_body": {},
        "response": {
            "id": f"chatcmpl-{random.integers(1 << 60):x}",
            "model": "kimi-k2",
            "choices": [
                {
                    "index": 0,
                    "message": message or {"role": "assistant", "content": f"Town {number}: {text}."},
                    "finish_reason": "tool_calls" if calls else "stop",
                }
            ],
        },
        "status": "success",
        "case": f"{number:064x}",
        "trial": trial,
        "config": vendor,
        "vendor": vendor,
        "model": "kimi-k2",
        "duration_ms": 800 + int(random.integers(0, 400)),
    }


def _finish(row: Row) -> None:
    """What follows from the answer."""
    response = row["response"]
    choice = (response.get("choices") or [{}])[0]
    calls = (choice.get("message") or {}).get("tool_calls") or []
    text = (choice.get("message") or {}).get("content") or json.dumps(calls)
    if response.get("choices") and "usage" not in response:
        tokens = max(1, len(text) // 4)
        response["usage"] = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
    finish = choice.get("finish_reason")
    row.setdefault("outcome", finish if finish in ("tool_calls", "stop") else "other")
    row["finish_reason"] = finish
    row.setdefault("tool_calls_valid", True if calls else None)
    row.setdefault("findings", [])
