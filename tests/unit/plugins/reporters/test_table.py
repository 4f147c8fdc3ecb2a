"""All tables of a run, in which each setup is a row: figures, losses and comparisons."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.cases import for_each
from support.run_reports import document, reason, reported

from trialbed.attribution import USED
from trialbed.contracts import Reporter
from trialbed.records import STAGES, ScoreDescription
from trialbed_plugins.reporters import HtmlReporter, MarkdownReporter, TableReporter

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


def test_scores_that_explain_others_are_shown_where_they_tell(show: Show) -> None:
    perfect, wrong = document("a", average_call_success=1.0), document("b", average_call_success=0.5)
    assert "accepted calls" not in show([perfect])
    assert "accepted calls" in show([perfect, wrong])


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


def test_a_stream_that_knows_ascii_only_is_served() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    TableReporter().report(reported(document()), stream)
    stream.flush()


def test_units_are_those_that_scorers_declare(show: Show) -> None:
    timed = document(average_boot_time=152.0)
    timed["summary"]["medians"] |= {"boot_time": 140.0}
    boot = ScoreDescription("boot_time", unit="ms", meaning="until it was ready", bounded=False)
    report = reported(timed)
    (summary,) = report.frameworks
    scores = {**summary.scores, "boot_time": replace(summary.scores["boot_time"], description=boot)}
    described = replace(report, frameworks=(replace(summary, scores=scores),), described={"boot_time": boot})
    text = show(described, 200, explained=True)
    assert heading(text, "per trial").endswith("boot_time, ms")
    assert cells(text, "per trial").endswith("152 / 140")
    assert "boot_time: until it was ready." in text


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


def test_losses_that_cannot_be_compared_or_do_not_exist_have_no_table(show: Show) -> None:
    missing = with_lost("a", 3, not_called=1)
    missing["metadata"]["status"] = "incomplete"
    for documents in ([with_lost("reference", 60)], [document()], [missing, with_lost("b", 4)]):
        assert "where calls" not in show(documents)
    assert "where calls" in show([missing])


@for_each("reporter", [MarkdownReporter(), HtmlReporter()], ids=lambda reporter: type(reporter).__name__)
def test_every_format_has_the_losses(reporter: Reporter) -> None:
    stream = io.StringIO()
    reporter.report(reported(with_lost("reference", 3, not_called=1)), stream)
    assert "where calls were lost" in stream.getvalue()


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
