"""Variants of suites with other names and values, which nobody can have learnt by heart: the suites are public."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.suites._suite import Line, Suite

FRESH = "-fresh"
"""Behind a suite's name: its variant."""

LONGEST = 64
"""Characters of a tool's name that every endpoint accepts."""

SUFFIXES = ("_now", "_service", "_v2", "_api", "_desk", "_online", "_request", "_plus")
GREETINGS = ("Hello, {} here.", "{} speaking.", "Good morning, this is {}.", "It's {} again.", "A question from {}:")
PEOPLE = (
    "Abena", "Bogdan", "Chiara", "Dewi", "Emre", "Farah", "Gustav", "Hana", "Ines", "Jonas", "Kerttu", "Lwazi",
    "Maren", "Nuno", "Olga", "Priya", "Quentin", "Rosa", "Sanna", "Tomasz", "Ursula", "Vilém", "Wanda", "Yusuf",
)  # fmt: skip
PLACES = (
    "Aarhus", "Braga", "Cork", "Dijon", "Évora", "Faro", "Graz", "Haarlem", "Izmir", "Jena", "Kotor", "Lugano",
    "Malaga", "Nantes", "Odense", "Pula", "Rennes", "Siena", "Tartu", "Uppsala", "Verona", "Wels", "York", "Zadar",
)  # fmt: skip
NAME = re.compile(r"[A-ZÀ-Ý][a-zà-ÿ]{2,}")
"""A value that another name can stand for."""


def fresh_suite(suite: Suite, seed: int) -> Suite:
    """Return the variant of a suite that belongs to a seed: the same cases, under other words."""

    def cases() -> Iterator[Line]:
        return (_vary(line, seed) for line in suite.cases())

    return Suite(f"{suite.name}{FRESH}", f"{suite.about}, with other names and values", suite.size, cases)


def _vary(line: Line, seed: int) -> Line:
    about = line["suite"]
    changed = {key: value for key, value in line.items() if key != "suite"}
    expected = {key: about[key] for key in ("expect", "answer")}
    if "refusal" not in about["expect"]:
        values = _values(line, seed)
        changed, expected = (_replace(part, _names(line, seed), values) for part in (changed, expected))
    _greet(changed, seed)
    return {**changed, "suite": {**about, **expected, "name": f"{about['name']}{FRESH}"}}


def _names(line: Line, seed: int) -> dict[str, str]:
    """Return the tools' new names; those of a tool are the same in a whole suite."""
    known = [tool["function"]["name"] for tool in line.get("tools", ())]
    made = {name: f"{name}{_draw(seed, name).choice(SUFFIXES)}" for name in known}
    return {name: new for name, new in made.items() if len(new) <= LONGEST and new not in known}


def _values(line: Line, seed: int) -> dict[str, str]:
    """Return other places and people for those that a user names and a call is to hold."""
    text = _last_text(line.get("messages"))
    calls = line["suite"]["answer"].get("calls", ())
    said = dict.fromkeys(value for call in calls for value in call["arguments"].values() if isinstance(value, str))
    free = [value for value in said if NAME.fullmatch(value) and re.search(rf"\b{re.escape(value)}\b", text, re.I)]
    listed = json.dumps(line.get("tools", ()), ensure_ascii=False)
    # A value that a schema lists is no name.
    chosen = [value for value in free if f'"{value}"' not in listed]
    return dict(zip(chosen, _draw(seed, text).sample(PLACES, len(chosen)), strict=True))


def _replace(value: Any, names: Mapping[str, str], values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _reword(value, names, values)
    if isinstance(value, Mapping):
        return {key: _replace(item, names, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, names, values) for item in value]
    return value


def _reword(text: str, names: Mapping[str, str], values: Mapping[str, str]) -> str:
    if text in names:
        return names[text]
    for old, new in values.items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text, flags=re.I)
    for old in (name for name in names if name in text):
        text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", names[old], text)
    return text


def _greet(line: Line, seed: int) -> None:
    """Put a sentence before the user's last words; the same one before the same words."""
    messages: Any = line.get("messages")
    if not _last_text(messages):
        return
    before, last = messages[:-1], messages[-1]
    draw = _draw(seed, last["content"])
    greeting = draw.choice(GREETINGS).format(draw.choice(PEOPLE))
    line["messages"] = [*before, {**last, "content": f"{greeting} {last['content']}"}]


def _last_text(messages: Any) -> str:
    last = messages[-1] if isinstance(messages, list) and messages else {}
    content = last.get("content") if last.get("role") == "user" else ""
    return content if isinstance(content, str) else ""


def _draw(seed: int, text: str) -> random.Random:
    return random.Random(f"{seed} {text}")  # noqa: S311 - a seed always makes the same suite
