"""Scores for trials with several messages of the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbed.evidence import carries
from trialbed.records import Json, Score, ScoreDescription
from trialbed.scoring import ScoreContext, expectations, never_called, scorer
from trialbed.texts import json_leaves
from trialbed_plugins.scorers._reasons import reason

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
            missing="no message of the user has expectations of its own",
        ),
        ScoreDescription(
            "turns_needed",
            meaning="messages that a user who answers wrote until the end, where the task was solved",
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
            meaning="no tool was called where the task says never",
            quality=False,
            missing="the task has no policy or turns, or forbids no tool, or the agent's calls are not observed",
        ),
        ScoreDescription(
            "history_kept",
            meaning="each turn's first request has all messages of the turns before, in their order",
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
    dropped, or if the order of messages changed. Tokens are estimated if the model did not report them.
    """
    if context.wire.turns or context.query.policy:
        found = (read(context) for read in (_turns_solved, _turns_needed, _remembered, _policy_kept))
        yield from filter(None, found)
    if not context.wire.turns:
        return
    from trialbed.history import read_history  # only conversations need it

    turns = read_history(context.wire)
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
    """
    found = dict(_each_remembered(context))
    if not found:
        return None
    lost = reason((f"{name}: not remembered" for name, right in found.items() if not right), "all was remembered")
    return Score(name="remembered", value=sum(found.values()) / len(found), detail=lost, quality=False)


def _each_remembered(context: ScoreContext) -> Iterator[tuple[str, bool]]:
    from trialbed.tool_calls import align_gold_calls  # only conversations need it

    first, earlier = 0, ""
    for number, turn in enumerate(context.query.turns, 1):
        gold = context.query.gold_calls[first : first + turn.calls]
        first += turn.calls
        part = context.of_turn(number) if number <= len(context.wire.turns) else None
        own, said = (part.asked, part.text) if part else ((), "")
        for one in () if context.unobserved else align_gold_calls(gold, own, context.tools).gold:
            values = [str(value) for value in json_leaves(one.gold.arguments) if not isinstance(value, bool | None)]
            if any(carries(earlier, value) and not carries(turn.text, value) for value in values):
                yield f"turn {number}: {one.gold.api.api_name}", one.right
        for fact in turn.facts:
            if carries(earlier, fact) and not carries(turn.text, fact):
                yield f"turn {number}: {fact!r}", carries(said, fact)
        results = (str(call.response) for call in own if call.accepted)
        earlier = "\n".join([earlier, turn.text, *results])


def _policy_kept(context: ScoreContext) -> Score | None:
    """Return 1 if no call was forbidden by the task or by the user's message at that time, else 0."""
    expected = context.query.expected
    if expected is None:
        return None
    turns = range(1, len(context.wire.turns) + 1)
    parts = [(context, expected.never)]
    parts += [(context.of_turn(test.turn), test.expected.never) for test in expected.tests if test.turn in turns]
    found = [(api.api_name, never_called(part, api).met) for part, never in parts for api in never]
    broken = [name for name, kept in found if kept is False]
    if not found or not (broken or all(kept for _, kept in found)):
        return None
    detail = reason((f"{name}: called against the policy" for name in broken), "no forbidden tool was called")
    return Score(name="policy_kept", value=float(not broken), detail=detail, quality=False)
