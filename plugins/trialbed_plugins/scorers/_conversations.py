"""Scores for trials with several messages of the user."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from trialbed.evidence import Passages, carries
from trialbed.records import Json, Score, ScoreDescription
from trialbed.scoring import NOT_OFFERED, ScoreContext, expectations, never_called, scorer
from trialbed.texts import json_leaves
from trialbed_plugins.scorers._reasons import reason

if TYPE_CHECKING:
    from trialbed.tool_calls import AlignedCall

TURNS = (1, 3, 10)
"""The turns with their own score, in addition to the last one."""

SINGLE = "the task is one message of the user"


@scorer(
    scores=[
        ScoreDescription(
            "turns_solved",
            meaning="share of the user's messages before the first whose expectations are not met",
            quality=False,
            ideal=1.0,
            missing="no message of the user has its own expectations",
        ),
        ScoreDescription(
            "turns_needed",
            meaning="messages that a simulated user wrote until the end, if the task was solved",
            unit="messages",
            bounded=False,
            quality=False,
            lower_is_better=True,
            missing="the task has no user who answers, or is not solved",
        ),
        ScoreDescription(
            "remembered",
            meaning="share of right calls and facts among those that need something from an earlier turn",
            quality=False,
            ideal=1.0,
            missing="no expected call and no fact needs anything from an earlier turn",
        ),
        ScoreDescription(
            "policy_kept",
            meaning="no tool was called that the task forbids",
            quality=False,
            missing="the task has no policy or turns, no request has the policy or a tool that the task forbids, or "
            "the agent's calls are not observed",
        ),
        ScoreDescription(
            "history_kept",
            meaning="each turn's first request has all messages of the turns before, in their order, and the policy",
            quality=False,
            missing=f"{SINGLE}, or a request could not be compared",
        ),
        *(
            ScoreDescription(
                f"tokens_at_{turn}",
                unit="tokens",
                meaning=f"tokens of the prompts of {words}",
                bounded=False,
                quality=False,
                lower_is_better=True,
                missing=f"{SINGLE}, or has fewer messages, or no request of the agent is observed",
            )
            for turn, words in (*((f"turn_{turn}", f"turn {turn}") for turn in TURNS), ("last_turn", "the last turn"))
        ),
    ]
)
def conversation_scores(context: ScoreContext) -> Iterable[Score]:
    """Measure the course of a conversation, the history in each turn, and the tokens.

    The detail of ``history_kept`` has the findings for each turn. Its value is 0 if a message or the system prompt was
    dropped, if the task's policy was not sent, or if the order of messages changed. Tokens are estimated if the model
    did not report them.
    """
    if context.wire.turns or context.query.policy:
        found = (read(context) for read in (_turns_solved, _turns_needed, _remembered, _policy_kept))
        yield from filter(None, found)
    if not context.wire.turns:
        return
    from trialbed.history import read_history  # only conversations need it

    turns = read_history(context.wire, context.query.policy)
    listed: list[Json] = [turn.as_json() for turn in turns]
    detail = {"turns": listed, **reason(turn.text for turn in turns if not turn.is_kept)}
    if all(turn.messages is not None for turn in turns):
        value = float(all(turn.is_kept for turn in turns))
        yield Score(name="history_kept", value=value, detail=detail, quality=False)
    for turn in turns if context.wire.model_calls else ():
        if turn.turn in TURNS:
            yield Score(name=f"tokens_at_turn_{turn.turn}", value=float(turn.tokens), bounded=False)
        if turn is turns[-1]:
            yield Score(name="tokens_at_last_turn", value=float(turn.tokens), bounded=False)


def _turns_solved(context: ScoreContext) -> Score | None:
    """Return the share of messages before the first failed expectation; 1 if all expectations are met.

    There is no value if it is unknown whether an expectation is met.
    """
    expected, turns = context.query.expected, len(context.query.turns)
    tests = {test.name: test.turn for test in (() if expected is None else expected.tests) if test.turn}
    if not tests:
        return None
    found = [one for one in expectations(context) if one.text in tests and not one.met]
    if any(one.met is None for one in found):
        return None
    first = min((tests[one.text] for one in found), default=turns + 1)
    detail = reason(one.finding for one in found)
    return Score(name="turns_solved", value=(first - 1) / turns, detail=detail, quality=False)


def _turns_needed(context: ScoreContext) -> Score | None:
    """Return the number of messages that a user who answers had to write."""
    if context.query.user is None or not all(one.met for one in expectations(context)):
        return None
    return Score(name="turns_needed", value=float(len(context.wire.turns)), bounded=False)


def _remembered(context: ScoreContext) -> Score | None:
    """Return how much information from earlier turns was used by calls and facts that need it.

    A call needs it if one of its values occurs in an earlier turn and not in its own message. The same holds for facts.
    Calls and facts that are right count only if the value is not in the instructions alone, such as in a policy.
    """
    found = dict(_each_remembered(context))
    if not found:
        return None
    lost = reason((f"{name}: not remembered" for name, right in found.items() if not right), "all was remembered")
    return Score(name="remembered", value=sum(found.values()) / len(found), detail=lost, quality=False)


def _each_remembered(context: ScoreContext) -> Iterator[tuple[str, bool]]:
    from trialbed.history import is_only_instructed  # only conversations need it

    begins = [turn.started for turn in context.wire.turns]
    texts = [turn.text for turn in (context.query.turns if context.query.user is None else context.wire.turns)]
    needing = [
        (number, one.gold.api.api_name, _values(one.gold.arguments), one.right)
        for number, one in (() if context.unobserved else _each_call(context))
    ]
    for number, turn in enumerate(() if context.query.user else context.query.turns, 1):
        said = context.wire.turns[number - 1].answer or "" if number <= len(begins) else ""
        needing += [(number, repr(fact), [fact], carries(said, fact)) for fact in turn.facts]
    for number, name, leaves, right in sorted(needing, key=itemgetter(0)):
        begin = begins[number - 1] if number <= len(begins) else math.inf
        results = (str(call.response) for call in context.asked if call.accepted and call.started < begin)
        earlier, own = Passages([*texts[: number - 1], *results]), Passages([texts[number - 1]])
        values = [value for value in leaves if earlier.mention(value) and not own.mention(value)]
        if values and not (right and any(is_only_instructed(context.wire, number, value) for value in values)):
            yield f"turn {number}: {name}", right


def _values(arguments: Json) -> list[str]:
    return [str(value) for value in json_leaves(arguments) if not isinstance(value, bool | None)]


def _each_call(context: ScoreContext) -> Iterator[tuple[int, AlignedCall]]:
    """Yield the expected calls with their turns.

    The turn of a call that the whole conversation expects is the one in which it was made, or the last one.
    """
    from trialbed.tool_calls import align_gold_calls  # only conversations need it

    begins, query = [turn.started for turn in context.wire.turns], context.query
    tests = () if query.expected is None else query.expected.tests
    if not any(test.calls for test in tests):
        last = max(len(begins), len(query.turns))
        for one in align_gold_calls(query.gold_calls, context.asked, context.tools).gold if begins else ():
            yield bisect_right(begins, one.call.started) if one.call else last, one
        return
    first = 0
    for number, turn in enumerate(query.turns, 1):
        asked = context.of_turn(number).asked if number <= len(begins) else ()
        gold = query.gold_calls[first : first + turn.calls]
        yield from ((number, one) for one in align_gold_calls(gold, asked, context.tools).gold)
        first += turn.calls


def _policy_kept(context: ScoreContext) -> Score | None:
    """Return 1 if no call was forbidden by the task or by the user's message at that time, else 0."""
    expected = context.query.expected
    from trialbed.history import sends_policy  # most tasks have no policy

    is_told = not context.wire.model_calls or sends_policy(context.wire, context.query.policy)
    if expected is None or not is_told:
        return None
    turns = range(1, len(context.wire.turns) + 1)
    parts = [(context, expected.never)]
    parts += [(context.of_turn(test.turn), test.expected.never) for test in expected.tests if test.turn in turns]
    never = [(api.api_name, never_called(part, api)) for part, apis in parts for api in apis]
    found = [(name, one.met) for name, one in never if not one.text.endswith(NOT_OFFERED)]
    broken = [name for name, kept in found if kept is False]
    if not found or not (broken or all(kept for _, kept in found)):
        return None
    detail = reason((f"{name}: called against the policy" for name in broken), "no forbidden tool was called")
    return Score(name="policy_kept", value=float(not broken), detail=detail, quality=False)
