"""Stored runs that are judged and scored again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.judge_endpoint import JudgeEndpoint, shown, vote
from support.trials import NOW, ended, run_config
from support.warm import warm_programs

from trialbed.catalogs import open_dataset, run_queries
from trialbed.errors import DataError, UsageError
from trialbed.preparation import RunOptions, config_digest
from trialbed.records import (
    Answer,
    Expected,
    Failure,
    Outcome,
    Query,
    Run,
    Score,
    TrialKey,
    TrialResult,
)
from trialbed.report import document_schema, legacy_document, read_report
from trialbed.scoring import ScoreContext, ScoringStopped
from trialbed.scoring_process import ScoringProcesses
from trialbed.store import Store, counted_attempts, new_run, open_store
from trialbed_evaluation.score._rescoring import kept_checks, rejudge, rescore
from trialbed_scripted import Response, say

QUERIES = open_dataset("mini", Path("unused"))
FIRST, SECOND, THIRD = (query.query_id for query in QUERIES.queries()[:3])


pytestmark = pytest.mark.usefixtures("state")


def results(store: Store, run: Run) -> list[TrialResult]:
    return counted_attempts(store.each_attempt(run.run_id))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "trials.db")) as opened:
        yield opened


@pytest.fixture
def run(store: Store) -> Run:
    """A run of three queries: one solved, one not, one failed."""
    config = run_config(dataset_digest=QUERIES.digest(), query_ids=(FIRST, SECOND, THIRD))
    made = new_run(config, config_digest(config)).model_copy(update={"status": "finished"})
    store.create_run(made)
    store.add_trial(made.run_id, trial(FIRST, "good", 1.0, "Solved"))
    store.add_trial(made.run_id, trial(SECOND, "bad", 0.0, "Unsolved"))
    store.add_trial(made.run_id, trial(THIRD, None))
    return made


def trial(query_id: Any, text: str | None, value: float = 0.0, label: str = "") -> TrialResult:
    answer = Answer(final_answer=text, finish="give_answer") if text else None
    failure = None if text else Failure(kind="crash", message="gone")
    scores = (Score(name="sopr_score", value=value, label=label, detail={"method": "rule", "reason": "so"}),)
    own = {
        "trial": f"token-token-{query_id}",
        "key": TrialKey(framework="reference", query_id=query_id),
        "outcome": Outcome(started_at=NOW, wall_time=1, answer=answer, failure=failure),
        "scores": scores if text else (),
    }
    return ended().model_copy(update=own)


def queries(run: Run) -> dict[int | str, Query]:
    return run_queries(run.config, Path("unused"))


def settings(model: JudgeEndpoint, tmp_path: Path, **more: Any) -> RunOptions:
    return RunOptions(judge="grader", base_url=model.url, completions=tmp_path / "completions.db", **more)


async def test_new_verdicts_stand_beside_the_old_ones(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path
) -> None:
    model.decide = lambda asked: vote("Unsure" if shown(asked)["answer"] == "good" else "Solved", "I see")
    rescored = await rejudge(store, run, queries(run), settings(model, tmp_path, judge_votes=2))
    assert rescored.name == "sopr_score@grader"
    assert len(model.asked) == 4
    with open_store(str(tmp_path / "trials.db")) as reader:
        first, second, failed = reader.run(run.run_id).trials()
    assert [score.label for score in first.scores] == ["Solved", "Unsure"]
    assert [score.label for score in second.scores] == ["Unsolved", "Solved"]
    assert failed.scores == ()
    new = first.score("sopr_score@grader")
    assert new is not None
    assert (new.value, new.detail["method"], new.detail["votes"]) == (0.5, "grader", ["Unsure", "Unsure"])


async def test_documents_have_the_new_judge_and_the_old_verdicts_beside(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path
) -> None:
    import jsonschema_rs

    model.decide = lambda _asked: vote("Solved")
    rescored = await rejudge(store, run, queries(run), settings(model, tmp_path))
    with open_store(str(tmp_path / "trials.db")) as reader:
        shown = replace(reader.run(run.run_id), record=rescored.run)
        document = legacy_document(read_report(shown, queries(run), renamed=rescored.renamed), "reference")
    jsonschema_rs.validate(document_schema(), document)
    about = document["metadata"]
    assert (about["evaluator_model"], about["run_id"]) == ("grader", run.run_id)
    assert (about["judge"]["driver"], about["judge"]["model"]) == ("llm", "grader")
    assert about["judge"]["calibration"] is None
    assert document["summary"]["average_sopr_score"] == pytest.approx(2 / 3)
    first = document["results"][0]["scores"]
    assert (first["sopr_score"], first["sopr_score@rule"]) == (1.0, 1.0)
    assert document["results"][1]["scores"]["sopr_score@rule"] == 0.0
    assert json.loads(json.dumps(document)) == document


async def test_judging_twice_pays_once_and_replaces_the_score(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path
) -> None:
    for _ in range(2):
        await rejudge(store, run, queries(run), settings(model, tmp_path))
    assert len(model.asked) == 2
    names = [score.name for score in results(store, run)[0].scores]
    assert names == ["sopr_score", "sopr_score@grader"]


async def test_a_judge_that_fails_leaves_an_error_and_the_old_verdict(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path
) -> None:
    model.gives(Response(status=401))
    rescored = await rejudge(store, run, queries(run), settings(model, tmp_path))
    score = results(store, run)[0].score("sopr_score@grader")
    assert score is not None
    assert score.failure is not None
    silent = [own["sopr_score@grader"] for own in rescored.after.undetermined.values() if "sopr_score@grader" in own]
    assert [found.message for found in silent] == [score.failure.message] * 2
    assert (score.value, score.failure.kind) == (None, "judge")
    assert "status 401" in score.failure.message
    assert results(store, run)[0].score("sopr_score") == trial(FIRST, "good", 1.0, "Solved").score("sopr_score")


def checked_queries(run: Run) -> dict[int | str, Query]:
    """The run's queries, each of which has a function of its program look at the trial."""
    more = {"expected": Expected(checks=("it",)), "gold_calls": (), "reference_facts": (), "final_state": None}
    return {query_id: query.model_copy(update=more) for query_id, query in queries(run).items()}


