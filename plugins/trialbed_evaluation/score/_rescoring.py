"""Score the trials of a stored run again, with another judge or the currently installed scorers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from trialbed.contracts import AnswerStatus, Judge, Verdict
from trialbed.engine import judge_report, standing_judge
from trialbed.errors import JudgeError
from trialbed.plugins import installed_listeners
from trialbed.preparation import config_digest
from trialbed.records import Answer, Failure, HelperUse, Query, Run, Score, TrialResult, WireLog, added_uses
from trialbed.scoring import JUDGED, CheckResult, ScoreContext, ScoringStopped, criterion_name, judge_label
from trialbed.scoring_process import ScoringProcesses, with_criteria
from trialbed.settings import RunSettings
from trialbed.store import Store, StoredRun, TrialTable
from trialbed.tool_calls import unasked_calls

WITHOUT_JUDGE = ("calls", "sources")
"""Methods of verdicts that use neither expectations nor a judge."""

Queries = Mapping[int | str, Query]

Give = Callable[[ScoreContext, TrialResult], Awaitable[Sequence[Score]]]
"""Gives the new scores of a trial."""

JUDGE_FIELDS = ("judge_model", "judge_prompts", "judge_votes")


def kept_checks(query: Query, verdict: Score | None) -> tuple[CheckResult, ...]:
    """Return the results of a task's checks, as far as the verdict of its run has them.

    A verdict on expectations lists them all, and so does a judge that failed. A verdict of a judge says that every one
    is met: it is asked only then.
    """
    expected = query.expected
    checks = () if expected is None else (*expected.all_checks, *map(criterion_name, expected.all_criteria))
    if not checks or verdict is None:
        return ()
    method = verdict.detail.get("method")
    if verdict.value is None or method == "expectations":
        return tuple(result for result in _listed(verdict) if result.name in checks)
    return () if method in WITHOUT_JUDGE else tuple(CheckResult(name, met=True) for name in checks)


def _listed(verdict: Score) -> Iterator[CheckResult]:
    listed = verdict.detail.get("checks")
    for one in listed if isinstance(listed, list) else ():
        match one:
            case {"name": str(name), "met": bool() | None as met, "reason": str(reason)}:
                yield CheckResult(name, met, reason, one.get("accepted"))


@dataclass(frozen=True)
class Rescored:
    """A stored run with new scores.

    Attributes:
        run: the run for its documents, with the new judge, if any.
        before, after: the counted trials without and with the new scores.
        name: of the new judge's score; None if no judge was asked.
        renamed: names of scores in its documents, which use the new judge's verdicts as the run's.
        verdicts: the trials with these names.
        use: the judge's use of its model; None without a model.
        again: the names of the requested scores, which some trials may already have had.
    """

    run: Run
    before: TrialTable
    after: TrialTable
    name: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    verdicts: TrialTable | None = None
    use: HelperUse | None = None
    again: Set[str] = frozenset()


async def rejudge(store: Store, run: Run, queries: Queries, settings: RunSettings) -> Rescored:
    """Have a judge grade the answers of a run again, and add its verdicts to the existing ones.

    The new score ``sopr_score@JUDGE`` replaces an earlier one with this name. Known findings on criteria
    are kept; the judge is only asked for the others.

    Args:
        settings: of the judge.

    Raises:
        UsageError: the judge does not exist, or its model cannot be asked.
    """
    judged_by = settings.judge
    async with standing_judge(settings) as (judge, completed), ScoringProcesses() as processes:
        label = judge_label(judged_by, completed.judge_model)
        name = f"{JUDGED}@{label}"

        async def give(context: ScoreContext, _result: TrialResult) -> Sequence[Score]:
            return [(await _verdict_score(processes, context)).model_copy(update={"name": name})]

        try:
            before = await _score_again(store, run, queries, give, completed.concurrency, judge, label)
        finally:  # verdicts are also paid for if it is interrupted
            model = judge.model
            use = None if model is None else HelperUse(role="judge", model=model.model, **dict(model.use))
            helpers = added_uses(run.helpers, [use] if use else [])
            await _to_its_end(asyncio.to_thread(partial(store.update_run, run.run_id, helpers=helpers)))
        report = judge_report(judge, completed)
    changed = {"judge": judged_by, **{field: getattr(completed, field) for field in JUDGE_FIELDS}}
    config = run.config.model_copy(update=changed)
    about = {"config": config, "config_digest": config_digest(config), "judge": dict(report), "helpers": helpers}
    old = f"{JUDGED}@{judge_label(run.config.judge, run.config.judge_model)}"
    renamed = {name: JUDGED} if old == name else {name: JUDGED, JUDGED: old}
    stored = StoredRun(store, run)
    after, verdicts = await asyncio.to_thread(lambda: (stored.table(), stored.table(renamed)))
    return Rescored(run.model_copy(update=about), before, after, name, renamed, verdicts, use)


async def rescore(
    store: Store, run: Run, queries: Queries, scorers: Mapping[str, object] | None = None, *, concurrency: int = 4
) -> Rescored:
    """Add the missing scores of the current scorers to a run's trials; no model is asked.

    The verdicts of the run's judge stay as they are.

    Args:
        scorers: additional scorers by name; their new scores replace earlier ones.
    """
    listeners = installed_listeners(scorers)
    again = listeners.descriptions().keys() - installed_listeners().descriptions().keys()

    async def give(context: ScoreContext, result: TrialResult) -> Sequence[Score]:
        try:
            given = await listeners.score(context)
        except ScoringStopped as stopped:
            given = (_failed_score(stopped),)
        return [score for score in given if result.score(score.name) is None or score.name in again]

    try:
        async with ScoringProcesses() as listeners.elsewhere:
            before = await _score_again(store, run, queries, give, concurrency)
    finally:
        listeners.end()
    described = {**run.scores, **listeners.descriptions()}
    await asyncio.to_thread(partial(store.update_run, run.run_id, scores=described))
    after = await asyncio.to_thread(StoredRun(store, run).table)
    return Rescored(run.model_copy(update={"scores": described}), before, after, again=again)


async def _verdict_score(processes: ScoringProcesses, context: ScoreContext) -> Score:
    """Return the judge's score; a failure where the trial's texts cannot be judged within the limits."""
    try:
        return await processes.judge_score(await with_criteria(context, processes))
    except (ScoringStopped, RuntimeError) as stopped:
        failure = Failure(kind="judge", message=f"judge {context.judge_name}: stopped: it {stopped}")
        return Score(name=JUDGED, value=None, detail={"method": context.judge_name}, failure=failure)


def _failed_score(stopped: ScoringStopped) -> Score:
    message = f"the answer and the results of its calls could not be scored: that {stopped}"
    return Score(name="scorers:failed", value=None, quality=False, failure=Failure(kind="scorer", message=message))


class _KeptJudge(Judge):
    def __init__(self, score: Score | None) -> None:
        super().__init__()
        self._score = score

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:  # noqa: ARG002 - it is known
        """Return the stored verdict.

        Raises:
            JudgeError: the trial has no verdict.
        """
        score = self._score
        if score is None or score.value is None or score.label is None:
            raise JudgeError(score.failure.message if score and score.failure else "the trial has no verdict")
        status: AnswerStatus = score.label  # type: ignore[assignment] # the label of a verdict is its status
        return Verdict(status=status, value=score.value, reason=str(score.detail.get("reason", "")), votes=(status,))


async def _score_again(
    store: Store, run: Run, queries: Queries, give: Give, concurrency: int, judge: Judge | None = None, name: str = ""
) -> TrialTable:
    """Score the answered trials, which are read one by one; return the trials before the change.

    Args:
        judge: replaces the run's own judge; None keeps its verdicts. ``name`` is the judge's name.
    """
    judge_name = name or judge_label(run.config.judge, run.config.judge_model)

    def context_of(result: TrialResult) -> ScoreContext:
        assert result.outcome.answer is not None  # noqa: S101 - it was answered
        query_id, verdict = result.key.query_id, result.score(JUDGED)
        query, cell = queries[query_id], run.config.cell(result.key.framework)
        offered = store.selections(run.run_id, [query_id], cell.max_tools).get(query_id, ())
        tools, live = result.wire.tools_of(offered), cell.framework not in run.config.adapter_versions
        return ScoreContext(
            query=query,
            tools=tools,
            answer=result.outcome.answer,
            wire=result.wire,
            timing=result.timing,
            judge=judge or _KeptJudge(verdict),
            judge_name=judge_name,
            unasked=() if live else unasked_calls(result.wire, tools, forced=query.allow_forced_calls),
            in_process=live,
            takes_tools=run.takes_tools(result.key.framework),
            prices=run.prices_of(result.key.framework),
        ).with_checks(kept_checks(query, verdict))

    stored, turn = StoredRun(store, run), asyncio.Lock()
    table = await asyncio.to_thread(stored.table)
    left = iter(stored.results_at(sorted(table["row"][table.answered].tolist())))

    async def work() -> None:
        while True:
            async with turn:
                result = await asyncio.to_thread(next, left, None)
            if result is None:
                return
            if added := await give(await asyncio.to_thread(context_of, result), result):
                await _to_its_end(asyncio.to_thread(store.add_scores, run.run_id, result, added))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return table


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work, and complete it even if this task is cancelled."""
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(doing)
    finally:
        await doing
