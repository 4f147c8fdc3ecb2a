"""An answer costs its own trial at most, however long it is and whatever it consists of."""

from __future__ import annotations

import random
from functools import partial

import pytest
from support.evaluation import trials

from trialbed import Task, evaluate
from trialbed.scoring import LONGEST_ANSWER

PIECES = (
    *("7\n", ",111", " 111", "'111", ".111", "1.", "12:30 ", "1-", "-", "not ", "n't ", "is ", "the status ", "print "),
    *("\n", " ", "\t\n", "\u00a0", "\u2009", "{", "[", '{"a":', '"', "'", "\\", '{"a": [', "<b ", "<think>", "```\n"),
    *(
        "&amp;",
        "&#",
        "\u6f22",
        "\u0315\u0300",
        "\ufdfa",
        "\U0001d7d9",
        "\x00",
        "e5",
        "1e",
        "$",
        "minus ",
        "3 may ",
        "W",
    ),
)
"""Pieces of which an answer consists, one shape for each and one for all."""

SIZE = 30_000_000
KNOWN = "It is 42."


def shape(piece: str, size: int) -> str:
    return "111" + piece * (size // len(piece)) + ",1 x"


def mixed(size: int) -> str:
    chosen = random.Random(0).choices(PIECES, k=1000)
    return shape("".join(chosen), size)


@pytest.mark.slow(15)
def test_answers_of_thirty_megabytes_cost_their_trials_and_no_other() -> None:
    answers = {"known": lambda: KNOWN, "mixed": lambda: mixed(SIZE)}
    answers |= {ascii(piece): partial(shape, piece, SIZE) for piece in PIECES[::6]}

    def agent(query: str) -> str:
        return answers[query]()

    tasks = [Task(name, expect="42") for name in answers]
    evaluate(agent, tasks, progress=False)
    ended = {trial.key.query_id: trial for trial in trials()}
    assert ended[1].score("sopr_score").value == 1.0
    for number in range(2, len(tasks) + 1):
        failure = ended[number].outcome.failure
        assert failure.kind == "answer"
        assert failure.message.endswith(f"characters; answers of more than {LONGEST_ANSWER:,} are not judged")
