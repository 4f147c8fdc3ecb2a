from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from support.run_reports import document, reason, reported

from trialbed.records import ScoreDescription
from trialbed.report import Integrity, IntegrityTally, check_thresholds
from trialbed.views import UNKNOWN
from trialbed_plugins.reporters import JunitReporter, TableReporter

Show = Callable[..., str]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def show(
        documents: Sequence[Mapping[str, Any]], width: int = 80, terminal: bool = False, explained: bool = False
    ) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm-256color")
        stream = Terminal() if terminal else io.StringIO()
        reporter = TableReporter()
        reporter.explained = explained
        reporter.report(reported(*documents), stream)
        # What stands above the table is that of test_conclusion.
        return stream.getvalue().partition("\n\n")[2]

    return show


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def line(text: str, label: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(label))


def test_figures_stand_with_interval_unit_and_denominator(show: Show) -> None:
    text = show([document()])
    assert "0.80 [0.58, 0.92]" in line(text, "solved ")
    assert "123,457" in line(text, "total_tokens")
    assert "3.25" in line(text, "model_turns")
    assert "0.0123" in line(text, "wall_time, s")
    assert "20 of 20" in line(text, "trials answered")
    assert "15/2/3" in line(text, "solved/unsure/unsolved")
    assert "[low, high]: 95% interval." in text


def test_scores_with_the_same_figures_have_one_row_and_a_note(show: Show) -> None:
    def made(name: str, f1: float) -> dict[str, Any]:
        ends = {"low": [0.584, 0.919], "high": [0.8, 1.0]}
        found = document(name, average_api_f1=f1, average_has_finish=0.8)
        found["summary"]["denominators"] |= {"api_f1": 20, "has_finish": 20}
        found["summary"]["intervals"] |= {"api_f1": ends["low" if f1 == 0.8 else "high"], "has_finish": ends["low"]}
        found["summary"]["quality_scores"] = ["sopr_score", "api_f1", "has_finish"]
        return found

    text = show([made("reference", 0.8), made("other", 0.8)])
    assert "The same as solved: api_f1, has_finish." in text
    assert "\napi_f1" not in text
    apart = show([made("reference", 0.8), made("other", 1.0)])
    assert "The same as solved: has_finish." in apart
    assert "1.00 [0.80, 1.00]" in line(apart, "api_f1")
    nearly = show([made("reference", 0.8), made("other", 0.801)])
    assert "0.80" in line(nearly, "api_f1")


def test_the_heading_says_what_was_measured(show: Show) -> None:
    first = show([document()]).splitlines()[0]
    for word in ("mini", "20 queries", "scripted:gold", "judge rule", "selector query", "run r1"):
        assert word in first


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_no_number_is_cut_at_any_width(show: Show, width: int, count: int) -> None:
    documents = [document(f"framework-{place}", average_sopr_score=place / 10) for place in range(count)]
    for each in documents:
        each["metadata"]["framework_version"] = "1.2.3 (with a very long story about its versions)"
        each["summary"]["denominators"]["sopr_score"] = 12345
    text = show(documents, width)
    assert "…" not in text
    for place in range(count):
        assert f"framework-{place}" in text
        assert f"{place / 10:.2f} [0.58, 0.92] n=12345" in text
    table = [row for row in text.splitlines()[1:] if row.strip()]
    assert max(map(len, table)) <= max(width, 52)


def test_a_wide_terminal_shows_frameworks_side_by_side(show: Show) -> None:
    documents = [document(f"f{place}") for place in range(4)]
    assert show(documents, 200).count("\nsolved ") == 1
    assert show(documents, 80).count("\nsolved ") > 1


def test_many_frameworks_are_rows_where_they_do_not_fit_side_by_side(show: Show) -> None:
    names = [f"framework-{place}:controlled" for place in range(12)]
    documents = [document(name) for name in names]
    assert show(documents, 400).count("\nsolved ") == 1
    lines = show(documents, 80).splitlines()
    rows = [row for row in lines if row.startswith("framework-")]
    assert [row.split()[0] for row in rows[:12]] == names
    assert all("20/20" in row for row in rows[:12])
    assert all(len(row) <= 80 for row in rows)


