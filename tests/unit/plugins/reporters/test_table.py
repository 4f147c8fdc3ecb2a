"""The table of a run: its figures, rows and columns."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.run_reports import document, reason, reported

from trialbed.records import ScoreDescription
from trialbed_plugins.reporters import TableReporter

Show = Callable[..., str]


def line(text: str, label: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(label))


def test_figures_stand_with_interval_unit_and_denominator(show: Show) -> None:
    text = show([document()])
    assert "0.80 [0.58, 0.92]" in line(text, "solved ")
    assert "123,457" in line(text, "total_tokens")
    assert "3.25" in line(text, "model_turns")
    assert "0.0123" in line(text, "wall_time, s")
    assert "20 of 20" in line(text, "trials without failure")
    assert "15/2/3" in line(text, "solved/unsure/unsolved")
    assert "[low, high]: 95 % interval." in text


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
    for heading in ("without failure solved api_call tokens time, s", "failed", "solved/unsure/unsolved", "api_f1"):
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
        "better": [7],
        "worse": [1, 2, 3],
    }
    few = {**finding, "verdict": "too few", "p_adjusted": 0.41}
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
    assert "  openai-agents:native   -0.25 [-0.35, -0.15]  4 of 60  <0.001         worse" in shown
    assert "  openai-agents:native   -0.25 [-0.35, -0.15]  4 of 60   0.410  too few (70)" in shown
    assert "\nnative compared with controlled\n" in shown
    wide = {**few, "n": 300, "better": list(range(200)), "worse": list(range(200, 300))}
    long = document("openai-agents:controlled")
    long["summary"]["comparisons"] = [{"kind": "reference", "against": "reference", "scores": {"sopr_score": wide}}]
    assert "  openai-agents:controlled  -0.25 [-0.35, -0.15]  0.410  too few (500)" in show([document(), long], 80)
    words = " ".join(shown.split())
    assert "openai-agents:native: lower on 2 queries (first: 1): an error ended the run (ModelBehaviorError)." in words


def test_the_reference_stands_in_every_block(show: Show) -> None:
    text = show([document(), *(document(f"f{place}") for place in range(3))], 80)
    heads = [row.split() for row in text.splitlines() if row.endswith(tuple(f"f{place}" for place in range(3)))]
    assert len(heads) > 1
    assert {head[0] for head in heads} == {"reference"}


def test_failures_and_other_denominators_stand_out(show: Show) -> None:
    failing = document(answered_count=17, failed_count=3, failures=[reason("crash", 2), reason("timeout", 1)])
    failing["summary"]["denominators"]["sopr_score"] = 16
    text = show([failing, document("other")])
    assert "2 crash, 1 timeout" in " ".join(line(text, "failed").split())
    assert "17 of 20" in line(text, "trials without failure")
    assert "n=16" in text
    assert "\nfailed" not in show([document()])
    assert "not measured  " not in text


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


def test_times_have_medians_and_the_models_have_their_spread(show: Show) -> None:
    timed = document(average_model_time=2.0)
    timed["summary"]["medians"]["model_time"] = 1.5
    timed["summary"]["quartiles"]["model_time"] = [1.0, 2.25]
    text = show([timed])
    assert line(text, "wall_time").split() == ["wall_time,", "s", "0.0123", "/", "1"]
    assert line(text, "model_time, s").split()[2:] == ["2", "/", "1.5"]
    assert line(text, "model_time, middle").split()[-3:] == ["1", "to", "2.25"]


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


def test_units_are_those_that_scorers_declare(show: Show) -> None:
    timed = document(average_boot_time=152.0, average_idle_time=3.0)
    timed["summary"]["medians"] |= {"boot_time": 140.0, "idle_time": 2.0}
    boot = ScoreDescription("boot_time", unit="ms", meaning="until it was ready", bounded=False)
    report = reported(timed)
    (summary,) = report.frameworks
    scores = {**summary.scores, "boot_time": replace(summary.scores["boot_time"], description=boot)}
    described = replace(report, frameworks=(replace(summary, scores=scores),), described={"boot_time": boot})
    text = show(described, explained=True)
    assert line(text, "boot_time").split() == ["boot_time,", "ms", "152", "/", "140"]
    assert line(text, "idle_time").split() == ["idle_time", "3"]
    assert "boot_time: until it was ready." in text
