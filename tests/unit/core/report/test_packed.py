"""The trials of a report, packed."""

from __future__ import annotations

import pickle
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from support.memory_runs import report_of
from support.run_reports import run_of, short
from support.scoring import gold_call
from support.stored_runs import trial

from trialbed.records import Failure, IntegrityFinding, Query, Score, TrialResult
from trialbed.report import ReportedTrial
from trialbed.report._columns import ReportedColumns
from trialbed.report._packed import PackedTrials, TrialPack, finder
from trialbed.report.attribution import AttributedCall
from trialbed.spool import Spool


def unlike() -> list[ReportedTrial]:
    """Trials of which each part differs in some."""
    first, second = (short(trial("reference", query, wrong=False)) for query in (1, 2))
    other = replace(
        short(trial("reference", "a/b", wrong=True)),
        scores=(Score(name="late", value=None, failure=Failure(kind="judge", message="no verdict")),),
        integrity=(IntegrityFinding(kind="added_tool", count=2, examples=("x",)),),
        gold_calls=(AttributedCall(gold_call("a", x=1), "not called", "the model did not ask for it"),),
    )
    numbers = {"a": 1, "b": 1.0, "c": True}
    unchecked = tuple(Score.model_construct(name=name, value=value) for name, value in numbers.items())
    return [first, replace(second, scores=unchecked), other]


def pack_all(trials: Sequence[ReportedTrial]) -> PackedTrials:
    spool = Spool()
    pack, columns = TrialPack("reference", spool), ReportedColumns({1: 0, 2: 1, "a/b": 2}, spool)
    for one in trials:
        pack.append(one)
        columns.add(one)
    return PackedTrials(pack, array("I", range(len(trials))), columns)


def test_packed_trials_are_those_that_were_packed() -> None:
    trials = unlike() * 50
    found = pack_all(trials)
    assert found == trials
    assert trials[:3] != found
    assert found[-1] == trials[-1]
    assert found[148:] == tuple(trials[148:])
    values = [[type(score.value) for score in one.scores] for one in (found[1], trials[1])]
    assert values[0] == values[1] == [int, float, bool]
    with pytest.raises(IndexError):
        found[150]


def test_trials_are_found_by_key_and_attempt() -> None:
    trials = unlike()
    for find in map(finder, (pack_all(trials), trials)):
        assert [find(one.key, one.attempt) for one in trials] == [0, 1, 2]
        assert find(trials[0].key, 1) is None
        assert find(trials[0].key.model_copy(update={"repeat": 1}), 0) is None
        assert find(trials[0].key.model_copy(update={"query_id": "new"}), 0) is None


def pack_repeats(repeats: int, queries: int) -> PackedTrials:
    """Trials that ended one repeat after the other, in the order of their queries."""
    pack, first = TrialPack("reference", Spool()), short(trial("reference", 1, wrong=False))
    for repeat in range(repeats):
        for query in range(queries):
            pack.append(replace(first, key=first.key.model_copy(update={"query_id": query, "repeat": repeat})))
    order = array("I", [repeat * queries + query for query in range(queries) for repeat in range(repeats)])
    return PackedTrials(pack, order, ReportedColumns({}, Spool()))


def test_each_part_is_unpacked_once_where_queries_have_many_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked, unpack = [], zlib.decompress
    monkeypatch.setattr(zlib, "decompress", lambda part: (unpacked.append(part), unpack(part))[1])
    repeats, queries = 20, 64
    found = [(one.query_id, one.repeat) for one in pack_repeats(repeats, queries)]
    assert found == [(query, repeat) for query in range(queries) for repeat in range(repeats)]
    assert len(unpacked) == repeats * queries // 32


def test_trials_are_read_where_another_thread_let_go_of_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.report._packed.UNPACKED", 0)
    monkeypatch.setattr("trialbed.report._packed.EACH_REPEAT", 0)
    trials = pack_repeats(1, 32 * 4)
    assert [trials[place].query_id for place in (0, 40, 80, 0)] == [0, 40, 80, 0]


def results(count: int) -> Iterator[TrialResult]:
    """Trials whose times and tokens all differ, as those of a run do."""
    draw = Random(0)
    made = trial("reference", 0, wrong=False)
    for number in range(count):
        times = tuple(Score(name=f"{name}_time", value=draw.random(), bounded=False) for name in ("wall", "model"))
        shares = tuple(Score(name=f"share_{place}", value=draw.choice((0.0, 0.5, 1.0))) for place in range(15))
        started = made.outcome.started_at + timedelta(seconds=number + draw.random())
        yield made.model_copy(
            update={
                "key": made.key.model_copy(update={"query_id": number}),
                "trial": f"{draw.getrandbits(64):x}",
                "outcome": made.outcome.model_copy(update={"started_at": started, "wall_time": draw.random()}),
                "scores": (*made.scores, *times, *shares),
            }
        )


def test_a_report_holds_few_bytes_of_each_trial() -> None:
    count = 1_000
    run = run_of({"agent_name": "reference", "num_queries": count})
    queries = {number: Query(query_id=number, text="", apis=()) for number in range(count)}
    trials = report_of(run, queries, list(results(count))).frameworks[0].trials
    assert len(trials) == count
    assert len(pickle.dumps(trials)) / count < 400  # an object of each takes 3 kB
    assert pickle.loads(pickle.dumps(trials)) == trials
