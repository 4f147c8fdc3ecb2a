"""Calibrate judges by their agreement with labelled cases."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from pydantic import Field, ValidationError

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge
from trialbed.errors import DataError, JudgeError, NothingMeasured
from trialbed.files import read_text, replace_file
from trialbed.records import Answer, ApiCall, ApiRef, Finish, GoldCall, Json, Query, Record, WireLog
from trialbed.scoring import CALIBRATIONS, MIN_CASES, Calibration, kept_calibrations
from trialbed.settings import state_dir
from trialbed.statistics import Interval, wilson_interval


class LabelledAnswer(Record):
    """An answer and its label."""

    answer: str
    label: AnswerStatus
    note: str = ""


class LabelledCall(Record):
    """A call with its response or error."""

    tool: str
    api: str
    category: str = ""
    arguments: Json = Field(default={})
    response: Json = None
    error: str = ""


class LabelledTask(Record):
    """A line of a file of labelled cases, with a query, its calls, and one or more labelled answers.

    Attributes:
        facts: facts that a correct answer contains, each checkable by a rule.
        gold: the APIs that solve the query, as [tool, api]; None for the called ones.
        finish: how the agent ended; null if it did not finish.
        criterion: replaces the question whether the task is solved; Solved means that it is met.
        answer, label: of a single answer; ``answers`` for several.
    """

    id: str
    query: str
    calls: tuple[LabelledCall, ...] = ()
    facts: tuple[str, ...] = ()
    reference: str | None = None
    gold: tuple[tuple[str, str], ...] | None = None
    finish: Finish | None = "give_answer"
    criterion: str | None = Field(default=None, min_length=1)
    answer: str | None = None
    label: AnswerStatus | None = None
    note: str = ""
    answers: tuple[LabelledAnswer, ...] = ()


class LabelledCase(Record):
    """An answer as a judge sees it, and its label.

    Attributes:
        id: the task's id, with the answer's number if there are several.
        criterion: the subject of the label; None for the task.
    """

    id: str
    query: Query
    answer: Answer
    wire: WireLog
    label: AnswerStatus
    criterion: str | None = None


def embedded_cases() -> list[LabelledCase]:
    """Return the labelled cases that come with Trialbed."""
    text = files("trialbed_evaluation").joinpath("labelled_cases.jsonl").read_text(encoding="utf-8")
    return list(_cases(text.splitlines(), "cases.jsonl"))


def read_cases(path: Path) -> list[LabelledCase]:
    """Return the cases of a file of JSON Lines.

    Raises:
        DataError: it cannot be read or has no cases, a line is wrong, or an id occurs twice; names the line.
    """
    cases = list(_cases(read_text(path).splitlines(), str(path)))
    if not cases:
        raise DataError(f"{path}: the file has no labelled cases")
    if len({case.criterion is None for case in cases}) > 1:
        raise DataError(f"{path}: calibrate cases with a criterion and cases without one separately")
    return cases


def labels_digest(cases: Sequence[LabelledCase]) -> str:
    """Return the SHA-256 over the cases, to recognise calibrations with the same ones.

    Default values are left out, so a new field of a record does not change a digest.
    """
    text = "\n".join(case.model_dump_json(exclude_defaults=True) for case in cases)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


def _cases(lines: Iterable[str], name: str) -> Iterator[LabelledCase]:
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        try:
            task = LabelledTask.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise DataError(f"{place}: {'.'.join(map(str, first['loc'])) or 'the case'}: {first['msg']}") from error
        if (first_line := seen.setdefault(task.id, number)) != number:
            raise DataError(f"{place}: the id {task.id!r} is already used in line {first_line}; give each task its own")
        answers = task.answers
        if task.answer is not None and task.label is not None and not answers:
            yield _case(task, task.id, LabelledAnswer(answer=task.answer, label=task.label))
        elif answers and task.answer is None and task.label is None:
            yield from (_case(task, f"{task.id}/{count}", one) for count, one in enumerate(answers, 1))
        else:
            raise DataError(f"{place}: must have answer and label, or answers, a list of both")


def _case(task: LabelledTask, name: str, labelled: LabelledAnswer) -> LabelledCase:
    made = [(ApiRef(category=call.category, tool_name=call.tool, api_name=call.api), call) for call in task.calls]
    known = {ref.pair: ref for ref, _ in made}
    pairs = dict.fromkeys(ref.pair for ref, _ in made) if task.gold is None else task.gold
    gold = [known.get(pair) or ApiRef(category="", tool_name=pair[0], api_name=pair[1]) for pair in pairs]
    result = {"arguments", "response", "error"}
    calls = [
        ApiCall(started=0.0, duration=0.0, api=ref, offered=True, **call.model_dump(include=result))
        for ref, call in made
    ]
    query = Query(
        query_id=name,
        text=task.query,
        apis=(),
        gold_calls=tuple(GoldCall(api=ref) for ref in gold),
        reference_answer=task.reference,
        reference_facts=task.facts,
    )
    return LabelledCase(
        id=name,
        query=query,
        answer=Answer(final_answer=labelled.answer, calls=(), finish=task.finish),
        wire=WireLog(trial=name, opened_at=datetime(2026, 1, 1, tzinfo=UTC), api_calls=tuple(calls)),
        label=labelled.label,
        criterion=task.criterion,
    )


EMBEDDED = "embedded"
"""The name of the cases that come with Trialbed."""
Pair = tuple[AnswerStatus, AnswerStatus]


async def calibrate(
    judge: Judge,
    cases: Sequence[LabelledCase],
    labels: str = EMBEDDED,
    *,
    concurrency: int = 4,
) -> tuple[Calibration, list[CaseFinding]]:
    """Measure the judge's agreement with the labels; returns its verdict on each case too.

    Args:
        labels: names the cases.
        concurrency: cases at a time.

    Raises:
        NothingMeasured: the judge gave no verdict on any case; says why.
    """
    findings = await judge_cases(judge, cases, concurrency=concurrency)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    found = calibration(findings, labels=labels, labels_digest=labels_digest(cases), votes=judge.votes, at=at)
    if found is None:
        why = f": {findings[0].reason}" if findings else ""
        raise NothingMeasured(f"the judge gave no verdict on any of {len(findings)} cases{why}")
    return found, findings


async def judge_cases(judge: Judge, cases: Sequence[LabelledCase], *, concurrency: int = 4) -> list[CaseFinding]:
    """Ask the judge about each case, in order. A case without a verdict harms no other."""
    slots = asyncio.Semaphore(concurrency)

    async def one(case: LabelledCase) -> CaseFinding:
        given = (case.query, case.answer, case.wire)
        try:
            async with slots:
                verdict = await (judge.judge(*given) if case.criterion is None else judge.meets(case.criterion, *given))
        except Exception as error:  # noqa: BLE001 - a judge is foreign code
            kind = "" if isinstance(error, JudgeError) else f"{type(error).__name__}: "
            return CaseFinding(id=case.id, label=case.label, found=None, reason=f"{kind}{error}")
        return CaseFinding(id=case.id, label=case.label, found=verdict.status, reason=verdict.reason)

    return list(await asyncio.gather(*map(one, cases)))


def keep_calibration(identity: str, measured: Calibration) -> None:
    """Store a judge's calibration in the state folder, replacing its earlier one.

    Raises:
        DataError: it is over too few cases, or the file cannot be written.
    """
    if not measured.is_large:
        raise DataError(f"a calibration is stored if it has {MIN_CASES} cases with a verdict, not {measured.cases}")
    kept = {name: value.model_dump() for name, value in (kept_calibrations() | {identity: measured}).items()}
    path = state_dir() / CALIBRATIONS
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{json.dumps(kept, indent=2)}\n".encode())
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from error


class CaseFinding(Record):
    """A judge's verdict on one case; without a verdict, ``found`` is None and ``reason`` explains it."""

    id: str
    label: AnswerStatus
    found: AnswerStatus | None
    reason: str = ""


