"""The fuzzer: it finds what short trials do not show, and prints the shortest conversation as a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from support.cases import for_each
from support.examples import examples
from support.mutants import MUTANTS

from trialbed.contracts import BaseAgent
from trialbed.errors import NothingMeasured
from trialbed_adapter_lab.fuzz import Conversation, DrawnCall, DrawnTurn, conversations, playing, search
from trialbed_plugins.frameworks.reference import ReferenceAgent


def given_turn() -> DrawnTurn:
    """A turn with a call of the tool that returns the conversation's result."""
    return DrawnTurn(calls=(DrawnCall(name="Given_text"),), usage={"prompt_tokens": 1, "completion_tokens": 1})


SAME = DrawnTurn(calls=(DrawnCall(),), usage={"prompt_tokens": 1, "completion_tokens": 1})
BY_NAME = {mutant.__name__: mutant for mutant in MUTANTS}


def played(agent: type[BaseAgent], *conversations: Conversation) -> Iterator[tuple[str, str]]:
    with playing(agent) as play:
        for conversation in conversations:
            # It comes from another process.
            found = play(Conversation.model_validate_json(conversation.model_dump_json()))
            yield next(iter(found), ("", ""))


def test_the_reference_loop_breaks_nothing() -> None:
    hard = Conversation(
        turns=(
            SAME.model_copy(update={"delay": 700.0, "text": "I look."}),
            DrawnTurn(
                calls=(DrawnCall(arguments="{'text': 1}"), DrawnCall(name="Nobody"), DrawnCall(name="Slow_text"))
            ),
        ),
        settings={"temperature": 0.35, "seed": 7},
    )
    assert [*played(ReferenceAgent, Conversation(), hard)] == [("", ""), ("", "")]


def test_the_shortest_conversation_is_found() -> None:
    def play(conversation: Conversation) -> list[tuple[str, str]]:
        turns = len(conversation.turns)
        return [("conversation_only_grows", "it shrank")] * (turns > 3) + [("tools_stay", "one is gone")] * (turns > 4)

    breach, count = search(play, 60, seed=27)
    assert breach is not None
    assert count > 3
    assert (breach.invariant, len(breach.conversation.turns)) == ("conversation_only_grows", 4)
    # It goes on past those that are known.
    other, _ = search(play, 60, seed=27, known=["conversation_only_grows"])
    assert other is not None
    assert (other.invariant, len(other.conversation.turns)) == ("tools_stay", 5)


def test_nothing_is_found_where_nothing_breaks_and_nothing_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    breach, count = search(lambda _: [], 0.3, seed=1)
    assert breach is None
    assert count > 0
    assert [*tmp_path.iterdir()] == []


def test_what_cannot_be_played_is_no_success() -> None:
    def play(_: Conversation) -> list[tuple[str, str]]:
        raise NothingMeasured("the adapter's process ended with 7")

    with pytest.raises(NothingMeasured, match="ended with 7"):
        search(play, 5)


LATE = SAME.model_copy(update={"delay": 700.0, "text": "long " * 5000})
BREACHES = [
    ("GuardsAgainstLoops", "", Conversation(turns=(SAME,) * 4)),
    ("Waits120SecondsForTheModel", "", Conversation(turns=(LATE,))),
    ("StripsResults", "results_go_back_whole", Conversation(turns=(given_turn(),), result=" blank ")),
    ("WaitsTwoSecondsForTools", "", Conversation(turns=(DrawnTurn(calls=(DrawnCall(name="Slow_text"),)),))),
]


@for_each("mutant, invariant, conversation", BREACHES)
def test_what_is_printed_fails_for_the_breach_and_passes_without_it(
    monkeypatch: pytest.MonkeyPatch, mutant: str, invariant: str, conversation: Conversation
) -> None:
    ((broken, told),) = played(BY_NAME[mutant], conversation)
    assert told
    printed = conversation.as_test("acme:AcmeAgent")
    assert (broken, len(printed) < 2000) == (invariant or broken, True)
    with pytest.raises(AssertionError):
        run_test(monkeypatch, printed, BY_NAME[mutant])
    run_test(monkeypatch, printed, ReferenceAgent)


@given(conversations())
@settings(max_examples=examples(0.3))
def test_what_is_printed_has_the_same_conversation(conversation: Conversation) -> None:
    names: dict[str, Any] = {}
    printed = conversation.as_test("json:loads")
    exec(printed, names)
    assert names["CONVERSATION"] == conversation


def run_test(monkeypatch: pytest.MonkeyPatch, text: str, agent: type[BaseAgent]) -> None:
    """Run a printed test as pytest would."""
    acme = ModuleType("acme")
    acme.AcmeAgent = agent  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme", acme)
    names: dict[str, Any] = {}
    exec(text, names)
    names["test_breach"]()
