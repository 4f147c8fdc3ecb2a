"""Labelled cases: answers to queries with the status that people gave them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from trialbed.contracts import AnswerStatus
from trialbed.errors import DataError
from trialbed.files import read_text
from trialbed.records import Answer, ApiCall, ApiRef, Finish, GoldCall, Json, Query, Record, WireLog


class LabelledAnswer(Record):
    """An answer and its label."""

    answer: str
    label: AnswerStatus
    note: str = ""


class LabelledCall(Record):
    """A call that was made: what came back, or the error."""

    tool: str
    api: str
    category: str = ""
    arguments: Json = Field(default={})
    response: Json = None
    error: str = ""


class LabelledTask(Record):
    """A line of a file of labelled cases: a query, the calls that were made for it, and one or more labelled answers.

    Attributes:
        facts: those that a right answer contains, each checkable by a rule.
        gold: the Apis that solve the query, as [tool, api]; None for those that were called.
        finish: how the agent ended; null if it did not finish.
        criterion: what the judge is asked in place of whether the task is solved: Solved means that it is met.
        answer, label: of the only answer; ``answers`` of several.
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
        id: of the task, and the answer's number in it if there are several.
        criterion: that the label is about; None for one that is about the task.
    """

    id: str
    query: Query
    answer: Answer
    wire: WireLog
    label: AnswerStatus
    criterion: str | None = None


def embedded_cases() -> list[LabelledCase]:
    """Return the labelled cases that come with Trialbed."""
    text = files("trialbed_evaluation.calibration").joinpath("cases.jsonl").read_text(encoding="utf-8")
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
        raise DataError(f"{path}: cases with a criterion and cases without are two questions: calibrate them apart")
    return cases


def labels_digest(cases: Sequence[LabelledCase]) -> str:
    """Return the SHA-256 over the cases, by which calibrations of the same ones are known.

    Fields that have their defaults are left out, so that a new field of a record changes no digest.
    """
    text = "\n".join(case.model_dump_json(exclude_defaults=True) for case in cases)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


def _cases(lines: Iterable[str], name: str) -> Iterator[LabelledCase]:
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        task = _task(line, place)
        if task.id in seen:
            raise DataError(
                f"{place}: the id {task.id!r} is already used in line {seen[task.id]}; give each task its own"
            )
        seen[task.id] = number
        yield from _of_task(task, place)


def _task(line: str, place: str) -> LabelledTask:
    try:
        return LabelledTask.model_validate(_object(line, place))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise DataError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{place}: must be an object with id, query, answer and label")
    return value


def _of_task(task: LabelledTask, place: str) -> Iterator[LabelledCase]:
    if task.answer is not None and task.label is not None and not task.answers:
        yield _case(task, task.id, LabelledAnswer(answer=task.answer, label=task.label))
    elif task.answers and task.answer is None and task.label is None:
        for number, labelled in enumerate(task.answers, 1):
            yield _case(task, f"{task.id}/{number}", labelled)
    else:
        raise DataError(f"{place}: must have answer and label, or answers, a list of both")


def _case(task: LabelledTask, name: str, labelled: LabelledAnswer) -> LabelledCase:
    calls = [(ApiRef(category=call.category, tool_name=call.tool, api_name=call.api), call) for call in task.calls]
    categories = {ref.pair: ref.category for ref, _ in calls}
    pairs = dict.fromkeys(ref.pair for ref, _ in calls) if task.gold is None else task.gold
    gold = (ApiRef(category=categories.get((tool, api), ""), tool_name=tool, api_name=api) for tool, api in pairs)
    query = Query(
        query_id=name,
        text=task.query,
        apis=(),
        gold_calls=tuple(GoldCall(api=ref) for ref in gold),
        reference_answer=task.reference,
        reference_facts=task.facts,
    )
    wire = WireLog(
        trial=name,
        opened_at=datetime(2026, 1, 1, tzinfo=UTC),
        api_calls=tuple(
            ApiCall(
                started=0.0,
                duration=0.0,
                api=ref,
                offered=True,
                arguments=call.arguments,
                error=call.error,
                response=call.response,
            )
            for ref, call in calls
        ),
    )
    return LabelledCase(
        id=name,
        query=query,
        answer=Answer(final_answer=labelled.answer, calls=(), finish=task.finish),
        wire=wire,
        label=labelled.label,
        criterion=task.criterion,
    )
