"""Runs and their trials in a store, from SQLite and PostgreSQL alike."""

from __future__ import annotations

import math
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from support.trials import run_config

from trialbed.errors import DataError, UsageError
from trialbed.records import Failure, FailureKind, Run, Score, ToolSpec, TrialKey, TrialResult
from trialbed.store import Store, counted_attempts, hold_run, new_run, record_run

MakeRun = Callable[..., Run]
MakeTrial = Callable[..., TrialResult]
Execute = Callable[..., Any]
LATER = datetime(2026, 1, 3, tzinfo=UTC)


@pytest.fixture
def begun(store: Store, make_run: MakeRun) -> Store:
    """A store with a run ``r1``."""
    store.create_run(make_run())
    return store


def test_awkward_bodies_and_scores_come_back_whole(begun: Store, make_trial: MakeTrial) -> None:
    bodies = ["", "\x00", "\ud83d", "a\r\nb", "𝄞" * 1000]
    values = [math.nan, math.inf, "\ud800", "ä\x00", -0.0, 2**70, [1, 2], None]
    odd = [Score(name=f"{place}\x00\ud83d", value=math.nan, detail={"x": value}) for place, value in enumerate(values)]
    died = Failure(kind="crash", message="died", detail="\x00 \ud800 end of stderr")
    trials = [make_trial(place, body=body) for place, body in enumerate(bodies)]
    outcome = trials[1].outcome.model_copy(update={"answer": None, "failure": died})
    trials[1] = trials[1].model_copy(update={"outcome": outcome, "scores": ()})
    begun.add_trials("r1", trials)
    begun.add_trial("r1", make_trial("scores").model_copy(update={"scores": tuple(odd)}))
    *found, scored = counted_attempts(begun.each_attempt("r1"))
    assert found == trials
    assert [(score.name, repr(score.value), repr(score.detail["x"])) for score in scored.scores] == [
        (score.name, "nan", repr(score.detail["x"])) for score in odd
    ]


