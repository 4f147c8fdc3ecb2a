"""Parts of reports that a store keeps: read while they are of the run as it is, and of no other state of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from trialbed import open_store
from trialbed.errors import DataError
from trialbed.records import Annotation, GoldAnswer, Run, Score, ToolSpec, TrialResult
from trialbed.store import (
    ColumnTable,
    MadeReport,
    ReportPart,
    Store,
    column_table,
    make_report,
    report_part,
    trial_columns,
    verify_store,
)
from trialbed.store._reports import keep_report

MakeRun = Callable[..., Run]
MakeTrial = Callable[..., TrialResult]
Execute = Callable[..., Any]


@pytest.fixture
def filled(location: str, make_run: MakeRun, make_trial: MakeTrial) -> str:
    """A store with a run that has ended, and its report."""
    with Store.open(location) as store:
        store.create_run(make_run("r1"))
        store.add_trials("r1", [make_trial(1), make_trial("1", framework="other")])
        end(store, location)
    return location


def end(store: Store, location: str) -> None:
    with open_store(location) as reader:
        stored = reader.run("r1")
        ended = replace(stored, record=stored.record.model_copy(update={"status": "finished"}))
        report = make_report(ended, lambda: [ReportPart("figures", "7", lambda: '{"a": 1}')])
    store.update_run("r1", status="finished", overall_time=3.0)
    assert store.keep_report(report)


def kept(location: str, version: str = "7", more: Sequence[str] = ()) -> str | None:
    with open_store(location) as reader:
        return report_part(reader.run("r1"), "figures", version, more)


def test_a_report_is_read_by_the_version_that_made_it(filled: str) -> None:
    assert kept(filled) == '{"a": 1}'
    assert kept(filled, "8") is None
    assert kept(filled, more=["a plugin"]) is None
    assert verify_store(filled).counts["parts of reports"] == 3


def test_columns_are_kept_as_they_are_read(filled: str, execute: Execute, make_trial: MakeTrial) -> None:
    with Store.open(filled) as store:
        findings = {"integrity": (), "attempt": 1}
        store.add_trial("r1", make_trial(1).model_copy(update=findings))
        end(store, filled)
    with open_store(filled) as reader:
        run = reader.run("r1")
        before = column_table(run, ["a", "nosuch"]), column_table(run)
        execute("DELETE FROM reports")
        after = column_table(run, ["a", "nosuch"]), column_table(run)
    assert [shown(table) for table in before] == [shown(table) for table in after]
    assert before[1].scores == ("a",)
    assert set(before[1].offered.spread()) == {frozenset({"weather_now"})}


def shown(table: ColumnTable) -> list[object]:
    return [table.trials(), table.kinds, *(list(table.score(name)) for name in table.scores)]


def test_columns_that_had_to_be_read_from_many_trials_are_kept(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[MadeReport] = []
    with Store.open(filled) as store, open_store(filled) as reader:
        store.update_run("r1", status="interrupted")
        run = reader.run("r1")
        trial_columns(run, made.append)
        assert made == []
        monkeypatch.setattr("trialbed.store._run_columns.KEPT_FROM", 1)
        first = trial_columns(run, made.append).trials()
        assert store.keep_report(made[0])
        monkeypatch.setattr("trialbed.store._run_columns.read_column_table", None)
        assert trial_columns(run, made.append).trials() == first
        assert len(made) == 1


def add_attempt(store: Store, trial: TrialResult) -> None:
    store.add_trial("r1", trial.model_copy(update={"attempt": 1}))


def score(store: Store, trial: TrialResult) -> None:
    store.add_scores("r1", trial, [Score(name="a", value=0.25)])


def answer(store: Store, trial: TrialResult) -> None:
    store.add_gold_answer("r1", GoldAnswer(query_id=1, seconds=1.0, calls=trial.wire.api_calls))


def offer(store: Store, trial: TrialResult) -> None:
    api = trial.wire.api_calls[0].api
    store.add_selections("r1", "query", {1: [ToolSpec(name="n", description="", parameters={}, api=api)]})


@pytest.mark.parametrize(
    "change",
    [
        add_attempt,
        score,
        answer,
        offer,
        lambda store, _: store.update_run("r1", margin=0.2),
        lambda store, _: store.update_run("r1", status="incomplete"),
    ],
)
def test_whatever_changes_a_run_makes_its_report_one_of_another(
    change: Callable[[Store, TrialResult], None], filled: str, make_trial: MakeTrial
) -> None:
    with Store.open(filled) as store:
        change(store, make_trial(1))
    assert kept(filled) is None
    with Store.open(filled) as store:
        end(store, filled)
    assert kept(filled) == '{"a": 1}'


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trials SET checksum = 'other' WHERE framework = 'other'",
        "DELETE FROM trials WHERE framework = 'other'",
        "UPDATE reports SET source = 'other'",
        "UPDATE reports SET version = '8'",
    ],
)
def test_a_change_behind_its_back_does_too(statement: str, filled: str, execute: Execute) -> None:
    execute(statement)
    assert kept(filled) is None
    assert kept(filled, "8") is None


def test_words_on_a_run_leave_its_report(filled: str) -> None:
    with Store.open(filled) as store:
        store.annotate("r1", Annotation(framework="other", query_id="1", note="odd"))
        store.update_run("r1", tags=("nightly",), note="of today")
    assert kept(filled) == '{"a": 1}'
    with open_store(filled) as reader:
        assert reader.run("r1").record.annotations[0].note == "odd"


def test_a_report_of_what_was_changed_meanwhile_is_not_kept(filled: str, make_trial: MakeTrial) -> None:
    with Store.open(filled) as store, open_store(filled) as reader:
        late = make_report(reader.run("r1"), lambda: [ReportPart("figures", "7", lambda: "late")])
        add_attempt(store, make_trial(1))
        assert not store.keep_report(late)
        assert kept(filled) is None
        assert store.keep_report(make_report(reader.run("r1"), lambda: [ReportPart("figures", "7", lambda: "now")]))
    assert kept(filled) == "now"


def test_of_two_that_keep_a_report_at_once_one_waits_for_the_other(
    postgres_url: str, make_run: MakeRun, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = create_engine(postgres_url)
    blocked = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    later: list[Future[bool]] = []
    with Store.open(postgres_url) as store, Store.open(postgres_url) as other, ThreadPoolExecutor(1) as pool:
        store.create_run(make_run("r1", status="finished"))
        store.add_trial("r1", make_trial(1))
        with open_store(postgres_url) as reader:
            made = make_report(reader.run("r1"), lambda: [ReportPart("figures", "7", lambda: "now")])

        def keep(*arguments: Any) -> bool:
            kept = keep_report(*arguments)
            if not later:  # before the first has committed
                later.append(pool.submit(other.keep_report, made))
                while not later[0].done():
                    with server.connect() as connection:
                        if connection.scalar(blocked):
                            break
            return kept

        monkeypatch.setattr("trialbed.store._store.keep_report", keep)
        assert store.keep_report(made)
        assert later[0].result()
    server.dispose()
    assert kept(postgres_url) == "now"


def test_damage_of_a_report_is_named_and_not_read(filled: str, execute: Execute) -> None:
    execute("UPDATE reports SET digest = 'other' WHERE part = 'figures'")
    assert kept(filled) is None
    assert any("the stored report of run 'r1'" in problem for problem in verify_store(filled).problems)


def test_a_report_goes_with_its_run(filled: str, execute: Execute) -> None:
    with Store.open(filled) as store, open_store(filled) as reader:
        gone = make_report(reader.run("r1"), list)
        store.discard_run("r1")
        with pytest.raises(DataError):
            store.keep_report(gone)
    assert execute("SELECT count(*) FROM reports") == 0