def test_rows_of_frameworks_have_every_figure_and_are_never_torn_apart(show: Show) -> None:
    names = [f"framework-{place}:controlled" for place in range(12)]
    documents = [
        document(name, average_api_call_score=0.25, average_api_f1=0.5, average_framework_time=0.125) for name in names
    ]
    for each in documents:
        each["summary"]["medians"]["framework_time"] = 0.0625
        each["summary"]["intervals"]["api_f1"] = [0.1, 0.9]
    documents[3]["summary"] |= {"failed_count": 2, "answered_count": 18, "failures": [reason("crash", 2)]}
    lines = show(documents, 80).splitlines()
    heads = [place for place, row in enumerate(lines) if row.startswith("──")]
    blocks = [lines[place + 1 : place + 13] for place in heads]
    assert all([row.split()[0] for row in block] == names for block in blocks)
    words = " ".join(" ".join(lines[place - 1].split()) for place in heads)
    for heading in ("answered solved api_call tokens time, s", "failed", "solved/unsure/unsolved", "api_f1"):
        assert heading in words
    rows = " ".join(" ".join(row.split()) for block in blocks for row in block)
    assert "2 crash" in rows
    assert "0.0625" in rows
    assert "0.125" not in rows


def test_differences_fit_a_terminal_of_80_columns(show: Show) -> None:
    finding = {
        "n": 60,
        "difference": -0.25,
        "low": -0.35,
        "high": -0.15,
        "margin": 0.05,
        "p_adjusted": 0.0001,
        "verdict": "worse",
        "queries_needed": None,
        "better": [7],
        "worse": [1, 2, 3],
    }
    few = {**finding, "verdict": "too few", "queries_needed": 1400, "p_adjusted": 0.41}
    native = document("openai-agents:native")
    native["summary"]["comparisons"] = [
        {"kind": "reference", "against": "reference", "scores": {"sopr_score": finding, "api_call_score": few}},
        {
            "kind": "profile",
            "against": "openai-agents:controlled",
            "scores": {"sopr_score": finding},
            "causes": {"an error ended the run (ModelBehaviorError)": [1, 3]},
        },
    ]
    text = show([document(), native, document("openai-agents:controlled")], 80)
    shown = text[text.index("compared with reference") :]
    assert max(map(len, shown.splitlines())) <= 80
    assert "  openai-agents:native   -0.25 [-0.35, -0.15]  4 of 60  <0.001            worse" in shown
    assert "  openai-agents:native   -0.25 [-0.35, -0.15]  4 of 60   0.410  too few (1,400)" in shown
    assert "\nnative compared with controlled\n" in shown
    wide = {**few, "n": 300, "better": list(range(200)), "worse": list(range(200, 300))}
    long = document("openai-agents:controlled")
    long["summary"]["comparisons"] = [{"kind": "reference", "against": "reference", "scores": {"sopr_score": wide}}]
    assert "  openai-agents:controlled  -0.25 [-0.35, -0.15]  0.410  too few (1,400)" in show([document(), long], 80)
    words = " ".join(shown.split())
    assert "openai-agents:native: lower on 2 queries (first: 1): an error ended the run (ModelBehaviorError)." in words


def test_the_reference_stands_in_every_block(show: Show) -> None:
    text = show([document(), *(document(f"f{place}") for place in range(3))], 80)
    heads = [row.split() for row in text.splitlines() if row.endswith(tuple(f"f{place}" for place in range(3)))]
    assert len(heads) > 1
    assert {head[0] for head in heads} == {"reference"}


def test_what_scores_mean_is_said_to_those_who_ask_and_only_of_those_shown(show: Show) -> None:
    short = " ".join(show([document()]).split())
    assert "tasks solved" not in short
    assert short.endswith("What each figure means: bench show r1 --legend")
    text = " ".join(show([document()], explained=True).split())
    assert "95% Wilson interval, clustered" in text
    assert "--legend" not in text
    assert "solved: tasks solved, as the judge finds (unsure counts half)" in text
    assert "api_f1" not in text


def test_failures_and_other_denominators_stand_out(show: Show) -> None:
    failing = document(answered_count=17, failed_count=3, failures=[reason("crash", 2), reason("timeout", 1)])
    failing["summary"]["denominators"]["sopr_score"] = 16
    text = show([failing, document("other")])
    assert "2 crash, 1 timeout" in " ".join(line(text, "failed").split())
    assert "17 of 20" in line(text, "trials answered")
    assert "n=16" in text
    assert "\nfailed" not in show([document()])
    assert "not measured  " not in text


def test_the_reasons_of_failures_stand_below(show: Show) -> None:
    untold = {"score": "sopr_score", **reason("judge", 3, message="judge m: no verdict")}
    failing = document(
        answered_count=16, failed_count=3, not_measured_count=1,
        failures=[reason("agent", 3, message="RuntimeError: no."), reason("endpoint", 1, "not measured")],
        untold_reasons=[untold],
    )  # fmt: skip
    text = " ".join(show([failing]).split())
    assert "3 of 20 trials failed (agent): RuntimeError: no [query 7: bench show r1 reference/7]" in text
    assert "1 of 20 trials were not measured (endpoint): an endpoint" in text.replace("a endpoint", "an endpoint")
    assert "solved could not be determined for 3 trials (judge): judge m: no verdict [query 7: bench" in text
    assert "over the 20 answered trials alone: solved 0.8" in text


