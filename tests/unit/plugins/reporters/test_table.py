from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from support.run_documents import document

from trialbed_plugins.reporters import TableReporter

Show = Callable[..., str]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def show(documents: Sequence[Mapping[str, Any]], width: int = 80, terminal: bool = False) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm-256color")
        stream = Terminal() if terminal else io.StringIO()
        TableReporter().report(documents, stream)
        return stream.getvalue()

    return show


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def line(text: str, label: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(label))


def test_figures_stand_with_interval_unit_and_denominator(show: Show) -> None:
    text = show([document()])
    assert "0.80 [0.58, 0.92]" in line(text, "sopr_score")
    assert "123,457" in line(text, "total_tokens")
    assert "3.25" in line(text, "model_turns")
    assert "0.0123" in line(text, "wall_time, s")
    assert "20 of 20" in line(text, "trials answered (n)")
    assert "15/2/3" in line(text, "solved/unsure/unsolved")
    assert "95% Wilson interval, clustered" in " ".join(text.split())


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
    documents = [document(f"f{place}") for place in range(5)]
    assert show(documents, 200).count("\nsopr_score ") == 1
    assert show(documents, 80).count("\nsopr_score ") > 1


def test_the_reference_stands_in_every_block(show: Show) -> None:
    text = show([document(), *(document(f"f{place}") for place in range(4))], 80)
    heads = [row.split() for row in text.splitlines() if row.endswith(tuple(f"f{place}" for place in range(4)))]
    assert len(heads) > 1
    assert {head[0] for head in heads} == {"reference"}


def test_what_scores_mean_stands_below_and_only_of_those_shown(show: Show) -> None:
    text = " ".join(show([document()]).split())
    assert "sopr_score: tasks solved, as the judge finds (unsure counts half)" in text
    assert "api_f1" not in text


def test_errors_and_other_denominators_stand_out(show: Show) -> None:
    failing = document(error_count=3, errors={"crash": 2, "timeout": 1}, untold_scores={"sopr_score": 1})
    failing["summary"]["denominators"]["sopr_score"] = 16
    text = show([failing, document("other")])
    assert "2 crash, 1 timeout" in " ".join(line(text, "errors").split())
    assert "17 of 20" in line(text, "trials answered")
    assert "n=16" in text
    assert "sopr_score could not be determined for 1 answered trials" in text
    assert "errors" not in show([document()]).replace("errors enter none", "")


def test_deviations_and_false_claims_are_noted_by_framework(show: Show) -> None:
    odd = document("odd", deviations=["adds a prompt", "no seed"], claims={"invented": 2, "unreported": 1})
    text = " ".join(show([document(), odd]).split())
    assert "odd: declared deviations: adds a prompt; no seed" in text
    assert "odd: claims differ from the wire: 2 calls claimed and never made, 1 made and never claimed" in text
    assert "reference: " not in text


def test_what_was_not_measured_is_a_dash(show: Show) -> None:
    nothing = document(average_sopr_score=None, intervals={}, framework_version=None)
    nothing["summary"]["denominators"]["sopr_score"] = 0
    assert line(show([nothing]), "sopr_score").split() == ["sopr_score", "-"]


def test_colour_is_for_terminals_that_want_it(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [document(error_count=1, errors={"crash": 1})]
    assert "\x1b[" not in show(failing)
    assert "\x1b[1;31m" in show(failing, terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in show(failing, terminal=True)


def test_names_cannot_steer_the_terminal(show: Show) -> None:
    text = show([document("a\x1b[2Jb", deviations=["[bold]x[/bold]\x07"])])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]x[/bold]" in text


def test_without_documents_there_is_nothing_to_say(show: Show) -> None:
    assert show([]) == ""


def test_a_stream_that_knows_ascii_only_is_served() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    TableReporter().report([document()], stream)
    stream.flush()
