"""The tables of a run with their notes, and the screen with which a run ends."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from support.run_reports import document, reason, reported

from trialbed.attribution import USED
from trialbed.records import STAGES, RunCell
from trialbed.report import Integrity, Report, ScoreMean, check_thresholds
from trialbed.views import UNKNOWN
from trialbed_plugins.reporters import JunitReporter

Show = Callable[..., str]


def cells(text: str, table: str, label: str = "reference") -> str:
    """The cells of a row, of every block of a table."""
    blocks = [block.splitlines() for block in text.split("\n\n") if f"\n{table} " in f"\n{block}"]
    rows = [line.removeprefix(label) for block in blocks for line in block if line.startswith(f"{label} ")]
    return " ".join(" ".join(rows).split())


def heading(text: str, table: str) -> str:
    """The headings of a table that are one line."""
    return " ".join(next(line for line in text.splitlines() if line.startswith(table)).split())


def test_figures_have_intervals_units_and_denominators(show: Show) -> None:
    timed = document(average_model_time=2.0)
    timed["summary"]["medians"]["model_time"] = 1.5
    timed["summary"]["quartiles"]["model_time"] = [1.0, 2.25]
    text = show([timed], 200)
    first = text.split("\n\n")[1]
    for word in ("mini", "20 tasks", "scripted:gold", "judge rule", "selector query", "run r1"):
        assert word in first
    assert heading(text, "trials") == "trials version without failure solved/unsure/unsolved"
    assert cells(text, "trials") == "1.2.3 20 of 20 15/2/3"
    assert cells(text, "scores") == "0.80 [0.58, 0.92]"
    assert heading(text, "per trial") == (
        "per trial tokens model turns time, s model time, s model time, middle half, s"
    )
    assert cells(text, "per trial") == "123,457 / 1 3.25 0.0123 / 1 2 / 1.5 1 to 2.25"
    assert "[low, high]: 95 % interval." in text


def test_failures_and_other_denominators_stand_out(show: Show) -> None:
    failing = document(answered_count=17, failed_count=3, failures=[reason("crash", 2), reason("timeout", 1)])
    failing["summary"]["denominators"]["sopr_score"] = 16
    text = show([failing, document("other")], 200)
    assert heading(text, "trials") == "trials version without failure failed solved/unsure/unsolved"
    assert cells(text, "trials").startswith("1.2.3 17 of 20 2 crash, 1 timeout")
    assert cells(text, "scores") == "0.80 [0.58, 0.92] n=16"


def test_scores_with_the_same_figures_have_one_column_and_a_note(show: Show) -> None:
    def made(name: str, f1: float) -> dict[str, Any]:
        ends = {0.8: [0.584, 0.919], 1.0: [0.8, 1.0]}
        found = document(name, average_api_f1=f1, average_has_finish=0.8)
        found["summary"]["denominators"] |= {"api_f1": 20, "has_finish": 20}
        found["summary"]["intervals"] |= {"api_f1": ends.get(f1, ends[0.8]), "has_finish": ends[0.8]}
        found["summary"]["quality_scores"] = ["sopr_score", "api_f1", "has_finish"]
        return found

    text = show([made("reference", 0.8), made("other", 0.8)])
    assert "The same as solved: tool F1, finished." in text
    assert heading(text, "scores") == "scores solved"
    apart = show([made("reference", 0.8), made("other", 1.0)])
    assert "The same as solved: finished." in apart
    assert cells(apart, "scores", "other") == "0.80 [0.58, 0.92] 1.00 [0.80, 1.00]"
    assert heading(show([made("reference", 0.8), made("other", 0.801)]), "scores") == "scores solved tool F1"


def test_incomplete_runs_show_only_comparable_scores(show: Show) -> None:
    missing = document(status="incomplete", answered_count=18, not_measured_count=2)
    text = show([missing, document("other", status="incomplete")])
    assert heading(text, "trials") == "trials version without failure not measured"
    assert "2 not begun" in cells(text, "trials")
    assert "0.80" not in text
    assert "\nscores" not in text
    alone = show([missing])
    assert "INCOMPLETE" in alone
    assert cells(alone, "scores").startswith("0.80")


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_no_number_is_cut_at_any_width(show: Show, width: int, count: int) -> None:
    documents = [document(f"framework-{place}", average_sopr_score=place / 10) for place in range(count)]
    for each in documents:
        each["metadata"]["framework_version"] = "1.2.3 (with a very long story about its versions)"
        each["summary"]["denominators"]["sopr_score"] = 12345
    text = show(documents, width)
    assert "…" not in text
    for place in range(count):
        assert f"{place / 10:.2f} [0.58, 0.92] n=12345" in text
    rows = [line for line in text.splitlines() if line.startswith("framework-") and ":" not in line]
    assert max(map(len, rows)) <= max(width, 70)


def test_colour_is_for_terminals_that_want_it_and_names_cannot_steer_them(show: Show) -> None:
    text = show([document("a\x1b[2Jb", deviations=["[bold]x[/bold]\x07"])])
    assert not {"\x1b", "\x07"} & set(text)
    assert "[bold]x[/bold]" in text


def with_lost(name: str, used: int, **lost: int) -> dict[str, Any]:
    found = document(name)
    counts = {**dict.fromkeys(STAGES, 0), **{key.replace("_", " "): count for key, count in lost.items()}, USED: used}
    found["summary"]["attribution"] = {"counts": counts}
    call = {"api": ["Atlas", "City"], "arguments": {}, "lost": "wrong arguments", "reason": "missing: name"}
    found["results"] = [{"query_id": 7, "gold_calls": [call]}]
    return found


def losses(text: str) -> str:
    return text[text.index("where calls were lost") :]


def test_losses_go_from_all_expected_calls_to_those_that_were_used(show: Show) -> None:
    text = losses(
        show([with_lost("reference", 60), with_lost("langgraph:native", 45, not_called=6, wrong_arguments=9)])
    )
    lines = text.splitlines()
    assert " ".join(lines[0].split()) == "where calls were lost expected calls not called wrong arguments used"
    assert " ".join(lines[2].split()) == "reference 60 0 0% 0 0% 60 100%"
    assert " ".join(lines[3].split()) == "langgraph:native 60 6 10% 9 15% 45 75%"
    assert max(map(len, lines)) <= 80
    words = " ".join(text.split())
    assert "langgraph:native: wrong arguments, first in task 7: Atlas: City (missing: name)." in words
    thirds = losses(show([with_lost("a", 1, not_called=1, wrong_arguments=1), with_lost("b", 0)]))
    assert " ".join(thirds.splitlines()[2].split()) == "a 3 1 34% 1 33% 1 33%"
    assert " ".join(thirds.splitlines()[3].split()) == "b - - - -"


def test_differences_fit_a_terminal_of_80_columns(show: Show) -> None:
    finding = {
        "n": 60,
        "difference": -0.25,
        "low": -0.35,
        "high": -0.15,
        "margin": 0.05,
        "p_adjusted": 0.0001,
        "verdict": "worse",
        "better": [7],
        "worse": [1, 2, 3],
    }
    few = {**finding, "verdict": "too few", "p_adjusted": 0.41}
    native = document("openai-agents:native")
    native["summary"]["comparisons"] = [
        {"kind": "reference", "against": "reference", "scores": {"sopr_score": finding, "api_call_score": few}},
        {"kind": "profile", "against": "openai-agents:controlled", "scores": {"sopr_score": finding}},
    ]
    text = show([document(), native, document("openai-agents:controlled")], 80)
    shown = text[text.index("compared with reference") :]
    assert max(map(len, shown.splitlines())) <= 80
    assert "  openai-agents:native   -0.25 [-0.35, -0.15]  4 of 60  <0.001         worse" in shown
    assert "  openai-agents:native   -0.25 [-0.35, -0.15]  4 of 60   0.410  too few (70)" in shown
    assert "\ndefaults compared with conductor only\n" in shown
    wide = {**few, "n": 300, "better": list(range(200)), "worse": list(range(200, 300))}
    long = document("openai-agents:controlled")
    long["summary"]["comparisons"] = [{"kind": "reference", "against": "reference", "scores": {"sopr_score": wide}}]
    assert "  openai-agents:controlled  -0.25 [-0.35, -0.15]  0.410  too few (500)" in show([document(), long], 80)


def test_what_scores_mean_is_said_to_those_who_ask_and_only_of_those_shown(show: Show) -> None:
    short = " ".join(show([document()]).split())
    assert "tasks solved" not in short
    assert short.endswith("What each figure means: bench show r1 --legend")
    text = " ".join(show([document()], explained=True).split())
    assert "95 % Wilson interval, clustered" in text
    assert "--legend" not in text
    assert "solved: tasks solved according to the judge (unsure counts half)" in text
    assert "tool F1" not in text


def test_the_reasons_of_failures_stand_below(show: Show) -> None:
    untold = {"score": "sopr_score", **reason("judge", 3, message="judge m: no verdict")}
    failing = document(
        answered_count=16, failed_count=3, not_measured_count=1,
        failures=[reason("agent", 3, message="RuntimeError: no."), reason("endpoint", 1, "not measured")],
        untold_reasons=[untold],
    )  # fmt: skip
    text = " ".join(show([failing]).split())
    assert "3 of 20 trials failed (agent): RuntimeError: no [task 7: bench show r1 reference/7]" in text
    assert "1 of 20 trials were not measured (endpoint): an endpoint" in text.replace("a endpoint", "an endpoint")
    assert "solved could not be determined for 3 trials (judge): judge m: no verdict [task 7: bench" in text
    assert "over the 16 trials without failure alone: solved 0.8" in text


def test_success_over_repeats_is_said_for_each_k(show: Show) -> None:
    def shown(any_of: dict[int, ScoreMean], each_of: dict[int, ScoreMean]) -> str:
        report = reported(document())
        (only,) = report.frameworks
        success = {"any": any_of, "each": each_of}
        return " ".join(show(replace(report, frameworks=(replace(only, success=success),)), 200).split())

    none, half = ScoreMean(0.0, (0.0, 0.39), 6), ScoreMean(0.5, (0.2, 0.8), 6)
    apart = shown({1: none, 2: half}, {1: none, 2: none})
    assert "solved in any of k trials of a task: pass@1 0.00 [0.00, 0.39], pass@2 0.50 [0.20, 0.80]" in apart
    assert "solved in each of k trials of a task: pass^1 0.00 [0.00, 0.39], pass^2 0.00 [0.00, 0.39]" in apart
    assert "k trials" not in shown({}, {})


def test_the_wires_facts_are_noted(show: Show) -> None:
    claims = {
        "invented": 0, "unreported": 0, "unasked": 4,
        "tokens": {"claimed": 1030, "observed": 1000, "trials": 20, "differ": 3},
        "turns": {"claimed": 10, "observed": 10, "trials": 20, "differ": 0},
    }  # fmt: skip
    odd = document(
        claims=claims,
        max_tokens=64,
        finish_reasons={"stop": 18, "length": 2},
        truncated={"answers": 2, "trials": 1},
        text_calls={"calls": 1, "trials": 1},
        waited={"seconds": 75, "trials": 3},
        translated_requests={"requests": 6, "trials": 2},
        refused_requests={"requests": 5, "trials": 2, "limits": {"max_steps": 4, "max_trial_tokens": 1}},
        first_trials={"count": 4, "kept_apart": True, "averages": {"wall_time": 3.5}},
    )
    text = " ".join(show([odd]).split())
    for note in (
        "claims 1,030 tokens where 1,000 were observed; they differ in 3 of 20 trials",
        "4 calls of tools that no answer of the model asked for; they score nothing",
        "2 trials stopped by the limit: 5 requests past --max-steps or --max-trial-tokens refused",
        "2 answers of the model cut by max_tokens (64), in 1 trial",
        "finish_reason of the model's answers: 18 stop, 2 length",
        "the model wrote 1 call as text instead of sending them, in 1 trial; they count only if the request offered",
        "requests to the model waited to be sent, or to be sent again, for 75 s in 3 trials, which is in wall_time",
        "6 requests in 2 trials put to the model in another dialect, as its endpoint does not speak the framework's",
        "times leave out the first trial of each worker (4), which took 3.5 s on average",
    ):
        assert note in text
    assert "turns where" not in text


@pytest.mark.parametrize("brief", [False, True])
def test_trials_that_were_lost_with_their_nodes_are_counted(show: Show, brief: bool) -> None:
    report = reported(document())
    assert "were lost" not in show(report, brief=brief)
    (summary,) = report.frameworks
    run = report.run.model_copy(update={"lost": {"west": 2, "east": 1}})
    text = " ".join(show(replace(report, run=run, frameworks=(replace(summary, run=run),)), brief=brief).split())
    assert "3 trials were lost with their nodes, and ran again: east 1, west 2." in text


def test_a_row_that_is_void_has_no_score_and_says_why(show: Show) -> None:
    report = reported(document("reference"), document("cheat"))
    integrity = Integrity(20, {}, "strong answered in place of the run's model")
    report = replace(report, frameworks=(report.frameworks[0], replace(report.frameworks[1], integrity=integrity)))
    shown = show(report)
    text = " ".join(shown.split())
    assert "cheat: VOID: strong answered in place of the run's model; no score is shown" in text
    assert "cheat has no result that counts, as its row is void: strong answered in place" in text
    assert "cheat: over the" not in text
    rows = [line.split() for line in shown.splitlines() if line.startswith("cheat  ")]
    assert rows[0] == ["cheat", "void", UNKNOWN, UNKNOWN]
    stream = io.StringIO()
    JunitReporter().report(report, stream)
    cheat = next(suite for suite in Xml.fromstring(stream.getvalue()) if suite.get("name") == "cheat")
    assert [(case.get("name"), case[0].get("type")) for case in cheat.iter("testcase")] == [("row is void", "void")]
    (own, void) = (check.problem for check in check_thresholds(report.frameworks, {"sopr_score": 0.0}))
    assert own == ""
    assert void == "solved is not shown, as the row is void: strong answered in place of the run's model"


FRAMEWORKS = (
    "reference",
    "langgraph:native",
    "openai-agents:controlled",
    "agent-framework:controlled",
    "pydantic-ai:controlled",
)
MODELS = ("scripted:gold", "local:qwen2.5-coder-1.5b", "gpt-4o-mini")
WORSE = {
    "n": 60,
    "difference": -0.25,
    "low": -0.35,
    "high": -0.15,
    "margin": 0.05,
    "p_adjusted": 0.0001,
    "verdict": "worse",
    "better": [7],
    "worse": [1, 2, 3],
}


def with_calls(found: dict[str, Any], used: int, **lost: int) -> dict[str, Any]:
    """A document with this many expected calls that were used, and that were lost at each stage."""
    counts = {**dict.fromkeys(STAGES, 0), **{key.replace("_", " "): count for key, count in lost.items()}, USED: used}
    found["summary"]["attribution"] = {"counts": counts}
    return found


def crossed() -> Report:
    """Five frameworks with three models."""
    labels = {f"{name}@{model}": (name, model) for model in MODELS for name in FRAMEWORKS}
    documents = [with_calls(document(label, average_cost=0.0123), 60, not_called=3) for label in labels]
    documents[1]["summary"]["comparisons"] = [
        {"kind": "reference", "against": "reference@scripted:gold", "scores": {"sopr_score": WORSE}}
    ]
    report = reported(*documents)
    cells = tuple(RunCell(label=label, framework=name, model=model) for label, (name, model) in labels.items())
    run = report.run.model_copy(update={"config": report.run.config.model_copy(update={"cells": cells})})
    return replace(report, run=run, frameworks=tuple(replace(summary, run=run) for summary in report.frameworks))


def row(text: str, label: str) -> list[str]:
    """The words of a row of the table, which stands below the sentence."""
    table = text.partition("\n\n")[2]
    return next(line.split() for line in table.splitlines() if line.split()[:1] == [label])


def test_each_setup_is_one_line_below_its_model_within_80_columns(show: Show) -> None:
    lines = show(crossed(), brief=True).splitlines()
    assert max(map(len, lines)) <= 80
    head = next(place for place, line in enumerate(lines) if line.startswith("mini "))
    table = lines[head + 1 : head + 1 + len(MODELS) * (1 + len(FRAMEWORKS))]
    assert [line.split()[0] for line in table] == [name for model in MODELS for name in (model, *FRAMEWORKS)]
    assert all("80 % [58, 92]" in line and "$0.0123" in line for line in table if line.startswith(" "))


def test_a_row_has_success_calls_tokens_time_cost_and_verdict(show: Show) -> None:
    worse = with_calls(document("other", average_cost=0.0012), 45, not_called=6, wrong_arguments=9, api_failed=5)
    worse["summary"]["comparisons"] = [{"kind": "reference", "against": "reference", "scores": {"sopr_score": WORSE}}]
    text = show([with_calls(document(average_cost=0.0001), 60), worse], brief=True)
    assert text.partition("\n\n")[0].endswith("Model: scripted:gold. Medians: tokens, time, cost.")
    assert " ".join(row(text, "mini")) == "mini solved calls right tokens time cost verdict"
    assert " ".join(row(text, "other")) == "other 80 % [58, 92] 77 % 1 1.00 s $0.0012 worse"
    assert "\n\nMost losses: other, 45 of its 65 expected calls were used, and 9 of the other 20\nhad wrong" in text
    assert "[58, 92] n=19" in show([document(denominators={"sopr_score": 19})], brief=True)


def test_failed_trials_are_counted_and_the_most_frequent_failure_is_told(show: Show) -> None:
    failures = [reason("crash", 2, message="Segmentation fault."), reason("timeout", 1)]
    failing = with_calls(document("other", answered_count=17, failed_count=3, failures=failures), 0, trial_failed=60)
    text = show([with_calls(document(), 60), failing], 100, brief=True)
    assert " ".join(row(text, "other")) == "other 80 % [58, 92] 0 % 1 1.00 s 3"
    assert text.endswith("\nMost losses: other, 3 of 20 trials failed, 2 of them (crash): Segmentation fault.\n")
    assert "timeout" not in text
    lost = [with_calls(document("a"), 45, not_called=15), document("b")]
    assert "Most losses: a, 45 of its 60 expected calls were used" in show(lost, 100, brief=True)


def test_a_void_row_has_no_figure_and_says_why(show: Show) -> None:
    report = reported(with_calls(document(), 60), with_calls(document("cheat"), 60))
    integrity = Integrity(20, {}, "strong answered in place of the run's model")
    report = replace(report, frameworks=(report.frameworks[0], replace(report.frameworks[1], integrity=integrity)))
    text = show(report, brief=True)
    assert row(text, "cheat") == ["cheat", "void", "-", "-", "-"]
    assert "cheat: VOID: strong answered in place of the run's model; no score is shown" in " ".join(text.split())


def test_an_incomplete_run_of_several_setups_shows_only_what_is_missing(show: Show) -> None:
    missing = with_calls(document(status="incomplete", answered_count=18, not_measured_count=2), 54)
    text = show([missing, with_calls(document("other", status="incomplete"), 60)], brief=True)
    assert row(text, "mini") == ["mini", "not", "measured"]
    assert row(text, "reference") == ["reference", "2"]
    assert "%" not in text
    assert "Medians" not in text
    assert "INCOMPLETE: 2 trials were not measured; the same command runs what is missing." in text
    assert "No scores are shown" in text