def test_secrets_of_the_environment_are_not_stored(
    begun: Store, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-Canary+4711")
    trial = make_trial(body="the key sk-Canary\\u002B4711")
    failure = Failure(kind="agent", message="refused: sk-Canary%2b4711")
    failed = trial.outcome.model_copy(update={"answer": None, "failure": failure})
    begun.add_trial("r1", trial.model_copy(update={"outcome": failed}))
    (stored,) = counted_attempts(begun.each_attempt("r1"))
    assert stored.wire.model_calls[0].request == "the key [redacted]"
    assert stored.outcome.failure == Failure(kind="agent", message="refused: [redacted]")


def test_number_and_text_ids_frameworks_and_repeats_are_told_apart(begun: Store, make_trial: MakeTrial) -> None:
    trials = [make_trial(5), make_trial("5"), make_trial(5, framework="other"), make_trial(5, repeat=1)]
    for trial in trials:
        begun.add_trial("r1", trial)
    kept = {one.key for one in begun.each_attempt_summary("r1")}
    assert kept == {trial.key for trial in trials}
    assert TrialKey(framework="reference", query_id="5") in kept
    assert counted_attempts(begun.each_attempt("r1")) == trials


def test_attempts_are_added_once_together_or_not_at_all(begun: Store, make_trial: MakeTrial) -> None:
    first, second = make_trial("first"), make_trial("second", body="another body")
    begun.add_trials("r1", [first, second])
    with pytest.raises(DataError, match=r"attempt 0 of the trial of reference on task 'second', .* added only once"):
        begun.add_trials("r1", [make_trial("third"), second])
    assert counted_attempts(begun.each_attempt("r1")) == [first, second]
    with pytest.raises(DataError, match="no run 'r7'"):
        begun.add_trial("r7", first)


@pytest.mark.parametrize(
    ("change", "value", "message"),
    [
        ("blobs SET body", b"\0", "damaged"),
        ("blobs SET body", zlib.compress(b""), "changed"),
        ("trials SET record", '{"new": 1}', "this version of Trialbed cannot read"),
    ],
)
def test_changed_contents_are_an_error_not_a_result(
    begun: Store, execute: Execute, make_trial: MakeTrial, change: str, value: object, message: str
) -> None:
    begun.add_trial("r1", make_trial())
    execute(f"UPDATE {change} = :value", value=value)
    with pytest.raises(DataError, match=message):
        counted_attempts(begun.each_attempt("r1"))


def test_a_field_with_a_default_that_a_record_lacks_has_the_default(
    tmp_path: Path, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    """So a field can be added to a stored record without a change of the tables."""
    path = tmp_path / "store.db"
    with Store.open(str(path)) as store:
        store.create_run(make_run("r1", note="a note"))
        store.add_trial("r1", make_trial().model_copy(update={"topped_up_tools": ("a",)}))
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, name in (("trials", "topped_up_tools"), ("trials", "outcome.cpu_time"), ("runs", "note")):
            connection.execute(f"UPDATE {table} SET record = json_remove(record, '$.{name}')")
    with Store.open(str(path)) as store:
        (trial,) = counted_attempts(store.each_attempt("r1"))
        assert (store.run("r1").note, trial.topped_up_tools, trial.outcome.cpu_time) == ("", (), None)


@pytest.mark.parametrize(
    ("attempts", "counted"),
    [
        pytest.param([(0, "crash", "a"), (1, None, "a")], 0, id="a second try does not improve a score"),
        pytest.param([(0, "crash", "a"), (1, None, "b")], 1, id="unless the code changed"),
        pytest.param([(0, "crash", "a"), (1, "agent", "b"), (2, None, "b")], 1, id="and then the first of that code"),
        pytest.param([(0, "crash", "a"), (1, "crash", "b"), (2, None, "a")], 0, id="code that comes back"),
        pytest.param([(0, "server", "a"), (1, "crash", "a"), (2, None, "a")], 1, id="not measured is passed over"),
        pytest.param([(0, "crash", "a"), (1, "endpoint", "b")], 0, id="also where it was run with other code"),
        pytest.param([(0, "server", "a"), (1, "endpoint", "a")], 1, id="without a measurement the last one counts"),
    ],
)
def test_the_attempt_that_counts(
    make_trial: MakeTrial, attempts: list[tuple[int, FailureKind | None, str]], counted: int
) -> None:
    given = []
    for number, kind, code in attempts:
        trial = make_trial(1)
        failure = Failure(kind=kind, message="refused") if kind else None
        outcome = trial.outcome.model_copy(update={"failure": failure})
        given.append(trial.model_copy(update={"attempt": number, "outcome": outcome, "adapter_digest": code}))
    other = make_trial(2)
    assert counted_attempts([*given, other]) == [given[counted], other]
    assert counted_attempts([other, *reversed(given)]) == [other, given[counted]]


def test_an_unknown_run_is_an_error_that_lists_the_latest(store: Store, make_run: MakeRun) -> None:
    with pytest.raises(DataError, match="no runs yet"):
        store.run("nope")
    store.create_run(make_run("r1"))
    for action in (store.run, store.discard_run, store.update_run):
        with pytest.raises(DataError, match=r"no run 'nope'; its latest runs are r1"):
            action("nope")


def test_runs_are_listed_latest_first_and_the_latest_unfinished_one_is_found(store: Store, make_run: MakeRun) -> None:
    west = timezone(timedelta(hours=-9))
    store.create_run(make_run("latest", "d2", created=datetime(2026, 1, 2, 20, tzinfo=west)))
    store.create_run(make_run("first", created=LATER - timedelta(days=2)))
    store.create_run(make_run("second", created=LATER, status="interrupted"))
    assert [run.run_id for run in store.runs()] == ["latest", "second", "first"]
    assert [run.run_id for run in store.runs(limit=1)] == ["latest"]
    found = store.unfinished_run("d1")
    assert found is not None
    assert found.run_id == "second"
    for run_id in ("first", "second"):
        store.update_run(run_id, status="finished", overall_time=3.5)
    assert store.unfinished_run("d1") is None
    ended = {"created": LATER, "status": "finished", "overall_time": 3.5}
    assert store.run("second") == make_run("second", **ended)


def test_discarding_a_run_takes_all_of_it_and_nothing_else(
    begun: Store, execute: Execute, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    begun.create_run(make_run("r2"))
    shared, own = make_trial(1), make_trial(2, body="own")
    for run_id, trial in (("r1", shared), ("r1", own), ("r2", shared)):
        begun.add_trial(run_id, trial)
    begun.add_selections("r1", {1: ()}, 120)
    assert execute("SELECT count(*) FROM blobs") == 6, "a body that comes again is stored once"
    begun.discard_run("r1")
    assert [run.run_id for run in begun.runs()] == ["r2"]
    assert counted_attempts(begun.each_attempt("r2")) == [shared]
    assert counted_attempts(begun.each_attempt("r1")) == []
    assert begun.selections("r1", [1], 120) == {}
    assert [execute(f"SELECT count(*) FROM {table}") for table in ("trials", "blobs")] == [1, 3]


def test_the_first_selection_stays(begun: Store, make_trial: MakeTrial) -> None:
    tool = ToolSpec(name="n", description="d", parameters={"type": "object"}, api=make_trial().wire.api_calls[0].api)
    filling = tool.model_copy(update={"name": "m", "topped_up": True})
    many: list[int | str] = [*range(2, 1200), "1"]
    for offers in ({1: (tool, filling)}, {1: ()}, dict.fromkeys(many, ())):
        begun.add_selections("r1", offers, 120)
    assert begun.selections("r1", [1, *many, 5_000], 120) == {1: (tool, filling), **dict.fromkeys(many, ())}
    begun.add_selections("r1", {1: (filling,)}, 5)
    assert [begun.selections("r1", [1], most)[1] for most in (5, 120)] == [(filling,), (tool, filling)]


def test_a_run_has_its_tags_and_those_of_the_commands_that_continue_it(store: Store) -> None:
    first = record_run(store, None, run_config(), "d", tags=("a", "b", " "), note="first", own={})
    assert (store.run(first.run_id).tags, store.run(first.run_id).note) == (("a", "b"), "first")
    again = record_run(store, first, run_config(), "d", tags=("c", "a"), note=None, own={"margin": 0.2})
    assert (again.tags, again.note, again.margin) == (("a", "b", "c"), "first", 0.2)
    assert record_run(store, again, run_config(), "d", tags=(), note="second", own={}).note == "second"


async def test_another_command_may_not_continue_the_run_meanwhile(store: Store) -> None:
    run = new_run(run_config(), "d")
    store.create_run(run)
    async with hold_run(store, "d", lambda: run) as found:
        assert (found and found.run_id) == run.run_id
        for digest in ("d", "another configuration"):
            with pytest.raises(UsageError, match="another process"):
                await hold_run(store, digest, lambda: run).__aenter__()
