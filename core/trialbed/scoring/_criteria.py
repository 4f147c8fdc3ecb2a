"""Texts that the model of a judge finds true of a trial or not."""

from __future__ import annotations

from collections.abc import Collection

from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.scoring._context import CheckResult, ScoreContext

NOT_ASKED = "the judge was not asked: the task is unsolved without it"


def criterion_name(text: str) -> str:
    """Return the name of a criterion among the results of checks."""
    return f"criterion: {text}"


async def run_criteria(judge: Judge, context: ScoreContext, asked: Collection[str]) -> tuple[CheckResult, ...]:
    """Return the findings of a judge on each criterion of a trial's task; one that it cannot have is unknown.

    Those that the context has are not asked for again.

    Args:
        asked: the criteria that the judge may be asked for.
    """
    expected = context.query.expected
    known = {result.name: result for result in context.checks if result.met is not None}
    found = []
    for text in () if expected is None else expected.all_criteria:
        name = criterion_name(text)
        if name in known:
            found.append(known[name])
        else:
            found.append(await _ask(judge, text, context) if text in asked else CheckResult(name, None, NOT_ASKED))
    return tuple(found)


async def _ask(judge: Judge, text: str, context: ScoreContext) -> CheckResult:
    name = criterion_name(text)
    try:
        verdict = await judge.meets(text, context.query, context.answer, context.asked_wire)
    except JudgeError as error:
        return CheckResult(name, None, f"judge {context.judge_name}: {error}")
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a judge is foreign code
        return CheckResult(name, None, f"judge {context.judge_name}: {type(error).__name__}: {error}")
    if verdict.status == "Unsure":
        return CheckResult(name, None, f"judge {context.judge_name} is unsure: {verdict.reason}"[:1000])
    return CheckResult(name, verdict.status == "Solved", f"{verdict.reason}{_split(verdict)}"[:1000])


def _split(verdict: Verdict) -> str:
    """Return how many votes agree, in words, where not all do."""
    if verdict.agreement == 1:
        return ""
    return f" ({verdict.votes.count(verdict.status)} of {len(verdict.votes)} votes)"
