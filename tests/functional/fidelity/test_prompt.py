"""What is done to the prompt shows."""

from __future__ import annotations

import pytest
from support.measured import Fidelity, Measured

from trialbed_adapter_lab.fidelity import Prompt

pytestmark = pytest.mark.slow(10)

AGENTS = (
    "faithful",
    "adds-a-line",
    "adds-a-message",
    "calls-it-developer",
    "rewrites-history",
    "strict",
    "keeps-ten-tools",
    "drops-tools-at-the-end",
    "fails-always",
)
LINE = " Think step by step."


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity) -> Measured:
    return fidelity(*AGENTS, options=("--part", "prompt"), code=1)


def prompt(measured: Measured, framework: str) -> Prompt:
    found = measured.of(framework).prompt
    assert found is not None
    return found


@pytest.mark.parametrize("framework", ["reference", "faithful"])
def test_a_faithful_framework_adds_nothing(measured: Measured, framework: str) -> None:
    found = prompt(measured, framework)
    assert (found.request_bytes()[1], found.prompt_tokens()[1], found.first, found.last) == (0, 0, (), ())
    assert found.requests == len(found.turns) == 4
    assert found.tools == 20
    assert found.other_tools == ()


def test_a_line_is_found_with_its_words_and_its_size(measured: Measured) -> None:
    found = prompt(measured, "adds-a-line")
    (change,) = found.first
    assert (change.kind, change.role) == ("changed", "system")
    (difference,) = change.differences
    assert difference.sent == difference.given + LINE
    assert [turn.added_bytes for turn in found.turns] == [len(LINE)] * 4
    assert all(turn.added_tokens == len(LINE) / 4 for turn in found.turns)


def test_a_message_is_found(measured: Measured) -> None:
    (change,) = prompt(measured, "adds-a-message").first
    assert (change.kind, change.role, change.index) == ("added", "user", 1)
    assert change.message["content"] == "Here is an example."


def test_another_role_is_found(measured: Measured) -> None:
    (change,) = prompt(measured, "calls-it-developer").first
    assert [(d.pointer, d.given, d.sent) for d in change.differences] == [("/role", "system", "developer")]


def test_a_history_that_is_rewritten_shows_in_later_turns_only(measured: Measured) -> None:
    found = prompt(measured, "rewrites-history")
    assert found.first == ()
    assert {(change.kind, change.role) for change in found.last} == {("changed", "assistant")}
    assert len(found.last) == 3
    assert found.turns[0].added_bytes == 0
    assert found.turns[3].added_bytes < 0


def test_what_schemas_grow_by_is_a_part_of_the_prompt(measured: Measured) -> None:
    found, plain = prompt(measured, "strict"), prompt(measured, "reference")
    assert found.first == ()
    assert found.prompt_tokens()[1] > 0
    assert found.turns[0].tool_bytes > plain.turns[0].tool_bytes
    assert found.turns[0].message_bytes == plain.turns[0].message_bytes


def test_tools_that_are_not_sent_make_the_prompt_smaller(measured: Measured) -> None:
    assert prompt(measured, "keeps-ten-tools").prompt_tokens()[1] < 0


def test_tools_that_change_on_the_way_show(measured: Measured) -> None:
    found = prompt(measured, "drops-tools-at-the-end")
    assert found.other_tools == (4,)
    assert found.turns[0].added_bytes == 0


def test_what_cannot_be_measured_has_no_figures_but_a_reason(measured: Measured) -> None:
    found = measured.of("fails-always")
    assert found.prompt is None
    assert [(missing.part, "no tools for anybody" in missing.reason) for missing in found.missing] == [("prompt", True)]
