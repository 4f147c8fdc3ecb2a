"""All tables of a run, in which each setup is a row: figures, losses and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.run_reports import document, reason

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
    for word in ("mini", "20 queries", "scripted:gold", "judge rule", "selector query", "run r1"):
        assert word in first
    assert heading(text, "trials") == "trials version without failure solved/unsure/unsolved"
    assert cells(text, "trials") == "1.2.3 20 of 20 15/2/3"
    assert cells(text, "scores") == "0.80 [0.58, 0.92]"
    assert heading(text, "per trial") == (
        "per trial total_tokens model_turns wall_time, s model_time, s model_time, middle half, s"
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
    assert "The same as solved: api_f1, has_finish." in text
    assert heading(text, "scores") == "scores solved"
    apart = show([made("reference", 0.8), made("other", 1.0)])
    assert "The same as solved: has_finish." in apart
    assert cells(apart, "scores", "other") == "0.80 [0.58, 0.92] 1.00 [0.80, 1.00]"
    assert heading(show([made("reference", 0.8), made("other", 0.801)]), "scores") == "scores solved api_f1"


def test_scores_that_explain_others_are_shown_where_they_tell(show: Show) -> None:
    perfect, wrong = document("a", average_call_success=1.0), document("b", average_call_success=0.5)
    assert "call_success" not in show([perfect])
    assert "call_success" in show([perfect, wrong])


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
