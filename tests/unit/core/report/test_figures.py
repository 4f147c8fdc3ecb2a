"""The figures of a run: equal to those that are computed by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.memory_runs import report_of, stored_run
from support.scoring import api_call, gold_call, model_call, sent_call
from support.trials import run_config, run_of, trial_of, verdict

from trialbed.prices import read_prices
from trialbed.records import (
    AttributedCall,
    FilledArgument,
    IntegrityFinding,
    LostCall,
    Query,
    Run,
    Score,
    TrialResult,
    Usage,
)
from trialbed.report import Counts, Reason, Report, Summary, how_to_complete, read_report, reason_lines, worst_queries
from trialbed.statistics import wilson_interval

GOLD = gold_call("a", city="Ulm")
QUERIES: dict[int | str, Query] = {
    query: Query(query_id=query, text=f"{query}?", apis=(), gold_calls=(GOLD,)) for query in (2, 1, "a/b")
}
USAGE = Usage(prompt_tokens=5, completion_tokens=6)


def score(name: str, value: float | None, **more: Any) -> Score:
    return Score(name=name, value=value, **more)


def number(name: str, value: float) -> Score:
    return score(name, value, bounded=False)


def run_with(trials: Iterable[TrialResult], **more: Any) -> Run:
    """A finished run of these trials; the fields are those of a run, or of its configuration."""
    keys = [one.key for one in trials]
    asked = {key.query_id for key in keys}
    labels = tuple(dict.fromkeys([*more.pop("frameworks", ()), *(key.framework for key in keys)])) or ("reference",)
    config = {
        "frameworks": labels,
        "query_ids": more.pop("query_ids", tuple(query for query in QUERIES if query in asked)),
        "repeat": more.pop("repeat", 1 + max((key.repeat for key in keys), default=0)),
        "adapter_versions": dict.fromkeys(labels, "1"),
    }
    return run_of(run_config(**config), **more)


def reported(
    *trials: TrialResult, gold: Any = None, aggregate: Any = None, allowed: bool = False, **more: Any
) -> Report:
    run = run_with(trials, **more)
    return report_of(run, QUERIES, trials, gold=gold, aggregate=aggregate, allow_incomplete=allowed)


def own(*trials: TrialResult, **more: Any) -> Summary:
    return reported(*trials, **more)["reference"]


def means(scores: Mapping[str, Any]) -> dict[str, tuple[float | None, int]]:
    return {name: (found.value, found.denominator) for name, found in scores.items()}


def basic() -> list[TrialResult]:
    """Two queries, each twice: solved, without a verdict, unsure and not finished, and failed."""
    called = [score("api_call_score", value) for value in (1.0, 0.5, 0.0)]
    finished, not_finished = score("has_finish", 1.0), score("has_finish", 0.0)
    claims = score("claimed_vs_observed", 0.0, quality=False)
    return [
        trial_of(1, 0, scores=[verdict("Solved"), called[0], finished, claims], wall=2.0),
        trial_of(1, 1, scores=[verdict(None), called[1], finished], wall=4.0),
        trial_of(2, 0, scores=[verdict("Unsure"), called[2], not_finished], wall=2.0),
        trial_of(2, 1, "crash", wall=100.0),
    ]


def test_failures_are_0_in_scores_of_quality_and_enter_no_others() -> None:
    found = own(*basic())
    assert found.counts == Counts(
        queries=2, trials=4, answered=3, failed=1, not_measured=0, solved=1, unsure=1, unsolved=1, finished=2,
        finish_known=4, failures={"crash": 1},
    )  # fmt: skip
    assert means(found.scores) == {
        "sopr_score": (0.5, 3),
        "api_call_score": (0.375, 4),
        "api_precision": (0.0, 1),
        "api_f1": (0.0, 1),
        "has_finish": (0.5, 4),
        "claimed_vs_observed": (0.0, 1),
    }
    low, high, _ = wilson_interval(0.375, 2)
    assert found.scores["api_call_score"].interval == pytest.approx((low, high)), "repeats of a task are one"
    assert {name: one.untold for name, one in found.scores.items() if one.untold} == {"sopr_score": 1}
    assert (found.counts.answered, means(found.over_answered)["api_call_score"]) == (3, (0.5, 3))
    assert found.times.answer == pytest.approx((2 + 4 + 2) / 3)


def test_scores_of_other_plugins_count_failures_unless_they_say_otherwise() -> None:
    given = [score("polite", 1.0), number("length", 9), score("rude", 0.5, quality=False), score("odd", 3.0)]
    crashed = (trial_of(2, 0, "crash"), trial_of(1, 0, "crash", framework="b"))
    found = reported(trial_of(1, scores=given), *crashed)
    assert {name: found["reference"].scores[name].value for name in ("polite", "length", "rude")} == {
        "polite": 0.5, "length": 9, "rude": 0.5,
    }  # fmt: skip
    assert found["b"].scores["polite"].value == 0.0, "scored in what the other framework is scored in"
    assert found["reference"].scores["odd"].interval is None, "it says that it is bounded, and is not"
    infinite = own(trial_of(1, scores=[score("s", float("inf"))]), trial_of(2, scores=[score("s", 1.0)]))
    assert means(infinite.scores)["s"] == (1.0, 1)


def timed(framework: str, *walls: float, first: int = 1) -> list[TrialResult]:
    return [
        trial_of(1, place, scores=[number("wall_time", wall), number("steps", wall)], wall=wall, first=place < first,
                 framework=framework)
        for place, wall in enumerate(walls)
    ]  # fmt: skip


def test_first_trials_of_workers_are_left_out_of_times_alone() -> None:
    found = own(*timed("reference", 90.0, 1.0, 3.0))
    wall, steps = found.scores["wall_time"], found.scores["steps"]
    assert (wall.value, wall.median, wall.quartiles, wall.denominator) == (2, 2, (1.5, 2.5), 2)
    assert (steps.value, steps.median) == (pytest.approx(94 / 3), 3)
    assert (found.times.answer, found.times.timed, found.times.first_trials, found.times.first_apart) == (2, 2, 1, True)
    assert found.times.first["wall_time"] == 90


def test_success_over_repeats() -> None:
    labels = {1: ["Solved", "Solved"], 2: ["Solved", "Unsure", None], "a/b": ["Unsolved"] * 3}
    trials = [
        trial_of(query, place, None, [verdict(label)])
        for query, each in labels.items()
        for place, label in enumerate(each)
    ]
    found = own(*trials, trial_of(1, 2, "crash")).success
    assert list(found["any"]) == list(found["each"]) == [1, 2, 3]
    assert found["any"][1].value == found["each"][1].value == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert (found["any"][2].value, found["each"][2].value) == (pytest.approx(2 / 3), pytest.approx(1 / 9))
    assert (found["any"][3].value, found["each"][3].value, found["any"][3].denominator) == (0.5, 0.0, 2)
    assert own(trial_of(1, scores=[verdict("Solved")]), trial_of(2, 0, "crash")).success == {"any": {}, "each": {}}


def test_reasons_are_told_once_for_each_kind_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "first line\n" + "x" * 999
    trials = [
        trial_of(2, 0, "crash", message="no key-canary-4711"),
        trial_of(2, 1, "agent", message=long),
        trial_of(1, 0, "agent", message="other"),
        trial_of(1, 1, scores=[verdict(None, "too short")]),
    ]
    run = run_with(trials)
    with stored_run(run, trials) as stored:
        monkeypatch.setenv("SOME_API_KEY", "key-canary-4711")
        found = read_report(stored).frameworks[0]
    agent, crash = found.failures
    assert crash == Reason("crash", "failed", 1, "no [redacted]", 2, 0, 0)
    assert (agent.count, agent.alike, agent.query_id, agent.repeat, agent.entry) == (2, 1, 2, 1, 1)
    assert agent.message.startswith("first line xxx")
    assert len(agent.message) == 300
    assert found.untold == (Reason("judge", "answered", 1, "too short", 1, 1, 3, "sopr_score"),)
    assert list(reason_lines(found))[2] == (
        "solved could not be determined for 1 trial (judge): too short [task 1: bench show r reference/1/1]"
    )
    assert how_to_complete([own(trial_of(1, 0, "tool"))]).startswith("fix the tool first; ")


def test_tokens_and_cost_are_those_of_all_attempts() -> None:
    asked = [model_call(USAGE), model_call(None), model_call(USAGE, recorded=1.5), model_call(None, 429)]
    trials = [
        trial_of(1, model_calls=asked, scores=[verdict("Solved")]),
        trial_of(2, 0, "endpoint", model_calls=asked[:1]),
        trial_of(2, 0, "crash", model_calls=asked[:1], attempt=1),
        trial_of(2, 0, model_calls=asked[:1], attempt=2, adapter_digest="other"),
    ]
    found = own(*trials)
    tokens = found.tokens
    assert (tokens.prompt, tokens.completion, tokens.total, tokens.requests) == (25, 30, 55, 7)
    assert (tokens.unreported, tokens.recorded_requests, tokens.recorded, tokens.cost) == (1, 1, 11, None)
    assert (found.counts.failed, found.repeated) == (0, {"trials": 1, "replaced": 1})
    priced = own(*trials, prices={"scripted:gold": read_prices("1,2")})
    assert priced.tokens.cost == pytest.approx((25 + 2 * 30) / 1_000_000)
    assert priced.cost_per_solved == priced.tokens.cost
    again = own(trial_of(1), trial_of(1, attempt=1))
    assert (again.counts.trials, again.repeated) == (1, {"trials": 1, "replaced": 0})


def test_facts_of_the_wire_are_counted_over_all_trials() -> None:
    written = sent_call("a")
    lost = (LostCall(position=0, tool="a", reason="no tools"), LostCall(position=1, tool="a", reason="arguments"))
    filled = (FilledArgument(position=2, tool="a", argument="days", value=1),)
    found = own(
        trial_of(1, 0, "crash", model_calls=[model_call(finish_reason="length", waited=2.4)],
                 api_calls=[api_call("a", provenance="cache:template"), api_call("a")],
                 wire={"lost": lost, "filled": filled}),
        trial_of(1, 1, model_calls=[
            model_call(finish_reason="stop", text_calls=(written, written), translated="messages", waited=1.2)
        ]),
        trial_of(1, 2, "limit", model_calls=[model_call(None, 403, cause="limit", limit="max_steps")]),
    ).wire  # fmt: skip
    assert found == {
        "finish_reasons": {"length": 1, "stop": 1},
        "truncated": {"answers": 1, "trials": 1},
        "text_calls": {"calls": 2, "trials": 1},
        "refused_requests": {"requests": 1, "trials": 1, "limits": {"max_steps": 1}},
        "lost_calls": {"calls": 2, "trials": 1, "reasons": {"no tools": 1, "arguments": 1}},
        "filled_arguments": {"arguments": 1, "trials": 1},
        "translated_requests": {"requests": 1, "trials": 1},
        "waited": {"seconds": 3, "trials": 2},
        "cached_calls": {"calls": 2, "cached": 1},
    }
    assert not any(count for one in own(trial_of()).wire.values() for count in one.values())


def test_expected_calls_are_counted_by_stage_and_by_who_lost_them() -> None:
    def call(lost: Any, reason: str = "") -> AttributedCall:
        return AttributedCall(gold=GOLD, lost=lost, reason=reason)

    ended = "the framework ended the run at a call that cannot be made: not JSON"
    found = own(
        trial_of(1, 0, gold_calls=(call(None), call("not called", "the model did not ask for it"))),
        trial_of(1, 1, gold_calls=(call("not called", ended), call("api failed"), call("not made"))),
        trial_of(2, 0, "crash", gold_calls=(call("trial failed"),)),
        trial_of(2, 1, "limit", gold_calls=(call("trial failed"), call("not offered"))),
        trial_of("a/b", 0, "endpoint"),
    ).attribution
    counts = {"used": 1, "not called": 2, "api failed": 1, "not made": 1, "trial failed": 2, "not offered": 1}
    assert {stage: count for stage, count in found.counts.items() if count} == counts
    assert found.losers == {"model": 2, "framework": 3, "rig": 1, "selector": 1}
    assert found.gold_calls == 8
    assert found.shares["used"] == 1 / 8
    query_id, call = found.first["not called"]
    assert (query_id, call.reason) == (1, "the model did not ask for it")
    assert own().attribution.shares["used"] is None


def test_a_row_in_which_another_model_answered_is_void_and_not_compared() -> None:
    strong = IntegrityFinding(kind="other_model_answered", count=2, examples=("strong",))
    trials = [
        trial_of(query, framework=name, scores=[verdict("Solved")], integrity=(strong,) if name == "cheat" else ())
        for name in ("reference", "cheat", "b", "c")
        for query in (1, 2)
    ]
    found = reported(*trials)
    cheat = found["cheat"]
    assert (cheat.integrity.trials, cheat.integrity.found["other_model_answered"].count) == (2, 4)
    assert "strong" in cheat.integrity.void
    assert (found.sides["cheat"].void, cheat.comparisons) == (cheat.integrity.void, ())
    assert [len(found[name].comparisons) for name in ("reference", "b", "c")] == [0, 1, 1]
    assert found["b"].ranks == {"sopr_score": (1, 3)}
    assert cheat.ranks == {}
    (line,) = found.below(sopr_score=0.5)
    assert line.startswith("cheat: solved is not shown, as the row is void: strong")


def test_an_incomplete_run_has_figures_over_the_trials_that_all_have() -> None:
    trials = [
        trial_of(query, repeat, scores=[verdict(label), number("wall_time", repeat)], framework=name)
        for name in ("reference", "acme")
        for query in (1, 2)
        for repeat, label in enumerate(("Unsolved", "Solved"))
    ]
    del trials[-1]
    found = reported(*trials, status="incomplete", allowed=True)
    assert found.incomplete
    assert found["acme"].counts.not_measured == 1
    common = found["reference"].common
    assert common is not None
    assert (found["reference"].common_trials, means(common)["sopr_score"]) == (3, (pytest.approx(1 / 3), 3))
    assert common["wall_time"].median == 0
    (finding,) = [one.scores["sopr_score"] for one in found["acme"].comparisons]
    assert (finding.n, finding.verdict, found["acme"].ranks) == (2, "identical", None)
    refused = reported(*trials, status="running")["acme"]
    assert (refused.comparisons, refused.common, refused.ranks) == ((), None, None)
    assert "nothing is decided: 1 trial was not measured" in "".join(found.below(sopr_score=0.0))


def test_queries_on_which_most_went_wrong_come_first() -> None:
    right = [verdict("Solved"), score("api_call_score", 1.0)]
    half = [verdict("Unsure", "lacks 21"), score("api_call_score", 1.0)]
    found = reported(
        trial_of(1, scores=right),
        trial_of(2, scores=right, api_calls=[api_call("a", error="no city")]),
        trial_of("a/b", scores=half),
        trial_of(1, framework="b", scores=right),
        trial_of(2, 0, "crash", framework="b"),
        trial_of("a/b", 0, "endpoint", framework="b"),
    )
    worst = worst_queries(found)
    assert [one.query_id for one in worst] == [2, "a/b"], "of task 1 nothing went wrong"
    assert [one.text for one in worst] == ["2?", "a/b?"]
    assert [one.worst.key.framework for one in worst] == ["b", "reference"]
    assert [(row.key.framework, row.verdict) for row in worst[1].trials] == [("reference", "Unsure"), ("b", "Error")]
    assert worst[1].worst.reason == "lacks 21"
    assert (worst[0].trials[0].faults, worst_queries(found, 1)) == (1, worst[:1])


def test_a_report_is_the_same_from_postgresql(postgres_url: str) -> None:
    trials = [*basic(), *(trial_of(query, framework="b", model_calls=[model_call(USAGE)]) for query in QUERIES)]
    trials += [trial_of("a/b", 0, "timeout"), trial_of("a/b", 0, "crash", attempt=1)]
    run = run_with(trials, prices={"scripted:gold": read_prices("1,2")})
    read = []
    for location in (None, postgres_url):
        with stored_run(run, trials, location=location) as stored:
            report = read_report(stored, QUERIES)
            read.append((report.frameworks, list(map(shown, report.table))))
    assert read[0] == read[1]


def shown(row: Any) -> Any:
    return row.key, row.status, row.verdict, row.reason, row.failure, row["wall_time"], row.score("api_call_score")


drawn = st.lists(
    st.tuples(
        st.sampled_from(["reference", "b"]),
        st.sampled_from([2, 1, "a/b"]),
        st.integers(0, 2),
        st.sampled_from([None, None, None, "crash", "endpoint"]),
        st.booleans(),
        st.sampled_from(["Solved", "Unsure", "Unsolved", None]),
        st.floats(0, 1) | st.none(),
        st.floats(0, 1e6),
    ),
    min_size=1,
    unique_by=lambda one: one[:3],
)  # fmt: skip


@given(drawn)
@settings(max_examples=examples(0.5))
def test_figures_are_those_of_a_plain_recomputation(rows: Sequence[tuple[Any, ...]]) -> None:
    trials = []
    for framework, query, repeat, kind, first, label, share, wall in rows:
        scores = [] if kind else [verdict(label), score("share", share), number("wall_time", wall)]
        trials.append(trial_of(query, repeat, kind, scores, framework=framework, first=first, wall=wall))
    report = reported(*trials, frameworks=("reference", "b"), query_ids=tuple(QUERIES), repeat=3)
    answered = [one for one in trials if one.status == "answered"]
    labels = {one.key.framework for one in answered}
    apart = labels == {one.key.framework for one in answered if not one.outcome.first}
    left_out = ["wall_time"] if apart else []
    known = {given.name for one in answered for given in one.scores}
    for summary in report.frameworks:
        mine = [one for one in trials if one.key.framework == summary.framework]
        ends = Counter(one.status for one in mine)
        counts = summary.counts
        assert (counts.answered, counts.failed, counts.planned) == (ends["answered"], ends["failed"], 9)
        judged = Counter(one.scores[0].label for one in mine if one.status == "answered")
        solved = (counts.solved, counts.unsure, counts.unsolved)
        assert solved == (judged["Solved"], judged["Unsure"], judged["Unsolved"] + ends["failed"])
        for name in known & set(summary.scores):
            zero = ends["failed"] and name != "wall_time"
            values = defaultdict[Any, list[float]](list)
            for one in mine:
                given = one.score(name)
                if one.status == "failed" and zero:
                    values[one.key.query_id].append(0.0)
                elif given is not None and given.value is not None and not (one.outcome.first and name in left_out):
                    values[one.key.query_id].append(given.value)
            every = [value for each in values.values() for value in each]
            found = summary.scores[name]
            assert found.denominator == len(every)
            assert found.value == (pytest.approx(fmean(every)) if every else None)
            if name == "wall_time":
                assert found.median == (pytest.approx(median(every)) if every else None)
            elif every:
                low, high, _ = wilson_interval(fmean(every), len(values))
                assert found.interval == pytest.approx((low, high))
