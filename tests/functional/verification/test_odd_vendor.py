"""A vendor that is odd in nearly five hundred ways: each is told as the specifications have it, and costs no row."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import get_args

import pytest
from support.cases import for_each
from support.odd_vendor import RIGHT, Odd, Row, answered, as_set, kinds
from support.odd_vendor.arguments import ARGUMENTS
from support.odd_vendor.calls import CALLS
from support.odd_vendor.demands import DEMANDS
from support.odd_vendor.errors import ERRORS
from support.odd_vendor.forms import FORMS
from support.odd_vendor.framing import FRAMING
from support.odd_vendor.http import HTTP
from support.odd_vendor.messages import MESSAGES
from support.odd_vendor.streamed_calls import STREAMED_CALLS
from support.odd_vendor.streams import STREAMS
from support.odd_vendor.texts import TEXTS
from support.odd_vendor.transport import TRANSPORT
from support.once import Once

from trialbed.wire import Outcome
from trialbed_verify.findings import CALL_REASONS, KINDS, OUTCOMES, PROBLEMS, PROTOCOL_ERRORS

GROUPS = {
    "calls": CALLS,
    "arguments": ARGUMENTS,
    "messages": MESSAGES,
    "texts": TEXTS,
    "forms": FORMS,
    "demands": DEMANDS,
    "streams": STREAMS,
    "framing": FRAMING,
    "streamed calls": STREAMED_CALLS,
    "errors": ERRORS,
    "http": HTTP,
    "transport": TRANSPORT,
}
ALL = [(group, odd) for group, members in GROUPS.items() for odd in members]


@pytest.fixture(scope="module")
def answers(once: Once) -> dict[str, dict[str, Row]]:
    def fill(folder: Path) -> None:
        found = {}
        for group, members in GROUPS.items():
            (folder / group).mkdir()
            found[group] = asyncio.run(answered(members, folder / group))
        (folder / "rows.json").write_text(json.dumps(found))

    found: dict[str, dict[str, Row]] = json.loads((once("odd vendor", fill) / "rows.json").read_text())
    return found


@for_each(("group", "odd"), ALL)
def test_what_is_odd_is_told(group: str, odd: Odd, answers: dict[str, dict[str, Row]]) -> None:
    row = answers[group][odd.name]
    assert (row["outcome"], (row["problem"] or {}).get("kind")) == (odd.outcome, odd.problem)
    assert row["status"] == ("success" if odd.problem is None else "failed")
    assert as_set(odd.found) <= kinds(row)
    assert not as_set(odd.absent) & kinds(row)
    if odd.name.startswith(RIGHT):
        assert kinds(row) == set()
    if odd.calls is not None:
        assert tuple((call["valid"], tuple(call["reasons"])) for call in row["calls"]) == odd.calls
    assert odd.also is None or odd.also(row)


def test_each_finding_is_noted_with_evidence(answers: dict[str, dict[str, Row]]) -> None:
    for row in (row for group in answers.values() for row in group.values()):
        for found in row["findings"]:
            told = found["kind"] in PROTOCOL_ERRORS or found["kind"] in CALL_REASONS
            assert told or found["kind"] in row["notes"]
            assert found["message"]
            assert found["evidence"] or found["kind"] in WITHOUT_EVIDENCE, found
            assert len(found["evidence"]) < 400


WITHOUT_EVIDENCE = {"usage_missing", "tool_calls_without_calls", "calls_with_other_finish"}
"""What is absent shows no bytes."""


def test_every_outcome_and_problem_is_explained(answers: dict[str, dict[str, Row]]) -> None:
    rows = [row for group in answers.values() for row in group.values()]
    assert set(OUTCOMES) == set(get_args(Outcome)) == {row["outcome"] for row in rows} | {"timeout"}
    seen = {row["problem"]["kind"] for row in rows if row["problem"]}
    named = {"http_<status>" if kind.startswith("http_") else kind for kind in seen}
    assert named | {"connect", "reset", "timeout", "too_large", "transport"} == set(PROBLEMS)


def test_every_kind_is_seen(answers: dict[str, dict[str, Row]]) -> None:
    seen = {kind for group in answers.values() for row in group.values() for kind in kinds(row)}
    assert set(KINDS) - seen == ELSEWHERE


ELSEWHERE = {"extra_property", "not_in_enum", "own_count_differs", "raw_calls_unreadable", "too_large"}
"""Kinds that other tests see."""
