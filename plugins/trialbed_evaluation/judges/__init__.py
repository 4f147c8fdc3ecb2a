"""Graders of answers, each a driver of ``trialbed.judges``."""

from trialbed.records import Answer

__all__ = ["without_answer"]


def without_answer(answer: Answer) -> str | None:
    """Explain why the answer cannot be graded; None if it can."""
    if answer.finish is None and answer.final_answer.strip():
        return (
            "the agent did not finish: it has a text, but does not say that it ended with an answer (a Finish node in "
            "answer_details says so, and an agent that returns its text alone has finished)"
        )
    if answer.finish is None:
        return "the agent did not finish"
    if answer.finish != "give_answer":
        return "the agent gave up"
    return None if answer.final_answer.strip() else "the answer is empty"
