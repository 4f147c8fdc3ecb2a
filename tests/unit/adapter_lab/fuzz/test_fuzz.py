"""The fuzzer: it finds what short trials do not show, and prints the shortest conversation as a test."""

from __future__ import annotations

import json
from collections.abc import Iterator

from support.mutants import MUTANTS

from trialbed.contracts import BaseAgent
from trialbed_adapter_lab.fuzz import Conversation, DrawnCall, DrawnTurn, play_lines, search
from trialbed_plugins.frameworks.reference import ReferenceAgent

SAME = DrawnTurn(calls=(DrawnCall(),), usage={"prompt_tokens": 1, "completion_tokens": 1})
BY_NAME = {mutant.__name__: mutant for mutant in MUTANTS}


def played(agent: type[BaseAgent], *conversations: Conversation) -> Iterator[tuple[str, str]]:
    for answer in play_lines(agent, [one.model_dump_json() for one in conversations]):
        invariant, told = json.loads(answer)
        yield invariant, told


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


def test_what_a_mutant_does_in_long_trials_is_seen() -> None:
    short, long = (Conversation(turns=(SAME,) * turns) for turns in (2, 4))
    fine, breach = played(BY_NAME["GuardsAgainstLoops"], short, long)
    assert fine == ("", "")
    assert "Echo_text" in breach[1]


def test_the_shortest_conversation_is_found_and_printed() -> None:
    def play(conversation: Conversation) -> tuple[str, str]:
        return ("only_grows", "it shrank") if len(conversation.turns) > 3 else ("", "")

    breach, count = search(play, 60, seed=27)
    assert breach is not None
    assert count > 3
    assert len(breach.conversation.turns) == 4
    test = breach.conversation.as_test("acme.agent:AcmeAgent", breach.invariant)
    compile(test, "test_breach.py", "exec")
    assert "from acme.agent import AcmeAgent\n" in test
    assert "harness.oracle.breaches(only_grows)" in test
    assert test.count("            ask(") == 4


def test_nothing_is_found_where_nothing_breaks() -> None:
    assert search(lambda _: ("", ""), 0.3, seed=1)[0] is None
