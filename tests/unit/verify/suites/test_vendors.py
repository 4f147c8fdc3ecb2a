"""Every suite, sent to a good vendor and to bad ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

SendSuite = Callable[..., Awaitable[dict[str, Any]]]


@pytest.mark.parametrize(
    ("name", "fault", "missed", "share"),
    [
        ("triggering", "never_calls", {"calls": 100}, 0.5),
        ("constraints", "ignores:tool_choice", {"calls": 18, "tool": 18}, 48 / 84),
        (
            "constraints",
            "ignores:parallel_tool_calls+response_format+stop",
            {"most_calls": 12, "json": 8, "without": 12},
            52 / 84,
        ),
        ("refusals", "ignores:temperature+tool_choice+tools", {"refusal": 27}, 23 / 50),
        ("leaks", "leaks", {"clean": 48}, 0.0),
        ("long-context", "short_context", {"tool": 14, "arguments": 14}, 22 / 36),
    ],
)
async def test_a_vendor_that_answers_wrongly_is_wrong_where_it_is(
    name: str, fault: str, missed: dict[str, int], share: float, send_suite: SendSuite
) -> None:
    spelled = fault.partition(":")
    step = {"fault": spelled[0], "parameter": spelled[2]} if spelled[2] else fault
    found = await send_suite(name, step)
    assert found["misses"] == missed
    assert found["score"]["value"] == pytest.approx(share)
    assert all(found["examples"][name] for name in missed)


async def test_depth_is_what_the_summary_is_broken_down_by(send_suite: SendSuite) -> None:
    found = await send_suite("multi-turn", {"fault": "forgetful", "turns": 8})
    values = {depth: score["value"] for depth, score in found["by"]["depth"].items()}
    assert values == {"1": 1.0, "3": 1.0, "8": 0.5}
    assert set(found["misses"]) == {"calls"}
    assert list(values) == ["1", "3", "8"]
    assert list(found["by"]) == ["depth", "kind"]


@pytest.mark.parametrize(
    ("fault", "findings", "missed"),
    [
        ("none", {"temperature": "obeyed", "seed": "obeyed", "n": "obeyed", "logprobs": "obeyed"}, {}),
        (
            {"fault": "ignores", "parameter": "temperature+seed+n+logprobs"},
            {"temperature": "ignored", "seed": "ignored", "n": "ignored", "logprobs": "ignored"},
            {"choices": 6, "logprobs": 6},
        ),
        (
            {"fault": "refuses", "parameter": "seed+logprobs"},
            {"temperature": "obeyed", "seed": "refused", "n": "obeyed", "logprobs": "refused"},
            {"refused": 30},
        ),
    ],
)
async def test_parameters_are_obeyed_ignored_or_refused(
    fault: Any, findings: dict[str, str], missed: dict[str, int], send_suite: SendSuite
) -> None:
    found = await send_suite("parameters", fault)
    assert {name: one["finding"] for name, one in found["parameters"].items()} == findings
    assert found["misses"] == missed
