"""Names with colons in bash, which reads them as several words."""

from __future__ import annotations

import shlex

import pytest

from trialbed.cli import cli
from trialbed.cli._bash import BashLineComplete

BREAKS = " \t\n\"'><=;|&(:"


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("bench run --model scripted:go", ["gold"]),
        ("bench run --model scrip", ["scripted:gold"]),
        ("bench run --model=scripted:go", ["gold"]),
        ("bench run --framework reference --mod", ["--model"]),
        ("bench data show ", ["mini"]),
        ("bench run --fail-under sopr", ["sopr_score="]),
        ("bench run --model scripted:go | tee x", ["gold"]),
    ],
)
def test_bash_is_given_what_its_last_word_lacks(line: str, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line.partition(" |")[0])))
    monkeypatch.setenv("COMP_WORDBREAKS", BREAKS)
    shell = BashLineComplete(cli, {}, "bench", "_BENCH_COMPLETE")
    found = [line.partition(",")[2] for line in shell.complete().splitlines()]
    assert set(given) <= set(found)
    if not line.endswith(" "):
        assert all(value.startswith(given[0][:2]) for value in found)


def test_the_script_hands_the_line_over() -> None:
    script = BashLineComplete(cli, {}, "bench", "_BENCH_COMPLETE").source()
    assert 'COMP_LINE="$COMP_LINE" COMP_POINT=$COMP_POINT' in script
    assert shlex.split(script, comments=True)


def test_without_the_line_the_words_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMP_LINE", raising=False)
    monkeypatch.setenv("COMP_WORDS", "bench run --sel")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert BashLineComplete(cli, {}, "bench", "_BENCH_COMPLETE").get_completion_args() == (["run"], "--sel")