def calibration(
    findings: Sequence[CaseFinding], *, labels: str, labels_digest: str, votes: int = 1, at: str = ""
) -> Calibration | None:
    """Return the figures over findings; None if the judge gave no verdict on any case."""
    pairs: list[Pair] = [(finding.label, finding.found) for finding in findings if finding.found is not None]
    if not pairs:
        return None
    accuracy = sum(label == found for label, found in pairs) / len(pairs)
    share = wilson_interval(accuracy, len(pairs))
    kappa, interval = kappa_interval(pairs)
    counts = Counter(pairs)
    return Calibration(
        labels=labels,
        labels_digest=labels_digest,
        cases=len(pairs),
        failures=len(findings) - len(pairs),
        accuracy=accuracy,
        accuracy_low=share.low,
        accuracy_high=share.high,
        kappa=kappa,
        kappa_low=interval.low if interval else None,
        kappa_high=interval.high if interval else None,
        confusion={label: {found: counts[label, found] for found in STATUS_VALUES} for label in STATUS_VALUES},
        votes=votes,
        at=at,
    )


def kappa_interval(pairs: Sequence[Pair]) -> tuple[float | None, Interval | None]:
    """Return Cohen's kappa of pairs (label, status), and its interval; None if chance alone explains them.

    The interval is Wilson's for the share of agreement, beyond the chance agreement of these labels and verdicts.
    Unlike the large-sample one (Fleiss, Cohen and Everitt, 1969) it keeps its level for few cases and for full
    agreement, when the estimated variance of kappa is 0.

    Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
    (1960), 37-46.
    """
    n = len(pairs)
    labels, verdicts = (Counter(side) for side in zip(*pairs, strict=True))
    observed = sum(label == found for label, found in pairs) / n
    expected = sum(labels[status] * verdicts[status] for status in STATUS_VALUES) / n**2
    if math.isclose(expected, 1.0):
        return None, None
    share = wilson_interval(observed, n)
    kappa, low, high = ((agreed - expected) / (1 - expected) for agreed in (observed, share.low, share.high))
    return kappa, Interval(max(-1.0, low), min(1.0, high))
