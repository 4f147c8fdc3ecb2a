"""Completion in the shell."""

from __future__ import annotations

import click
import pytest
from click.shell_completion import ShellComplete

from trialbed.cli import cli
from trialbed.cli.completion import completes


def suggested(*words: str) -> list[str]:
    """What the shell is offered for the last word."""
    *before, incomplete = words
    return [item.value for item in ShellComplete(cli, {}, "bench", "_X").get_completions(before, incomplete)]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("run", "--framework", ""), "reference"),
        (("run", "-f", "cre"), "crewai"),
        (("run", "--dataset", "mi"), "mini"),
        (("run", "--model", "scripted:g"), "scripted:gold"),
        (("run", "--selector", "k"), "keyword"),
        (("run", "--judge", "r"), "rule"),
        (("run", "--executor", ""), "local"),
        (("run", "--reporter", "c"), "csv"),
        (("data", "show", "m"), "mini"),
        (("adapter", "check", "lang"), "langgraph"),
        (("env", "add", "ag"), "agno"),
    ],
)
def test_names_are_completed(words: tuple[str, ...], name: str) -> None:
    assert name in suggested(*words)
    assert all(value.startswith(words[-1]) for value in suggested(*words))


def test_what_cannot_be_listed_is_not_suggested() -> None:
    def broken() -> list[str]:
        raise RuntimeError("a driver is broken")

    import click

    context = click.Context(cli)
    assert completes(broken)(context, click.Option(["--name"]), "") == []


def test_a_file_is_completed_where_a_value_may_be_one() -> None:
    complete = completes(lambda: ["latest"], files=True)
    context, parameter = click.Context(cli), click.Argument(["values"])
    assert [item.value for item in complete(context, parameter, "la")] == ["latest"]
    assert [(item.value, item.type) for item in complete(context, parameter, "results/")] == [("results/", "file")]
