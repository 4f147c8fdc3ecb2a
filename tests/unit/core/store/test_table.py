"""The trials of a run as a table, from SQLite and PostgreSQL alike."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from support.memory_runs import ended_with, stored_run
from support.scoring import api_call, gold_call, model_call, sent_call
from support.trials import run_config, run_of, trial_of, verdict

from trialbed.errors import DataError
from trialbed.prices import read_prices
from trialbed.records import AttributedCall, Failure, IntegrityFinding, Query, Score, TrialResult, Usage
from trialbed.report import read_report
from trialbed.store import ScoreKind, Store, TrialTable

RUN = run_of(run_config(frameworks=("reference", "b"), query_ids=("1", 1), repeat=2))
BARE = Query(query_id=1, text="?", apis=(), states_calls=False)
LOST = AttributedCall(gold=gold_call("a", city="Ulm"), lost="not called", reason="the model did not ask for it")


def attempts() -> list[TrialResult]:
    """Trials in the order in which they ended; of two there are several attempts."""
    usage, sent = Usage(prompt_tokens=3, completion_tokens=4), [sent_call("a", "{", "invalid json")]
    calls = {
        "model_calls": [model_call(usage, sent=sent), model_call(None, 500, error="no")],
        "api_calls": [api_call("a", error="x")],
    }
    odd = Score(name="odd", value=3.0, quality=False)
    late = Score(name="late", value=None, failure=Failure(kind="scorer", message="KeyError"))
    failed = trial_of(1, 0, "crash", framework="b", wall=4.0, gold_calls=(LOST,))
    return [
        trial_of(1, 0, None, [verdict("Unsure", "lacks 21"), odd], **calls),
        trial_of("1", 0, None, [verdict("Solved", "all there"), late], first=True, selected_tools=("y", "x")),
        trial_of("1", 1, "endpoint", message="busy"),
        ended_with(failed, RUN.model_copy(update={"prices": {"scripted:gold": read_prices("1,2")}}), BARE),
        trial_of("1", 1, None, [verdict(None, "too long"), Score(name="odd", value=math.inf)], attempt=1),
        trial_of("1", 1, None, [verdict("Solved")], attempt=2),
        trial_of("1", 0, "crash", framework="b"),
        trial_of("1", 0, None, [verdict("Unsolved")], framework="b", attempt=1, adapter_digest="other"),
    ]  # fmt: skip


@pytest.fixture
def table(location: str) -> TrialTable:
    with stored_run(RUN, attempts(), location=location) as stored:
        return stored.table()


def test_rows_are_the_trials_that_count_framework_by_framework_in_the_order_of_queries(table: TrialTable) -> None:
    found = [(row.key.framework, row.query_id, row.repeat, row["attempt"], row.status, row["again"]) for row in table]
    assert found == [
        ("reference", "1", 0, 0, "answered", 0),
        ("reference", "1", 1, 1, "answered", 1),
        ("reference", 1, 0, 0, "answered", 0),
        ("b", "1", 0, 1, "answered", 2),
        ("b", 1, 0, 0, "failed", 0),
    ]
    assert [(row.verdict, row.reason) for row in table] == [
        ("Solved", ""), ("Error", "too long"), ("Unsure", "lacks 21"), ("Unsolved", ""), ("Error", ""),
    ]  # fmt: skip
    assert [row.key.query_id for row in table.of("b")] == ["1", 1]
    assert table.row(4).failure == Failure(kind="crash", message="it died")
    assert table.row(4).gold_calls == (LOST,)
    assert (table.row(0).failure, table.row(0).gold_calls) == (None, ())


def test_numbers_of_a_trial_are_columns(table: TrialTable) -> None:
    asked, first, failed = table.row(2), table.row(0), table.row(4)
    named = ("requests", "request_errors", "prompt_tokens", "completion_tokens", "api_calls", "api_errors")
    assert [asked[name] for name in named] == [2, 1, 3, 4, 1, 1]
    assert (asked["invalid_calls"], asked.faults) == (1, 3)
    assert (failed["cost"], failed["wall_time"], math.isnan(asked["cost"])) == (0.0, 4.0, True)
    assert (first["first"], asked["first"]) == (1, 0)


def test_scores_are_columns_in_which_failures_count_as_asked_for(table: TrialTable) -> None:
    assert table.values("sopr_score", zeros=False).tolist()[2:4] == [0.5, 0.0]
    known = [None if math.isnan(value) else value for value in table.values("sopr_score", zeros=True).tolist()]
    assert known == [1.0, None, 0.5, 0.0, 0.0]
    assert math.isnan(table.values("api_f1", zeros=True)[4]), "its query cannot have that score"
    assert (table.row(2).score("odd"), table.row(1).score("odd"), table.row(1).score("nosuch")) == (3.0, None, None)
    assert table.kinds == {
        "sopr_score": ScoreKind(True, True), "odd": ScoreKind(True, False), "late": ScoreKind(True, True),
    }  # fmt: skip
    own = {row: own["late"].message for row, own in table.undetermined.items() if "late" in own}
    assert own == {int(table["row"][0]): "KeyError"}


def test_a_score_stands_in_place_of_another(location: str) -> None:
    strict = Score(name="sopr_score@strict", value=0.0, label="Unsolved", detail={"reason": "severe"})
    trials = [trial_of(1, 0, None, [verdict("Solved"), strict]), trial_of("1", 0, None, [verdict("Solved")])]
    with stored_run(RUN, trials, location=location) as stored:
        found = stored.table(renamed={"sopr_score@strict": "sopr_score"})
    assert [(row.score("sopr_score"), row.verdict, row.reason) for row in found] == [
        (None, "Error", ""), (0.0, "Unsolved", "severe"),
    ]  # fmt: skip
    assert list(found.scores) == ["sopr_score"]


def test_the_list_of_runs_has_the_figures_of_the_table(location: str) -> None:
    with stored_run(RUN, attempts(), location=location) as stored:
        assert stored.ends() == Counter(answered=4, failed=1)
        assert len(stored.attempt_table()) == 8
        assert stored.headline() is None, "of several attempts only the table knows which counts"
    cheat = IntegrityFinding(kind="other_model_answered", count=1)
    once = [one for one in attempts() if one.attempt == 0]
    for number, (more, known) in enumerate((((), True), ((trial_of(1, 1, integrity=(cheat,)),), False))):
        run = RUN.model_copy(update={"run_id": f"r{number}", "config_digest": f"d{number}"})
        with stored_run(run, [*once, *more], location=location) as stored:
            headline = stored.headline()
            means = {one.framework: one.scores["sopr_score"].value for one in read_report(stored).frameworks}
            assert headline == ({"reference": (2, 0, means["reference"]), "b": (0, 2, means["b"])} if known else None)


def test_attempts_are_read_whole_by_their_rows_as_they_are_then(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.store._stored.IN_PART", 1)
    with stored_run(RUN, attempts(), location=location) as stored, Store.open(location) as store:
        rows = stored.table()["row"].tolist()
        read = stored.results_at([rows[2], rows[0], rows[1]])
        assert next(read) == attempts()[0]
        store.add_scores(RUN.run_id, attempts()[1], [Score(name="later", value=1.0)])
        assert [score.name for score in next(read).scores] == ["sopr_score", "late", "later"]
        assert [one.pair for one in stored.each_counted()] == [("1", 0), ("1", 1), (1, 0), ("1", 0), (1, 0)]
        assert list(stored.attempts())[2:] == attempts()[2:], "in the order in which they ended"
        store.discard_run(RUN.run_id)
        with pytest.raises(DataError, match="trials of run r were deleted while they were read"):
            next(read)


def test_a_trial_of_a_query_that_the_run_does_not_have_is_an_error(location: str) -> None:
    with stored_run(RUN, [trial_of(2)], location=location) as stored, pytest.raises(DataError, match="task 2"):
        stored.table()


def test_a_run_without_trials_has_an_empty_table(location: str) -> None:
    with stored_run(RUN, [], location=location) as stored:
        found = stored.table()
        assert (len(found), list(found), stored.ends().total()) == (0, [], 0)
        assert stored.headline() == {"reference": (0, 0, None), "b": (0, 0, None)}


def test_the_means_of_a_data_frame_are_those_of_the_report(location: str) -> None:
    pytest.importorskip("pandas")
    walls = iter(range(1, 99))
    trials = [
        trial_of(query, repeat, None, [verdict(label), Score(name="wall_time", value=next(walls), bounded=False)],
                 framework=name, first=not repeat)
        for name in RUN.config.frameworks
        for query in RUN.config.query_ids
        for repeat, label in enumerate(("Solved", "Unsure"))
    ]  # fmt: skip
    trials[3], trials[5] = trial_of(1, 1, "crash"), trial_of("1", 1, "endpoint", framework="b")
    with stored_run(RUN, trials, location=location) as stored:
        frame, report = stored.to_frame(), read_report(stored)
    assert len(frame) == len(trials)
    for summary in report.frameworks:
        own = frame[frame["framework"] == summary.framework]
        for name, found in summary.scores.items():
            assert own[name].count() == found.denominator
            assert found.denominator == 0 or own[name].mean() == pytest.approx(found.value)
        assert summary.times.first_apart
