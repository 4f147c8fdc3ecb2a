"""Draw conversations with hypothesis until one shows a breach, and shrink it."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from trialbed.errors import TrialbedError, UsageError
from trialbed_adapter_lab.fuzz._conversation import LONG, MOST_CALLS, TOOLS, Conversation, DrawnCall, DrawnTurn
from trialbed_adapter_lab.harness import DETAILED_USAGE

Play = Callable[[Conversation], Sequence[tuple[str, str]]]
"""Plays a conversation; returns each broken invariant and the breach in words."""

EXAMPLES = 100_000
"""More conversations than the time allows."""

MOST_LONG = 4
"""A long text has at most this many times 25,000 characters; turns that are repeated often have none."""

WRITTEN = (
    *('{"text": "x"}', "{}", "", '{"text": 1.0, "n": null}', '"{\\"text\\": \\"x\\"}"', "{'text': 'x'}", "[1]"),
    *('{"text": "x",}', '{"text": "x', "null", '```json\n{"text": "x"}\n```', '{"text": "x"} {"text": "y"}'),
)
NAMES = (*TOOLS, "echo_text", "Echo_txt", "functions.Echo_text", "Nobody")
PIECES = ("", " ", "\n", "\r\n", "a", "e\u0301", "é", "{x}", "%s", "🦜", "&amp;", "True", "1.0", "\u200b", "Error: ")


@dataclass(frozen=True)
class Breach:
    """The shortest conversation that was found to break something.

    Attributes:
        invariant: its name; empty where the reference loop does otherwise.
        words: the breach in words.
        played: the conversations that were played.
    """

    conversation: Conversation
    invariant: str
    words: str
    played: int


def search(
    play: Play, seconds: float, *, known: Collection[str] = (), seed: int | None = None
) -> tuple[Breach | None, int]:
    """Draw and play conversations for this time; return the shortest breach, if any, and how many were played.

    Breaches of ``known`` invariants do not count.

    The time begins with the first conversation. Half as long goes into making a breach shorter.

    Raises:
        UsageError: hypothesis is not installed.
        TrialbedError: that of ``play``, which cannot play a conversation.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded
        from hypothesis.errors import HypothesisException
    except ImportError:
        raise UsageError("--fuzz draws conversations with hypothesis: pip install hypothesis") from None

    deadline, played = math.inf, 0
    best: list[Breach] = []
    failures: list[TrialbedError] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(conversations())
    def look(conversation: Conversation) -> None:
        nonlocal played, deadline
        deadline = deadline if played else time.monotonic() + seconds
        if time.monotonic() > deadline:
            raise _TimeIsOver
        played += 1
        try:
            found = [one for one in play(conversation) if one[0] not in known]
        except TrialbedError as error:
            # Hypothesis would take it for a breach, and play it again.
            failures.append(error)
            raise _TimeIsOver from error
        if found:
            deadline = deadline if best else time.monotonic() + seconds / 2
            best.append(Breach(conversation, *found[0], played))
            raise _Broken(found[0][0])

    with suppress(_TimeIsOver, _Broken, HypothesisException):
        # With a seed of its own hypothesis does not say how to repeat a failure, which is none here.
        seeded(random.getrandbits(64) if seed is None else seed)(look)()
    if failures and not best:
        raise failures[0]
    return min(best, key=_length, default=None), played


def conversations() -> Any:
    """Return the strategy of conversations."""
    from hypothesis import strategies as st

    short = st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.lists(_letters(), max_size=20).map("".join)
    )
    texts = st.one_of(short, st.integers(1, MOST_LONG).map(lambda size: LONG * 5000 * size))
    repeated = st.builds(lambda turn, times: [turn] * times, _turns(short), st.integers(1, 40))
    settings = st.fixed_dictionaries(
        {},
        optional={
            "temperature": st.sampled_from([0.0, 0.35, 1.7]),
            "seed": st.integers(0, 2**31 - 1),
            "max_tokens": st.integers(1, 5000),
            "query": texts.map(lambda text: f"Query {text}."),
            "system_prompt": texts.map(lambda text: f"Prompt {text}."),
        },
    )
    return st.builds(
        Conversation,
        turns=st.one_of(st.lists(_turns(texts), max_size=6), repeated).map(tuple),
        answer=texts.map(lambda text: f"Answer {text}."),
        result=texts,
        spare=st.integers(0, 2),
        settings=settings,
    )


def _turns(texts: Any) -> Any:
    """Return the strategy of turns whose texts are drawn from this one."""
    from hypothesis import strategies as st

    arguments = st.one_of(
        st.sampled_from(WRITTEN), texts.map(lambda text: json.dumps({"text": text}, ensure_ascii=False))
    )
    calls = st.builds(DrawnCall, name=st.sampled_from(NAMES), arguments=arguments)
    return st.builds(
        DrawnTurn,
        calls=st.lists(calls, min_size=1, max_size=MOST_CALLS).map(tuple),
        text=st.none() | texts.filter(bool),
        usage=st.sampled_from([{"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}, DETAILED_USAGE]),
        finish_reason=st.sampled_from(["", "stop", "length"]),
        delay=st.sampled_from([0.0, 0.0, 0.0, 700.0]),
    )


def _letters() -> Any:
    """Return the strategy of characters, without the tables of Unicode, which hypothesis would write here first."""
    from hypothesis import strategies as st

    return st.one_of(st.integers(1, 0xD7FF), st.integers(0xE000, 0x10FFFF)).map(chr)


class _TimeIsOver(BaseException):
    """The time to search is over. Not an exception that hypothesis takes for a breach."""


class _Broken(AssertionError):
    """A conversation broke an invariant."""


def _length(breach: Breach) -> tuple[int, int]:
    return len(breach.conversation.turns), len(breach.conversation.model_dump_json())
