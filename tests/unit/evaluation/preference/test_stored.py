"""Stored runs that are compared by preference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.judge_endpoint import JudgeEndpoint, shown
from support.trials import NOW, ended, run_config

from trialbed.catalogs import open_dataset
from trialbed.errors import UsageError
from trialbed.preparation import config_digest
from trialbed.records import (
    Answer,
    Failure,
    IntegrityFinding,
    Outcome,
    Run,
    Score,
    TrialKey,
    TrialResult,
)
from trialbed.store import Store
from trialbed_evaluation.run_comparer import RunComparer
from trialbed_scripted import Turn, say

MINI = open_dataset("mini", Path("unused"))
IDS = tuple(query.query_id for query in MINI.queries()[:4])


pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture
def model(model: JudgeEndpoint) -> JudgeEndpoint:
    model.decide = prefers_longer
    return model


def prefers_longer(request: Mapping[str, Any]) -> Turn:
    material = shown(request)
    longer = max("first", "second", key=lambda place: len(material[place]["answer"]))
    return say(json.dumps({"reason": "longer", "better": longer}))


def trial(framework: str, query_id: Any, text: str | None, label: str) -> TrialResult:
    failure = None if text else Failure(kind="crash", message="gone")
    answer = Answer(final_answer=text, finish="give_answer") if text else None
    own = {
        "trial": f"token-{framework}-{query_id}",
        "key": TrialKey(framework=framework, query_id=query_id),
        "outcome": Outcome(started_at=NOW, wall_time=1, answer=answer, failure=failure),
        "scores": (Score(name="sopr_score", value=1.0, label=label),) if text else (),
    }
    return ended().model_copy(update=own)


def stored(folder: Path, answers: dict[str, list[tuple[str | None, str]]], **config: Any) -> str:
    own = run_config(
        frameworks=tuple(answers),
        adapter_versions=dict.fromkeys(answers, "x"),
        dataset_digest=MINI.digest(),
        query_ids=IDS,
        **config,
    )
    made = Run(
        run_id=f"20260101T000000-{len(list(folder.iterdir())):06x}{len(config)}",
        config=own,
        config_digest=config_digest(own),
        status="finished",
        created_at=NOW,
        environment_digest="e",
    )
    with Store.open(str(folder / "trials.db")) as store:
        store.create_run(made)
        for framework, texts in answers.items():
            for query_id, (text, label) in zip(IDS, texts, strict=True):
                store.add_trial(made.run_id, trial(framework, query_id, text, label))
    return made.run_id


def options(model: JudgeEndpoint, folder: Path, **more: Any) -> dict[str, Any]:
    given = {
        "preference": True,
        "store": str(folder / "trials.db"),
        "force": False,
        "judge": "grader",
        "base_url": model.url,
    }
    return {**given, "completions": folder / "completions.db", **more}


MINE = [("short", "Solved"), ("long enough", "Solved"), ("same", "Unsure"), ("here", "Unsolved")]
THEIRS = [("much longer", "Solved"), ("short", "Solved"), ("same", "Unsure"), (None, "")]


async def test_frameworks_of_a_run_are_compared(model: JudgeEndpoint, tmp_path: Path) -> None:
    run = stored(tmp_path, {"mine": MINE, "theirs": THEIRS})
    found = await asyncio.to_thread(RunComparer().compare, [run], options(model, tmp_path))
    (document,) = found.document
    assert (document["baseline"], document["candidate"]) == ("mine", "theirs")
    assert [result["winner"] for result in document["results"]] == ["candidate", "baseline", "tie", "baseline"]
    assert [result["by"] for result in document["results"]] == ["judge", "judge", "identical", "missing"]
    assert document["win_rate"]["value"] == pytest.approx(0.25)
    assert len(model.asked) == 4
    assert document["judge"]["model"] == "grader"
    assert "The judge llm:grader is uncalibrated" in " ".join(note for table in found.tables for note in table.notes)


async def test_runs_are_compared(model: JudgeEndpoint, tmp_path: Path) -> None:
    runs = [stored(tmp_path, {"mine": MINE}), stored(tmp_path, {"mine": THEIRS}, model="other")]
    found = await asyncio.to_thread(RunComparer().compare, runs, options(model, tmp_path, judge_votes=2))
    assert (found.document[0]["wins"], found.document[0]["losses"], found.document[0]["ties"]) == (1, 2, 1)
    assert runs[1] in found.document[0]["candidate"]


def test_a_void_row_is_not_compared(tmp_path: Path) -> None:
    run = stored(tmp_path, {"mine": MINE, "theirs": THEIRS})
    with Store.open(str(tmp_path / "trials.db")) as store:
        done = trial("theirs", "another", "text", "Solved")
        found = IntegrityFinding(kind="other_model_answered", count=1, examples=("strong",))
        store.add_trial(run, done.model_copy(update={"integrity": (found,)}))
    with pytest.raises(UsageError, match=f"the row of theirs in run {run} is void, .* strong answered in place"):
        RunComparer().compare([run], {"preference": True, "store": str(tmp_path / "trials.db"), "force": False})


async def test_a_framework_of_a_run_is_named_after_a_slash(model: JudgeEndpoint, tmp_path: Path) -> None:
    runs = [stored(tmp_path, {"mine": MINE, "theirs": THEIRS}), stored(tmp_path, {"theirs": MINE}, model="other")]

    async def pairs(*values: str) -> list[tuple[str, str]]:
        found = await asyncio.to_thread(RunComparer().compare, values, options(model, tmp_path))
        return [(each["baseline"], each["candidate"]) for each in found.document]

    mine, theirs = f"mine ({runs[0]})", f"theirs ({runs[0]})"
    assert await pairs(f"{runs[0]}/theirs", f"{runs[0]}/mine") == [(theirs, mine)]
    assert await pairs(f"{runs[0]}/mine", runs[1]) == [(mine, f"theirs ({runs[1]})")]
    with pytest.raises(UsageError, match="is named twice"):
        await pairs(f"{runs[0]}/mine", runs[0])


async def test_what_cannot_be_compared_is_refused(model: JudgeEndpoint, tmp_path: Path) -> None:
    alone = stored(tmp_path, {"mine": MINE})
    again = stored(tmp_path, {"mine": MINE})
    other = stored(tmp_path, {"mine": MINE}, judge="another")

    async def refused(runs: list[str], **more: Any) -> str:
        with pytest.raises(UsageError) as error:
            await asyncio.to_thread(RunComparer().compare, runs, options(model, tmp_path, **more))
        return str(error.value)

    assert "name another run" in await refused([alone])
    assert "was judged by rule" in await refused([alone, other])
    assert "does not compare answers; give --judge MODEL" in await refused([alone, again], judge="rule", base_url=None)
    (tmp_path / "a.json").write_text("{}")
    assert "name the run by its id" in await refused([str(tmp_path / "a.json")])


async def test_contests_that_the_judge_fails_on_make_it_incomplete(model: JudgeEndpoint, tmp_path: Path) -> None:
    def refuses_some(request: Mapping[str, Any]) -> Turn:
        unclear = "much longer" in json.dumps(shown(request))
        return say("I would rather not.") if unclear else prefers_longer(request)

    model.decide = refuses_some
    run = stored(tmp_path, {"mine": MINE, "theirs": THEIRS})
    found = await asyncio.to_thread(RunComparer().compare, [run], options(model, tmp_path))
    assert (found.document[0]["undecided"], found.document[0]["decided"]) == (1, 3)
    assert [line.partition(",")[0] for line in found.incomplete] == [
        "theirs against mine: 1 of 4 contests are undecided"
    ]
