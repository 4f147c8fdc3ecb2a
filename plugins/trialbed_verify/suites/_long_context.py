"""The suite *long-context*: whether a model finds the one tool that it needs in a long list of tools."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from trialbed_verify.suites._catalog import CatalogTool, catalog
from trialbed_verify.suites._suite import Line, Suite, calls_answer, function, line, user

NAME = "long-context"

SIZES: Mapping[int, int] = {4_000: 20, 16_000: 64, 64_000: 120}
"""Tokens of all declared tools together -> how many tools they are; many endpoints accept at most 128."""

PLACES = ("first", "middle", "last")
NEEDLES = ("track_parcel", "get_tide_times", "renew_loan", "get_moon_phase")
"""Tools whose first request leaves no doubt about any argument."""

LETTERS_PER_TOKEN = 4
"""A rule of thumb for English in JSON; the tokens of a model differ by a quarter or so."""

DEPARTMENTS = (
    "archive", "billing", "canteen", "depot", "events", "facilities", "garage", "helpdesk", "insurance", "journal",
    "kiosk", "laboratory", "museum", "nursery", "orchard", "payroll", "quarry", "reception", "shipyard", "theatre",
)  # fmt: skip
ACTIONS = ("count", "label", "merge", "rotate", "seal", "sort", "stamp", "weigh")
SENTENCES = (
    "It works on the entries of one week and leaves those of other weeks as they are.",
    "Entries that are locked by another department are skipped, and the answer lists them at its end.",
    "The number of the form is printed on the yellow slip; without it the entry is kept for a day and then discarded.",
    "On public holidays the request is queued, and carried out on the next working day before noon.",
    "Two people must confirm it if more than forty entries are concerned; the second one is asked by letter.",
    "The answer is a list with one line for each entry, in the order in which the entries were made.",
    "Names are compared without regard to accents, but with regard to capital letters.",
    "If the department has moved in the meantime, its old rooms are used until the end of the quarter.",
)


def _cases() -> Iterator[Line]:
    needles = [tool for tool in catalog() if tool.name in NEEDLES]
    for size, count in SIZES.items():
        for place in PLACES:
            for needle in needles:
                yield _case(needle, size, count, place)


def _case(needle: CatalogTool, size: int, count: int, place: str) -> Line:
    request = needle.requests[0]
    return line(
        NAME,
        f"{needle.name}-{size // 1000}k-{place}",
        [user(request.text)],
        tools=_haystack(needle, size, count, place),
        expect={"calls": True, "tool": [needle.name], "arguments": needle.arguments(request)},
        by={"tokens": size, "place": place},
        answer=calls_answer((needle.name, needle.arguments(request))),
    )


def _haystack(needle: CatalogTool, size: int, count: int, place: str) -> list[dict[str, Any]]:
    """Return ``count`` tools of about ``size`` tokens together, with the needed one at its place."""
    chance = random.Random(f"{NAME} {needle.name} {size} {place}")  # noqa: S311 - shall be the same again
    pairs = [(action, department) for action in ACTIONS for department in DEPARTMENTS]
    letters = (size * LETTERS_PER_TOKEN - len(orjson.dumps(needle.declared))) // (count - 1)
    tools = [_filler(*pair, letters, chance) for pair in chance.sample(pairs, count - 1)]
    tools.insert({"first": 0, "middle": count // 2, "last": count - 1}[place], dict(needle.declared))
    return tools


def _filler(action: str, department: str, letters: int, chance: random.Random) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {
            "form": {"type": "string", "description": "Number of the form"},
            "week": {"type": "integer", "description": "Calendar week, 1 to 53"},
        },
        "required": ["form"],
    }
    text = f"Lets the {department} {action} the entries of a form."
    bare = len(orjson.dumps(function(f"{action}_{department}_entries", text, parameters)))
    while bare + len(text) < letters:
        text = f"{text} {chance.choice(SENTENCES)}"
    return function(f"{action}_{department}_entries", text, parameters)


SUITE = Suite(
    NAME,
    "whether the one tool that is needed is found among tools of 4, 16 and 64 thousand tokens",
    len(SIZES) * len(PLACES) * len(NEEDLES),
    _cases,
)
