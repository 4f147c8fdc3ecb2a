from __future__ import annotations

import math
import sqlite3
import threading
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.errors import DataError
from trialbed.records import Failure, Run, Score, TrialKey, TrialResult
from trialbed.store import Store, counted_attempts
from trialbed.store._rows import decode, encode

MakeRun = Callable[..., Run]
MakeTrial = Callable[..., TrialResult]
Execute = Callable[..., Any]


def test_a_trial_comes_back_whole(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    trial = make_trial()
    store.add_trial("r1", trial)
    assert counted_attempts(store.each_attempt("r1")) == [trial]


def test_a_failed_trial_comes_back_whole(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    trial = make_trial()
    failure = Failure(kind="crash", message="died", detail="\x00 \ud800 end of stderr")
    outcome = trial.outcome.model_copy(update={"answer": None, "failure": failure})
    failed = trial.model_copy(update={"outcome": outcome, "scores": ()})
    store.add_trial("r1", failed)
    assert counted_attempts(store.each_attempt("r1")) == [failed]


def test_awkward_bodies_come_back_byte_for_byte(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    bodies = ["", "\x00", "\ud83d", "a\r\nb", "𝄞" * 1000]
    for place, body in enumerate(bodies):
        store.add_trial("r1", make_trial(place, body=body))
    assert [trial.wire.model_calls[0].request for trial in counted_attempts(store.each_attempt("r1"))] == bodies


def test_awkward_scores_come_back_whole(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    odd = Score(name="a\x00\ud83d", value=float("inf"), label="\ud83d", detail={"x": [2**80, 1e-300, "\ud83d"]})
    trial = make_trial().model_copy(update={"scores": (odd,)})
    store.add_trial("r1", trial)
    assert counted_attempts(store.each_attempt("r1")) == [trial]


def test_secrets_of_the_environment_are_not_stored(
    store: Store, make_run: MakeRun, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-Canary+4711")
    store.create_run(make_run())
    trial = make_trial(body="the key sk-Canary\\u002B4711")
    failure = Failure(kind="agent", message="refused: sk-Canary%2b4711")
    failed = trial.outcome.model_copy(update={"answer": None, "failure": failure})
    store.add_trial("r1", trial.model_copy(update={"outcome": failed}))
    (stored,) = counted_attempts(store.each_attempt("r1"))
    assert stored.wire.model_calls[0].request == "the key [redacted]"
    assert stored.outcome.failure == Failure(kind="agent", message="refused: [redacted]")


def test_a_trial_is_added_once(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    store.add_trial("r1", make_trial(5))
    with pytest.raises(DataError, match="already has attempt 0 of the trial of reference on task 5, repeat 0"):
        store.add_trial("r1", make_trial(5, body="other"))
    assert counted_attempts(store.each_attempt("r1")) == [make_trial(5)]


def test_a_trial_needs_its_run(store: Store, make_trial: MakeTrial) -> None:
    with pytest.raises(DataError, match="no run 'r1'"):
        store.add_trial("r1", make_trial())


def test_number_and_text_ids_frameworks_and_repeats_are_told_apart(
    store: Store, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    store.create_run(make_run())
    trials = [make_trial(5), make_trial("5"), make_trial(5, framework="other"), make_trial(5, repeat=1)]
    for trial in trials:
        store.add_trial("r1", trial)
    kept = {one.key for one in store.each_attempt_summary("r1") if one.status != "not measured"}
    assert kept == {trial.key for trial in trials}
    assert TrialKey(framework="reference", query_id="5") in kept
    assert counted_attempts(store.each_attempt("r1")) == trials


def test_a_body_that_comes_again_is_stored_once(
    store: Store, execute: Execute, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    store.create_run(make_run())
    for query_id in range(5):
        store.add_trial("r1", make_trial(query_id))
    assert execute("SELECT count(*) FROM calls") == 15
    assert execute("SELECT count(*) FROM blobs") == 3


def test_threads_may_add_at_once(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    threads = [
        threading.Thread(target=lambda start=start: add(store, make_trial, range(start, start + 10)))
        for start in range(0, 80, 10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.key.query_id for one in store.each_attempt_summary("r1")} == set(range(80))


def add(store: Store, make_trial: MakeTrial, query_ids: range) -> None:
    for query_id in query_ids:
        store.add_trial("r1", make_trial(query_id, body=f"body {query_id}"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=examples(1))
@given(json_values)
def test_json_is_kept_to_the_last_bit(value: object) -> None:
    assert decode(encode(value)) == value
    encode(value).encode("ascii")


@pytest.mark.parametrize(
    ("change", "value", "message"),
    [
        ("blobs SET body", b"\0", "damaged"),
        ("blobs SET body", zlib.compress(b""), "changed"),
        ("trials SET record", '{"new": 1}', "this version of Trialbed cannot read"),
    ],
)
def test_changed_contents_are_an_error_not_a_result(
    store: Store,
    execute: Execute,
    make_run: MakeRun,
    make_trial: MakeTrial,
    change: str,
    value: object,
    message: str,
) -> None:
    store.create_run(make_run())
    store.add_trial("r1", make_trial())
    execute(f"UPDATE {change} = :value", value=value)
    with pytest.raises(DataError, match=message):
        counted_attempts(store.each_attempt("r1"))


def test_attempts_are_added_together_or_not_at_all(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    store.create_run(make_run())
    first, second = make_trial("first"), make_trial("second", body="another body")
    store.add_trials("r1", [first, second])
    assert counted_attempts(store.each_attempt("r1")) == [first, second]
    with pytest.raises(DataError, match=r"'second'.*added only once"):
        store.add_trials("r1", [make_trial("third"), second])
    assert counted_attempts(store.each_attempt("r1")) == [first, second]


def test_scores_are_stored_without_loss(store: Store, make_run: MakeRun, make_trial: MakeTrial) -> None:
    values = [math.nan, math.inf, "\ud800", "ä\x00", -0.0, 2**70, [1, 2], None]
    failure = Failure(kind="judge", message="none")
    scores = [
        Score(name=str(place), value=math.nan, detail={"value": value}, failure=failure)
        for place, value in enumerate(values)
    ]
    store.create_run(make_run())
    store.add_trial("r1", make_trial().model_copy(update={"scores": tuple(scores)}))
    (found,) = counted_attempts(store.each_attempt("r1"))
    assert [repr(score.detail["value"]) for score in found.scores] == [repr(value) for value in values]
    assert {(repr(score.value), score.failure) for score in found.scores} == {("nan", failure)}


def test_a_field_with_a_default_that_a_record_lacks_has_the_default(
    tmp_path: Path, make_run: MakeRun, make_trial: MakeTrial
) -> None:
    """So a field can be added to a stored record without a change of the tables."""
    path = tmp_path / "store.db"
    with Store.open(str(path)) as store:
        store.create_run(make_run("r1", note="a note"))
        store.add_trial("r1", make_trial().model_copy(update={"topped_up_tools": ("a",)}))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.row_factory = sqlite3.Row
        for table, lacking in (("trials", ("$.topped_up_tools", "$.outcome.cpu_time")), ("runs", ("$.note",))):
            for name in lacking:
                connection.execute(f"UPDATE {table} SET record = json_remove(record, '{name}')")
            row = dict(connection.execute(f"SELECT * FROM {table}").fetchone())
            assert lacking[0][2:] not in row["record"]
    with Store.open(str(path)) as store:
        assert store.run("r1").note == ""
        (trial,) = counted_attempts(store.each_attempt("r1"))
        assert (trial.topped_up_tools, trial.outcome.cpu_time) == ((), None)