async def test_what_checks_found_is_known_of_a_run_whose_judge_was_asked(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path
) -> None:
    model.decide = lambda _asked: vote("Solved")
    await rejudge(store, run, checked_queries(run), settings(model, tmp_path))
    assert [_verdict(result) for result in results(store, run)[:2]] == [("Solved", "grader")] * 2


@pytest.mark.parametrize(
    ("met", "label", "method"),
    [(True, "Solved", "grader"), (False, "Unsolved", "expectations"), (None, None, "grader")],
)
async def test_what_checks_found_is_known_of_a_run_that_lists_it(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path, met: bool | None, label: str | None, method: str
) -> None:
    model.decide = lambda _asked: vote("Solved")
    reason = "" if met else "it is long"
    detail = {"method": "expectations", "checks": [{"name": "it", "met": met, "reason": reason}]}
    own = Score(name="sopr_score", value=0.0, label="Unsolved", detail=detail)
    store.add_scores(run.run_id, trial(FIRST, "good", 1.0, "Solved"), [own])
    await rejudge(store, run, checked_queries(run), settings(model, tmp_path))
    assert _verdict(results(store, run)[0]) == (label, method)


async def test_criteria_that_are_not_known_are_asked_for_and_the_others_are_kept(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path
) -> None:
    said = say('{"reason": "so", "met": true}')
    model.decide = lambda asked: said if "criterion" in shown(asked) else vote("Solved")
    checks = [
        {"name": "criterion: kind", "met": True, "reason": ""},
        {"name": "criterion: short", "met": None, "reason": "judge m: no reply"},
    ]
    failure = Failure(kind="judge", message="gone")
    own = Score(name="sopr_score", value=None, detail={"method": "m", "checks": checks}, failure=failure)
    store.add_scores(run.run_id, trial(FIRST, "good", 1.0, "Solved"), [own])
    more = {"expected": Expected(criteria=("kind", "short"))}
    asked = {query_id: query.model_copy(update=more) for query_id, query in checked_queries(run).items()}
    await rejudge(store, run, asked, settings(model, tmp_path))
    assert _verdict(results(store, run)[0]) == ("Solved", "grader")
    assert [shown(one)["criterion"] for one in model.asked if "criterion" in shown(one)] == ["short"]


@pytest.mark.parametrize("method", ["calls", "sources"])
def test_what_checks_found_is_not_known_where_none_was_asked(run: Run, method: str) -> None:
    query = checked_queries(run)[FIRST]
    assert kept_checks(query, Score(name="sopr_score", value=0.0, label="Unsolved", detail={"method": method})) == ()
    failed = Score(name="sopr_score", value=None, detail={"method": "m"}, failure=Failure(kind="judge", message="gone"))
    assert kept_checks(query, failed) == ()


def _verdict(result: TrialResult) -> tuple[str | None, Any]:
    score = result.score("sopr_score@grader")
    assert score is not None
    return score.label, score.detail["method"]