def test_an_incomplete_run_of_several_frameworks_shows_no_scores(show: Show) -> None:
    missing = document(status="incomplete", answered_count=18, not_measured_count=2)
    other = document("other", status="incomplete")
    text = show([missing, other])
    assert "INCOMPLETE: 2 trials were not measured" in text
    assert "2 not begun" in line(text, "not measured")
    assert "No scores are shown" in text
    assert "0.80" not in text
    assert "solved" not in text


def test_an_incomplete_run_that_is_allowed_shows_scores_over_common_queries(show: Show) -> None:
    common = {"trials": 9, "averages": {"sopr_score": 0.5}, "denominators": {"sopr_score": 9}, "intervals": {}}
    documents = [document(name, status="incomplete", not_measured_count=1, common=common) for name in ("a", "b")]
    text = show(documents)
    assert line(text, "solved ").split() == ["solved", "0.5", "n=9", "0.5", "n=9"]
    assert "over the 9 queries and repeats that were measured for every framework" in " ".join(text.split())


def test_an_incomplete_run_of_one_framework_has_nothing_to_be_compared_with(show: Show) -> None:
    text = show([document(status="incomplete", not_measured_count=1)])
    assert "INCOMPLETE" in text
    assert "0.80" in text


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
        waited=(75, 3),
        translated=(6, 2),
        refused_requests={"requests": 5, "trials": 2, "limits": {"max_steps": 4, "max_trial_tokens": 1}},
        first_trials={"count": 4, "kept_apart": True, "averages": {"wall_time": 3.5}},
    )
    text = " ".join(show([odd]).split())
    for note in (
        "claims 1,030 tokens where 1,000 were observed; they differ in 3 of 20 trials",
        "4 calls of Apis that no answer of the model asked for; they score nothing",
        "2 trials stopped by the limit: 5 requests past --max-steps or --max-trial-tokens refused",
        "2 answers of the model cut by max_tokens (64), in 1 trial",
        "finish_reason of the model's answers: 18 stop, 2 length",
        "the model wrote 1 call as text instead of sending them, in 1 trial; they count only where the request offered",
        "requests to the model waited to be sent, or to be sent again, for 75 s in 3 trials, which is in wall_time",
        "6 requests in 2 trials put to the model in another dialect, as its endpoint does not speak the framework's",
        "times leave out the first trial of each worker (4), which took 3.5 s on average",
    ):
        assert note in text
    assert "turns where" not in text


def test_who_waited_for_answers_to_be_made_is_said_where_frameworks_differ_in_it(show: Show) -> None:
    first, second = document(), document("other")
    first["summary"]["cached_calls"] = {"calls": 40, "cached": 4}
    second["summary"]["cached_calls"] = {"calls": 40, "cached": 36}
    note = "answered from the cache, without a wait (10% for reference, 90% for other)"
    assert note in " ".join(show([first, second]).split())
    second["summary"]["cached_calls"] = {"calls": 40, "cached": 5}
    assert "answered from the cache" not in " ".join(show([first, second]).split())


def test_times_have_medians_and_the_models_have_their_spread(show: Show) -> None:
    timed = document(average_model_time=2.0)
    timed["summary"]["medians"]["model_time"] = 1.5
    timed["summary"]["quartiles"]["model_time"] = [1.0, 2.25]
    text = show([timed])
    assert line(text, "wall_time").split() == ["wall_time,", "s", "0.0123", "/", "1"]
    assert line(text, "model_time, s").split()[2:] == ["2", "/", "1.5"]
    assert line(text, "model_time, middle").split()[-3:] == ["1", "to", "2.25"]


def test_deviations_and_false_claims_are_noted_by_framework(show: Show) -> None:
    odd = document("odd", deviations=["adds a prompt", "no seed"], claims=None)
    odd["summary"]["claims"] = {**document()["summary"]["claims"], "invented": 2, "unreported": 1}
    text = " ".join(show([document(), odd]).split())
    assert "odd: declared deviations: adds a prompt; no seed" in text
    assert "odd: claims differ from the wire: 2 calls claimed and never made, 1 made and never claimed" in text
    assert "reference: " not in text


def test_the_part_of_recorded_answers_is_said(show: Show) -> None:
    totals = {"model_requests": 40, "total_tokens": 1_000, "recorded_requests": 10, "recorded_tokens": 100}
    some = document("some")
    some["summary"]["totals"] = totals
    text = " ".join(show([document(), some]).split())
    assert "some: recorded answers: 10 of 40 requests (25%), 100 of 1,000 tokens (10%); the model's own times" in text
    assert "reference: recorded" not in text


