from __future__ import annotations

import io
import re

import pytest

from trialbed.views import Table, TableRow, print_tables

FIGURES = [f"0.{number}2 [0.{number}1, 0.{number}9] n=12345" for number in range(8)]
WIDE = Table.of("Figures", ("", *(f"vendor-{number}" for number in range(8))), [("F1, as delivered", *FIGURES)])


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch):
    def show(*tables: Table, width: int | None = 80) -> str:
        if width is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(width))
        stream = io.StringIO()
        print_tables(tables, stream)
        return stream.getvalue()

    return show


@pytest.mark.parametrize("width", [60, 80, 120, 300])
def test_columns_fold_into_blocks_that_fit_and_no_number_is_cut(show, width) -> None:
    text = show(WIDE, width=width)
    assert max(map(len, text.splitlines())) <= width
    for figure in FIGURES:
        assert figure in text


def test_a_terminal_narrower_than_a_column_is_written_beyond_its_edge(show) -> None:
    text = show(WIDE, width=20)
    for figure in FIGURES:
        assert figure in text


def test_pinned_columns_stand_in_every_block(show) -> None:
    text = show(Table(WIDE.title, WIDE.columns, WIDE.rows, pinned=1))
    heads = [line.split()[1:] for line in text.splitlines() if line.startswith("Figures")]
    assert len(heads) == 7
    assert {head[0] for head in heads} == {"vendor-0"}


def test_a_pipe_gets_the_table_as_wide_as_it_is(show) -> None:
    text = show(WIDE, width=None)
    assert len(re.findall("^Figures", text, re.MULTILINE)) == 1
    assert max(map(len, text.splitlines())) > 200


def test_long_texts_go_over_several_lines(show) -> None:
    table = Table.of("", ("vendor", "endpoint"), [("acme", "https://vendor.example.com/" + "v" * 60)])
    text = show(table)
    assert max(map(len, text.splitlines())) <= 80
    assert "v" * 60 in re.sub(r"\s", "", text)


def test_a_long_title_stands_above_and_notes_below(show) -> None:
    table = Table.of("m: 2000 requests of samples.jsonl", ("", "acme"), [("F1", "0.7")], ["Read it so.", "And so."])
    assert show(table).splitlines() == [
        "m: 2000 requests of samples.jsonl",
        "",
        "    acme",
        "────────",
        "F1   0.7",
        "",
        "Read it so.",
        "And so.",
    ]


def test_tables_are_apart_and_one_without_rows_is_its_notes(show) -> None:
    text = show(Table("acme: different", notes=["It differs."]), Table.of("Rates", ("", "acme"), [("ok", "1")]))
    assert text.splitlines()[:4] == ["acme: different", "It differs.", "", "Rates  acme"]


def test_nothing_controls_the_terminal(show) -> None:
    text = show(Table.of("a\x1b[2J", ("\x07", "b\x1b"), [("[bold]c\x1b", "d\x08")], ["e\x1b"]))
    assert not set("\x1b\x07\x08") & set(text)
    assert "[bold]c?" in text


def test_wide_characters_are_counted_as_wide(show) -> None:
    text = show(Table.of("", ("vendor", "model"), [("深度求索", "模型"), ("x", "y")]))
    assert "深度求索" in text
    assert "模型" in text


def test_only_alarming_rows_with_text_are_red(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    print_tables(
        [Table("", ("", "a"), [TableRow("failed", ("3",), alarming=True), TableRow("lost", ("",), alarming=True)])],
        stream,
    )
    red = [line for line in stream.getvalue().splitlines() if "\x1b[1;31m" in line]
    assert len(red) == 1
    assert "failed" in red[0]