async def test_the_use_of_a_judge_that_is_interrupted_is_counted(
    store: Store, run: Run, model: JudgeEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = store.add_scores

    def add_and_end(*given: Any) -> None:
        add(*given)
        loop.call_soon_threadsafe(judging.cancel)

    monkeypatch.setattr(store, "add_scores", add_and_end)
    loop = asyncio.get_running_loop()
    judging = asyncio.create_task(rejudge(store, run, queries(run), settings(model, tmp_path, concurrency=1)))
    with pytest.raises(asyncio.CancelledError):
        await judging
    (use,) = store.run(run.run_id).helpers
    assert (use.role, use.requests) == ("judge", len(model.asked))
    assert results(store, run)[0].score("sopr_score@grader") is not None


async def test_rescoring_adds_what_is_missing_and_asks_no_model(store: Store, run: Run) -> None:
    before = results(store, run)
    await rescore(store, run, queries(run))
    after = results(store, run)
    assert after[0].score("has_finish") is not None
    assert after[0].score("sopr_score") == before[0].score("sopr_score")
    await rescore(store, run, queries(run))
    assert results(store, run) == after


async def test_a_score_that_was_given_is_kept_though_scoring_is_interrupted(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, add = threading.Event(), threading.Event(), store.add_scores

    def slow(*given: Any) -> None:
        begun.set()
        go_on.wait()
        add(*given)

    monkeypatch.setattr(store, "add_scores", slow)
    scoring = asyncio.create_task(rescore(store, run, queries(run), concurrency=1))
    await asyncio.to_thread(begun.wait)
    scoring.cancel()
    asyncio.get_running_loop().call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await scoring
    first, second, _ = results(store, run)
    assert first.score("has_finish") is not None
    assert second.score("has_finish") is None


PLUGIN = """
import os
from trialbed import Score, hookimpl
from trialbed.contracts import Judge, Verdict

@hookimpl
def score_trial(context):
    if context.text == "bad":
        os._exit(3)
    return [Score(name="process", value=float(os.getpid()), bounded=False)]

class EndingJudge(Judge):
    async def judge(self, query, answer, wire):
        if answer.final_answer == "bad":
            raise KeyError("no such answer")
        return Verdict(status="Unsure", value=0.5, reason="read", votes=("Unsure",))
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution with a plugin that ends its process at one answer, and a judge that fails there."""
    info = tmp_path / "site" / "trialbed_ending-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "ending_plugin.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trialbed-ending\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[trialbed.plugins]\nending = ending_plugin\n[trialbed.judges]\nending = ending_plugin:EndingJudge\n"
    )
    monkeypatch.syspath_prepend(info.parent)
    with warm_programs():
        yield


@pytest.mark.usefixtures("foreign")
async def test_a_plugin_that_a_text_ends_costs_its_score_of_that_trial_alone(store: Store, run: Run) -> None:
    await rescore(store, run, queries(run))
    first, second, _ = results(store, run)
    process, ended = first.score("process"), second.score("ending:failed")
    assert process is not None
    assert process.value not in (None, os.getpid())
    assert ended is not None
    assert ended.failure is not None
    assert "ended its process with code 3" in ended.failure.message
    assert second.score("has_finish") is not None


@pytest.mark.usefixtures("foreign")
async def test_a_judge_that_fails_at_a_text_costs_its_verdict_on_that_trial_alone(store: Store, run: Run) -> None:
    await rejudge(store, run, queries(run), RunOptions(judge="ending"))
    first, second, _ = (result.score("sopr_score@ending") for result in results(store, run))
    assert first is not None
    assert (first.value, first.detail["reason"]) == (0.5, "read")
    assert second is not None
    assert second.failure is not None
    said = r"judge ending: KeyError: 'no such answer' \(File \".*ending_plugin.py\", line \d+\)"
    assert re.fullmatch(said, second.failure.message)


async def test_texts_that_are_too_much_for_the_scorers_cost_their_trial_alone(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stops(self: ScoringProcesses, plugin: str, context: ScoreContext) -> Any:
        raise ScoringStopped("takes more than 60 s of work")

    monkeypatch.setattr(ScoringProcesses, "score", stops)
    large = {"bad": "large"}
    monkeypatch.setattr("trialbed.listeners.trial_size", lambda answer, wire: large.get(answer.final_answer, "small"))
    await rescore(store, run, queries(run))
    first, second, _ = results(store, run)
    assert first.score("has_finish") is not None
    failed = second.score("scorers:failed")
    assert failed is not None
    assert failed.failure is not None
    assert "takes more than 60 s of work" in failed.failure.message


async def test_a_judge_that_plays_agents_only_is_refused(store: Store, run: Run) -> None:
    with pytest.raises(UsageError, match="plays agents only"):
        await rejudge(store, run, queries(run), RunOptions(judge="scripted:gold"))


def test_scores_are_added_to_attempts_that_are_there(store: Store, run: Run) -> None:
    unknown = trial("nobody", "x", 1.0, "Solved")
    with pytest.raises(DataError, match="no such attempt"):
        store.add_scores(run.run_id, unknown, [Score(name="x", value=1.0)])
