"""Damage of a store: it is found by whoever looks for it, and no one reads a value that was not written."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trialbed import open_store
from trialbed.errors import DataError
from trialbed.records import GoldAnswer, Run, ToolSpec, TrialResult
from trialbed.store import Store, verify_store

MakeRun = Callable[..., Run]
MakeTrial = Callable[..., TrialResult]
Execute = Callable[..., Any]

FLIPS = 100


def fill(location: str, make_run: MakeRun, make_trial: MakeTrial) -> None:
    with Store.open(location) as store:
        for run_id in ("r1", "r2"):
            store.create_run(make_run(run_id))
            trial = make_trial(1, body=f"{run_id} says")
            store.add_trial(run_id, trial)
            store.add_trial(run_id, make_trial("1", framework="other"))
            api = trial.wire.api_calls[0].api
            tool = ToolSpec(name="n", description=run_id, parameters={"type": "object"}, api=api)
            store.add_selections(run_id, "query", {1: (tool,)})
            store.add_gold_answer(run_id, GoldAnswer(query_id=1, seconds=0.5, calls=trial.wire.api_calls))


def test_a_whole_store_has_no_problems(location: str, make_run: MakeRun, make_trial: MakeTrial) -> None:
    fill(location, make_run, make_trial)
    report = verify_store(location)
    assert report.problems == ()
    assert report.unused == 0
    counted = {"runs": 2, "attempts": 4, "scores": 8, "calls": 12, "selections": 2, "gold answers": 2}
    assert {name: report.counts[name] for name in counted} == counted


def test_a_trial_that_is_not_there_is_said_with_what_is(
    location: str, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    fill(location, make_run, make_trial)
    with open_store(location) as reader, pytest.raises(DataError, match=r"(1 trial|[2-9] trials) each, and is"):
        reader.run("r1").trial("reference", 99)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE runs SET status = 'finished' WHERE run_id = 'r2'", "the record of run 'r2' changed"),
        ("UPDATE trials SET attempt = 3 WHERE run_id = 'r1' AND framework = 'other'", 'other on query "1"'),
        ("UPDATE scores SET label = 'Solved' WHERE trial_id = 1 AND position = 1", "the scores of the trial of"),
        ("DELETE FROM scores WHERE trial_id = 1", "the scores of the trial of reference on query 1"),
        ("DELETE FROM calls WHERE trial_id = 2 AND kind = 'api'", "the calls of the trial of other"),
        ("UPDATE selections SET selector = 'all' WHERE run_id = 'r1'", "the selection for query 1 in run 'r1'"),
        (
            "UPDATE gold_answers SET query_id = '2' WHERE run_id = 'r1'",
            "the expected calls of query 2 in run 'r1'",
        ),
        ("UPDATE blobs SET size = size + 1", "has another size"),
    ],
)
def test_every_change_is_found_and_named(
    location: str, execute: Execute, make_run: MakeRun, make_trial: MakeTrial, statement: str, said: str
) -> None:
    fill(location, make_run, make_trial)
    execute(statement)
    problems = verify_store(location).problems
    assert said in problems[0]
    assert len(problems) == 1 or "blobs" in statement


def test_all_damage_is_listed_at_once(
    location: str, execute: Execute, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    fill(location, make_run, make_trial)
    for table in ("runs", "trials"):
        execute(f"UPDATE {table} SET record = '0'")
    assert len(verify_store(location).problems) == 2 + 4


def test_rows_that_belong_to_nothing_are_found(path: Path, make_run: MakeRun, make_trial: MakeTrial) -> None:
    """PostgreSQL does not let them come about."""
    import sqlite3
    from contextlib import closing

    fill(str(path), make_run, make_trial)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM runs WHERE run_id = 'r1'")
        connection.execute("DELETE FROM blobs")
    problems = "\n".join(verify_store(str(path)).problems)
    for said in ("2 attempts belong to no run", "1 selections belong to no run", "requests of calls are missing"):
        assert said in problems


def contents(path: Path) -> list[object]:
    """Every record, as readers get it."""
    found: list[object] = []
    with open_store(str(path)) as reader:
        for run in reader.runs():
            found.append(run.record)
            found += [attempt.result for attempt in run.attempts()]
            found += [run.tools(query_id) for query_id in run.config.query_ids]
    return found


@pytest.mark.slow(10)
def test_a_flipped_bit_is_noticed_or_harmless(path: Path, make_run: MakeRun, make_trial: MakeTrial) -> None:
    fill(str(path), make_run, make_trial)
    whole, written = path.read_bytes(), contents(path)
    copy = path.with_name("flipped.db")
    chance, noticed = random.Random(12), 0
    for place in chance.sample(range(8 * len(whole)), FLIPS):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        for file in path.parent.glob("flipped.db*"):
            file.unlink()
        copy.write_bytes(flipped)
        try:
            read = contents(copy)
            problems = verify_store(str(copy)).problems
        except DataError:
            noticed += 1
            continue
        assert problems or read == written, f"bit {place}"
        assert len(set(problems)) == len(problems), f"bit {place}"
        # Also without that look, nothing is read that was not written: records may only be missing.
        assert all(record in written or record == () for record in read), f"bit {place}"
        noticed += bool(problems)
    assert noticed > FLIPS / 10
    shutil.rmtree(path.parent)