def test_trials_that_were_lost_with_their_nodes_are_counted() -> None:
    report = reported(document())
    (summary,) = report.frameworks
    run = report.run.model_copy(update={"lost": {"west": 2, "east": 1}})
    for brief in (False, True):
        stream, reporter = io.StringIO(), TableReporter()
        reporter.brief = brief
        for one in (report, replace(report, run=run, frameworks=(replace(summary, run=run),))):
            assert "were lost" not in stream.getvalue()
            reporter.report(one, stream)
        text = " ".join(stream.getvalue().split())
        assert "3 trials were lost with their nodes, and ran again: east 1, west 2." in text


def test_what_was_not_measured_is_a_dash(show: Show) -> None:
    nothing = document(average_sopr_score=None, intervals={}, framework_version=None)
    nothing["summary"]["denominators"]["sopr_score"] = 0
    assert line(show([nothing]), "solved ").split() == ["solved", "-"]


def test_colour_is_for_terminals_that_want_it(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [document(failed_count=1, failures=[reason("crash", 1)])]
    assert "\x1b[" not in show(failing)
    assert "\x1b[1;31m" in show(failing, terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in show(failing, terminal=True)


def test_names_cannot_steer_the_terminal(show: Show) -> None:
    text = show([document("a\x1b[2Jb", deviations=["[bold]x[/bold]\x07"])])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]x[/bold]" in text


def test_a_stream_that_knows_ascii_only_is_served() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    TableReporter().report(reported(document()), stream)
    stream.flush()


def test_repeated_trials_are_said_below_the_table(show: Show) -> None:
    once = " ".join(show([document(repeated={"trials": 1, "replaced": 0})], width=200).split())
    assert "1 failed trial repeated: the first attempt counts" in once
    assert "but in" not in once
    later = " ".join(show([document(repeated={"trials": 3, "replaced": 2})], width=200).split())
    assert "3 failed trials repeated: the first attempt counts, but in 2 a later one, as the adapter" in later
    assert "repeated" not in show([document()])


def test_units_are_those_that_scorers_declare() -> None:
    timed = document(average_boot_time=152.0, average_idle_time=3.0)
    timed["summary"]["medians"] |= {"boot_time": 140.0, "idle_time": 2.0}
    boot = ScoreDescription("boot_time", unit="ms", meaning="until it was ready", bounded=False)
    report = reported(timed)
    (summary,) = report.frameworks
    scores = {**summary.scores, "boot_time": replace(summary.scores["boot_time"], description=boot)}
    stream, reporter = io.StringIO(), TableReporter()
    reporter.explained = True
    reporter.report(
        replace(report, frameworks=(replace(summary, scores=scores),), described={"boot_time": boot}), stream
    )
    text = stream.getvalue()
    assert line(text, "boot_time").split() == ["boot_time,", "ms", "152", "/", "140"]
    assert line(text, "idle_time").split() == ["idle_time", "3"]
    assert "boot_time: until it was ready." in text


def test_a_row_that_is_void_has_no_score_and_says_why(show: Show) -> None:
    report = reported(document("reference"), document("cheat"))
    integrity = Integrity(20, {}, "strong answered in place of the run's model")
    report = replace(report, frameworks=(report.frameworks[0], replace(report.frameworks[1], integrity=integrity)))
    stream = io.StringIO()
    TableReporter().report(report, stream)
    text = " ".join(stream.getvalue().split())
    assert "cheat: VOID: strong answered in place of the run's model; no score is shown" in text
    assert "cheat has no result that counts, as its row is void: strong answered in place" in text
    assert "cheat: over the" not in text
    row = line(stream.getvalue(), "solved")
    assert row.split()[-1] == UNKNOWN
    stream = io.StringIO()
    JunitReporter().report(report, stream)
    cheat = next(suite for suite in Xml.fromstring(stream.getvalue()) if suite.get("name") == "cheat")
    assert [(case.get("name"), case[0].get("type")) for case in cheat.iter("testcase")] == [("row is void", "void")]
    (own, void) = (check.problem for check in check_thresholds(report.frameworks, {"sopr_score": 0.0}))
    assert (own, void) == (
        "",
        "solved is not shown, as the row is void: strong answered in place of the run's model",
    )


def test_findings_of_integrity_are_noted_by_framework() -> None:
    found = {"required_choice": IntegrityTally(9, 3, ()), "added_tool": IntegrityTally(3, 3, ("final_answer",))}
    report = reported(document("smolagents"))
    report = replace(report, frameworks=(replace(report.frameworks[0], integrity=Integrity(3, found)),))
    stream = io.StringIO()
    TableReporter().report(report, stream)
    expected = (
        "integrity: 9 requests demand a call, in 3 trials; "
        "3 tools on offer that are not the trial's, in 3 trials (final_answer)"
    )
    assert expected in " ".join(stream.getvalue().split())
