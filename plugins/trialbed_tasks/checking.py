"""Find tasks that contradict themselves, cannot be solved, or solve themselves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from trialbed.api import evaluate
from trialbed.catalogs import open_dataset
from trialbed.contracts import AnswerStatus, Dataset, Judge, Verdict
from trialbed.drivers import load_driver
from trialbed.evidence import Passages, carries
from trialbed.files import temporary_folder
from trialbed.records import Answer, Expected, GoldCall, Query, TrialResult, WireLog
from trialbed.settings import data_dir as default_folder
from trialbed.tasks import misfit
from trialbed.texts import json_leaves
from trialbed.wire import lenient_json, recorded_request
from trialbed.wire.json_schemas import JsonSchema

RIGHT, SILENT = "scripted:gold", "scripted:none"

ANY_ANSWER = (
    "its user is content once the expected calls are made, whatever the agent answers: expect facts, which an answer "
    "has to say, or a state"
)


class TaskFinding(NamedTuple):
    """A fault of a task or, as a warning, a possible fault."""

    task: int | str
    problem: str
    is_warning: bool = False


class SupposingJudge(Judge):
    """Gives the same verdict for every criterion, without a model. Other tasks are judged by the rule."""

    def __init__(self, *, met: bool) -> None:
        super().__init__()
        self._met = met
        self._rule: Judge = load_driver("judges", "rule")()

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Accept a task with expectations, which decide instead; otherwise ask the rule."""
        if query.expected is not None:
            return Verdict(status="Solved", value=1.0, reason="", votes=("Solved",))
        return await self._rule.judge(query, answer, wire)

    async def meets(self, criterion: str, query: Query, answer: Answer, wire: WireLog) -> Verdict:  # noqa: ARG002
        """Return the fixed verdict."""
        status: AnswerStatus = "Solved" if self._met else "Unsolved"
        return Verdict(status=status, value=float(self._met), reason="it is supposed", votes=(status,))


def check_tasks(name: str, data_dir: Path | None, mcp: Sequence[str] = ()) -> tuple[int, list[TaskFinding]]:
    """Return the number of tasks in a file or dataset, and their faults.

    Args:
        mcp: commands or URLs of servers that offer further tools for the tasks.

    Raises:
        TrialbedError: the file is malformed, or the tasks could not be run.
    """
    dataset = open_dataset(name, data_dir or default_folder(), tuple(mcp))
    queries = dataset.queries()
    findings = [TaskFinding(query.query_id, problem) for query in queries for problem in contradictions(query)]
    named = {finding.task for finding in findings}
    findings += [finding for finding in _play(dataset) if finding.task not in named]
    findings += [TaskFinding(query.query_id, ANY_ANSWER, True) for query in queries if _accepts_any_answer(query)]
    places = {query.query_id: place for place, query in enumerate(queries)}
    return len(queries), sorted(findings, key=lambda finding: places[finding.task])


def contradictions(query: Query) -> Iterator[str]:
    """Yield the contradictions in a task, in words."""
    for fact in query.reference_facts:
        if carries(query.text, fact):
            yield f"the task itself says {fact!r}, so an answer may say it without any tool"
    expected = query.expected
    for call in [*query.gold_calls, *(call for way in (expected.ways if expected else ()) for call in way)]:
        yield from _misfits(query, call)
    if expected is None:
        return
    for test in expected.tests:
        own = {"reference_facts": test.facts, "gold_calls": test.calls, "states_calls": test.states_calls}
        own |= {"text": query.turns[test.turn - 1].text} if test.turn else {}
        found = contradictions(query.model_copy(update={**own, "expected": test.expected}))
        yield from (f"{test.name}: {problem}" for problem in found)
    called = {call.api for call in query.gold_calls}
    for api in expected.never:
        if api in called:
            yield f"{api.api_name} is expected, and must never be called"
    ways = [query.gold_calls, *expected.ways]
    if query.states_calls and expected.most_calls is not None and expected.most_calls < min(map(len, ways)):
        yield f"{min(map(len, ways))} calls are expected, and at most {expected.most_calls} are allowed"


def _accepts_any_answer(query: Query) -> bool:
    expected = query.expected or Expected()
    facts = [*query.reference_facts, *(fact for test in expected.tests for fact in test.facts)]
    others = query.final_state is not None or expected.all_checks or expected.all_criteria
    return bool(query.user and query.gold_calls) and not (facts or others)


def _misfits(query: Query, call: GoldCall) -> Iterator[str]:
    if call.arguments is None:
        return
    api = next((api for api in query.apis if api.ref == call.api), None)
    if api is None:
        if call.api not in query.own_tools:
            yield f"{call.api.title} is expected, and is not among its tools"
    elif problem := misfit(call, JsonSchema(api.parameters_schema())):
        yield f"the tool itself would refuse {api.api_name}: {problem}"


def _play(dataset: Dataset) -> Iterator[TaskFinding]:
    queries = dataset.queries()
    criteria = any(query.expected and query.expected.all_criteria for query in queries)
    # An agent's own tools cannot be played.
    left_out = {query.query_id for query in queries if query.own_tools or not query.apis}
    with temporary_folder() as folder:
        for model in (RIGHT, SILENT):
            report = evaluate(
                "reference",
                dataset,
                model=model,
                judge=SupposingJudge(met=model == RIGHT) if criteria else None,
                store=str(folder / "tasks.db"),
                response_cache=str(folder / "c.db"),
                progress=False,
            )
            if model == SILENT:  # an agent without calls is right if none is expected
                left_out |= {query.query_id for query in queries if query.states_calls and not query.gold_calls}
            trials = list(report.trials("reference"))
            yield from _findings([one for one in trials if one.key.query_id not in left_out], model)
            if model == RIGHT:
                yield from (found for trial in trials for found in islice(_guesses(trial), 1))


def _guesses(trial: TrialResult) -> Iterator[TaskFinding]:
    """Yield the arguments of calls in a conversation that no earlier message or result contains."""
    begins = [turn.started for turn in trial.wire.turns]
    for call in trial.wire.model_calls if begins else ():
        request = recorded_request(call) if call.tool_calls else None
        shown = [] if request is None else [str(leaf) for leaf in json_leaves(dict(request.prompt))]
        passages = Passages(shown)
        for asked in call.tool_calls if shown else ():
            for value in json_leaves(lenient_json(asked.arguments)):
                text = "" if value is None or isinstance(value, bool) else str(value)
                if text and not passages.mention(text):
                    where = f"turn {bisect_right(begins, call.started)}"
                    problem = f"{asked.tool_name} is expected with {value!r:.60}, and nothing said before shows it"
                    yield TaskFinding(trial.key.query_id, f"{where}: {problem}: an agent has to guess", True)


def _findings(trials: list[TrialResult], model: str) -> Iterator[TaskFinding]:
    for trial in trials:
        score = trial.score("sopr_score")
        failure = trial.outcome.failure or (None if score is None else score.failure)
        reason = "" if score is None or not score.detail else str(score.detail.get("reason", ""))
        if model == RIGHT and failure is not None:
            yield TaskFinding(trial.key.query_id, f"it fails even with the expected calls: {failure.message}")
        elif model == RIGHT and score is not None and score.value != 1:
            yield TaskFinding(trial.key.query_id, f"it is not solved by the expected calls: {reason}")
        elif model == SILENT and score is not None and score.value == 1 and score.failure is None:
            yield TaskFinding(trial.key.query_id, "it is solved by an agent that calls nothing")
