"""Scores of trials in which the user writes several messages."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Json, Score, ScoreDescription
from trialbed.scoring import ScoreContext, scorer
from trialbed_plugins.scorers._reasons import reason

TURNS = (1, 3, 10)
"""The turns that have a score of their own, besides the last one."""

SINGLE = "the task is one message of the user"


@scorer(
    scores=[
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
                missing=f"{SINGLE}, or has fewer messages",
            )
            for turn, words in (*((f"turn_{turn}", f"turn {turn}") for turn in TURNS), ("last_turn", "the last turn"))
        ),
    ]
)
def conversation_scores(context: ScoreContext) -> Iterable[Score]:
    """Say whether each turn of a conversation had the turns before, and count its tokens.

    The detail of ``history_kept`` has the findings on each turn; its value is 0 if a message or the system prompt was
    dropped, or messages stand in another order. Tokens are estimated if the model did not report them.
    """
    if not context.wire.turns:
        return
    from trialbed.history import read_history  # only conversations need it

    turns = read_history(context.wire)
    listed: list[Json] = [turn.as_json() for turn in turns]
    detail = {"turns": listed, **reason(turn.text for turn in turns if not turn.is_kept)}
    if all(turn.messages is not None for turn in turns):
        value = float(all(turn.is_kept for turn in turns))
        yield Score(name="history_kept", value=value, detail=detail, quality=False)
    for turn in turns:
        if turn.turn in TURNS:
            yield Score(name=f"tokens_at_turn_{turn.turn}", value=float(turn.tokens), bounded=False)
    yield Score(name="tokens_at_last_turn", value=float(turns[-1].tokens), bounded=False)
