"""Reports of runs with known figures, written down as documents have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from support.memory_runs import report_of
from support.trials import cells_of, run_config, trial_of, verdict

from trialbed.plugins import described_scores
from trialbed.preparation import config_digest
from trialbed.records import (
    ApiRef,
    AttributedCall,
    Deviation,
    FrameworkInfo,
    GoldCall,
    Run,
    TrialResult,
)
from trialbed.report import (
    Counts,
    Reason,
    Report,
    ScoreMean,
    ScoreSummary,
    Summary,
    Times,
    Tokens,
)
from trialbed.report.comparison import FrameworkComparison, ScoreFinding
from trialbed.statistics import Interval, Pilot
from trialbed.store import new_run

DESCRIBED = described_scores()[0]


def document(name: str = "reference", **more: Any) -> dict[str, Any]:
    summary = {
        "total_trials": 20,
        "answered_count": 20,
        "failed_count": 0,
        "not_measured_count": 0,
        "error_count": 0,
        "errors": {},
        "failures": [],
        "solved_count": 15,
        "unsure_count": 2,
        "unsolved_count": 3,
        "average_sopr_score": 0.8,
        "average_total_tokens": 123456.7,
        "average_model_turns": 3.25,
        "average_wall_time": 0.01234,
        "average_gold_answer_time": None,
        "average_system_answer_time": 1.0,
        "average_evaluation_time": 1.0,
        "medians": {"total_tokens": 1.0, "model_turns": 3.0, "wall_time": 1.0},
        "denominators": {"sopr_score": 20, "total_tokens": 20, "model_turns": 20, "wall_time": 20, "solved": 20},
        "intervals": {"sopr_score": [0.584, 0.919]},
        "interval_level": 0.95,
        "untold_scores": {},
        "untold_reasons": [],
        "quality_scores": ["sopr_score"],
        "over_answered": {"trials": 20, "averages": {"sopr_score": 0.8}, "denominators": {}, "intervals": {}},
        "common": None,
        "quartiles": {"wall_time": [0.5, 1.5]},
        "first_trials": {"count": 0, "kept_apart": False, "averages": {}},
        "claims": {
            "invented": 0,
            "unreported": 0,
            "unasked": 0,
            "tokens": {"claimed": 10, "observed": 10, "trials": 20, "differ": 0},
            "turns": {"claimed": 10, "observed": 10, "trials": 20, "differ": 0},
        },
        "finish_reasons": {"stop": 20},
        "truncated": {"answers": 0, "trials": 0},
        "text_calls": {"calls": 0, "trials": 0},
        "refused_requests": {"requests": 0, "trials": 0},
        "totals": {"model_requests": 40},
        "repeated": {"trials": 0, "replaced": 0},
    }
    metadata = {
        "agent_name": name,
        "framework_version": "1.2.3",
        "test_set": "mini",
        "num_queries": 20,
        "repeat": 1,
        "model": "scripted:gold",
        "evaluator_model": "rule",
        "selector": "query",
        "seed": 0,
        "run_id": "r1",
        "status": "finished",
        "max_tokens": None,
        "deviations": [],
    }
    results = more.pop("results", [])
    return {
        "metadata": metadata | {key: value for key, value in more.items() if key in metadata},
        "summary": summary | {key: value for key, value in more.items() if key not in metadata},
        "results": results,
    }


def reason(kind: str, count: int, status: str = "failed", **more: Any) -> dict[str, Any]:
    """Why trials ended without an answer, as a summary has it."""
    found = {"kind": kind, "status": status, "count": count, "message": f"a {kind}", "query_id": 7}
    return {**found, "repeat": 0, "entry": 6, **more}


def reported(*documents: Mapping[str, Any]) -> Report:
    """The report of a run that has these figures, and the trials of their entries."""
    results = [
        _trial(one["metadata"]["agent_name"], {"query_id": number, **entry})
        for one in documents
        for number, entry in enumerate(one.get("results", ()), 1)
    ]
    labels = tuple(one["metadata"]["agent_name"] for one in documents)
    run = run_of(documents[0]["metadata"], labels)
    queries = dict.fromkeys([*run.config.query_ids, *(result.key.query_id for result in results)])
    every = {"query_ids": tuple(queries)}
    found = report_of(run.model_copy(update={"config": run.config.model_copy(update=every)}), {}, results)
    summaries = tuple(_with_figures(*pair, labels) for pair in zip(found.frameworks, documents, strict=True))
    return replace(found, run=run, frameworks=summaries, described=DESCRIBED)


def summary(document: Mapping[str, Any]) -> Summary:
    """The summary of a framework that has these figures."""
    return reported(document).frameworks[0]


def _with_figures(measured: Summary, document: Mapping[str, Any], labels: tuple[str, ...]) -> Summary:
    about, found = document["metadata"], document["summary"]
    name, version = about["agent_name"], about.get("framework_version")
    deviations = tuple(Deviation(text=text) for text in about.get("deviations", ()))
    info = FrameworkInfo(
        name=name, version=version or "", adapter="a", adapter_version="1", python="3", deviations=deviations
    )
    claims = found.get("claims") or {"invented": 0, "unreported": 0, "unasked": 0}
    first = found.get("first_trials", {"count": 0, "kept_apart": False, "averages": {}})
    counts = found.get("attribution", {}).get("counts")
    return replace(
        measured,
        run=run_of(about, labels),
        info=info if version or deviations else None,
        counts=_counts(found),
        scores=_scores(found),
        over_answered=_figures(found.get("over_answered") or {}),
        common=_figures(found["common"]) if found.get("common") else None,
        common_trials=(found.get("common") or {}).get("trials", 0),
        failures=tuple(Reason(**{"alike": one["count"], **one}) for one in found.get("failures", ())),
        untold=tuple(Reason(**{"alike": one["count"], **one}) for one in found.get("untold_reasons", ())),
        tokens=_tokens(found.get("totals", {})),
        claims={**dict.fromkeys(("tokens", "turns"), NO_CLAIMS), **claims},
        wire=_wire(found),
        times=Times(None, 0, None, 0, None, first["count"], first["kept_apart"], first["averages"]),
        success={name: {int(k): _mean(one) for k, one in found.get(key, {}).items()} for name, key in SUCCESS.items()},
        repeated=found.get("repeated", {"trials": 0, "replaced": 0}),
        attribution=measured.attribution if counts is None else replace(measured.attribution, counts=counts),
        comparisons=tuple(map(_comparison, found.get("comparisons", ()))),
        ranks=None,
        extra={},
    )


NO_CLAIMS = {"claimed": 0, "observed": 0, "trials": 0, "differ": 0}
SUCCESS = {"any": "pass_at_k", "each": "pass_hat_k"}
TALLIES = {
    "truncated": "answers",
    "text_calls": "calls",
    "refused_requests": "requests",
    "lost_calls": "calls",
    "filled_arguments": "arguments",
    "translated_requests": "requests",
    "waited": "seconds",
}


def run_of(about: Mapping[str, Any], labels: tuple[str, ...]) -> Run:
    """The run that has this metadata."""
    given = {
        "test_set": about.get("test_set"),
        "judge": about.get("evaluator_model"),
        "repeat": about.get("repeat"),
        "max_tokens": about.get("max_tokens"),
        "query_ids": tuple(range(about["num_queries"])) if "num_queries" in about else None,
    }
    own = {name: about[name] for name in ("model", "max_tools") if about.get(name) is not None}
    cells = (cell.model_copy(update={"framework": cell.label.partition("@")[0]}) for cell in cells_of(*labels, **own))
    config = run_config(*cells, **{key: value for key, value in given.items() if value is not None})
    run = new_run(config, config_digest(config))
    judge = about.get("judge") or {}
    update = {"run_id": about.get("run_id", "r1"), "status": about.get("status", "finished"), "judge": judge}
    return run.model_copy(update=update)


def _counts(found: Mapping[str, Any]) -> Counts:
    answered = found.get("answered_count", 0)
    return Counts(
        queries=0,
        trials=found.get("total_trials", 0),
        answered=answered,
        failed=found.get("failed_count", 0),
        not_measured=found.get("not_measured_count", 0),
        solved=found.get("solved_count", 0),
        unsure=found.get("unsure_count", 0),
        unsolved=found.get("unsolved_count", 0),
        finished=0,
        finish_known=0,
        failures=found.get("errors", {}),
    )


def _scores(found: Mapping[str, Any]) -> dict[str, ScoreSummary]:
    names = [key.removeprefix("average_") for key in found if key.startswith("average_")]
    hidden = ("gold_answer_time", "system_answer_time", "evaluation_time")
    answered = found.get("answered_count", 0)
    return {
        name: ScoreSummary(
            found[f"average_{name}"],
            found.get("intervals", {}).get(name),
            found.get("denominators", {}).get(name, answered),
            name=name,
            bounded=name in found.get("intervals", {}),
            quality=name in found.get("quality_scores", ()),
            median=found.get("medians", {}).get(name),
            quartiles=found.get("quartiles", {}).get(name),
            untold=found.get("untold_scores", {}).get(name, 0),
            description=DESCRIBED.get(name),
        )
        for name in names
        if name not in hidden
    }


def _figures(found: Mapping[str, Any]) -> dict[str, ScoreSummary]:
    intervals, counts = found.get("intervals", {}), found.get("denominators", {})
    return {
        name: ScoreSummary(value, intervals.get(name), counts.get(name, 0), name=name, bounded=True, quality=False)
        for name, value in found.get("averages", {}).items()
    }


def _mean(found: Mapping[str, Any]) -> ScoreMean:
    return ScoreMean(found["value"], None, 1)


def _wire(found: Mapping[str, Any]) -> dict[str, Any]:
    wire = {name: {unit: 0, "trials": 0, "limits": {}, "reasons": {}} for name, unit in TALLIES.items()}
    usual = {"finish_reasons": {}, "cached_calls": {"calls": 0, "cached": 0}, **wire}
    return {name: {**own, **found.get(name, {})} for name, own in usual.items()}


def _comparison(found: Mapping[str, Any]) -> FrameworkComparison:
    scores = {score: finding(score, one) for score, one in found["scores"].items()}
    return FrameworkComparison(found["kind"], found["against"], scores)


def finding(score: str, found: Mapping[str, Any]) -> ScoreFinding:
    """A finding with these figures."""
    interval = Interval(found["low"], found["high"], 0.95)
    return ScoreFinding(
        baseline="",
        candidate="",
        score=score,
        n=found["n"],
        baseline_mean=0.0,
        candidate_mean=0.0,
        difference=found["difference"],
        interval=interval,
        p=found["p_adjusted"],
        p_adjusted=found["p_adjusted"],
        margin=found["margin"],
        better=tuple(found["better"]),
        worse=tuple(found["worse"]),
        pilot=Pilot.of({found["difference"]: found["n"]}),
        verdict=found["verdict"],
    )


def _trial(framework: str, entry: Mapping[str, Any]) -> TrialResult:
    """A trial that ended as an entry says."""
    error = entry.get("error") or {}
    label = entry.get("scores", {}).get("answer_status", "Solved")
    judged = verdict(None if label == "Error" else label, entry.get("evaluation", {}).get("reason", ""))
    return trial_of(
        entry["query_id"],
        0,
        error.get("kind"),
        () if error else [judged],
        framework=framework,
        message=error.get("message", ""),
        wall=entry.get("timing", {}).get("system_answer_time", 0.0),
        gold_calls=tuple(map(_gold_call, entry["gold_calls"])) if "gold_calls" in entry else None,
    )


def _gold_call(call: Mapping[str, Any]) -> AttributedCall:
    tool, api = call["api"]
    gold = GoldCall(api=ApiRef(category="c", tool_name=tool, api_name=api), arguments=call["arguments"])
    return AttributedCall(gold=gold, lost=call["lost"], reason=call["reason"])


def _tokens(totals: dict[str, int]) -> Tokens:
    names = ("prompt_tokens", "completion_tokens", "model_requests", "unreported_requests")
    return Tokens(*(totals.get(name, 0) for name in (*names, "recorded_requests", "recorded_tokens")))
