"""Completion in the shell."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from support.cases import for_each

from trialbed.cli import cli
from trialbed.cli.completion import completes
from trialbed.store import Store
from trialbed_adapter_lab import CHECKS


def suggested(*words: str) -> list[str]:
    """What the shell is offered for the last word."""
    *before, incomplete = words
    return [item.value for item in ShellComplete(cli, {}, "bench", "_X").get_completions(before, incomplete)]


@for_each(
    ("words", "name"),
    [
        (("run", "--framework", ""), "reference"),
        (("run", "-f", "cre"), "crewai"),
        (("run", "--dataset", "mi"), "mini"),
        (("run", "--model", "scripted:g"), "scripted:gold"),
        (("run", "--selector", "k"), "keyword"),
        (("run", "--judge", "r"), "rule"),
        (("run", "--executor", ""), "local"),
        (("run", "--format", "c"), "csv"),
        (("data", "show", "m"), "mini"),
        (("run", "--profile", "n"), "native"),
        (("run", "--against", "ref"), "reference"),
        (("run", "--fail-under", "sopr"), "sopr_score="),
        (("run", "--fail-under", "sol"), "solved="),
        (("score", "--metric", "tool"), "tool_call_f1"),
        (("score", "x", "--judge", "r"), "rule"),
        (("serve", "--dataset", "mi"), "mini"),
        (("serve", "--simulator", "te"), "template"),
        (("adapter", "check", "lang"), "langgraph"),
        (("env", "add", "ag"), "agno"),
        (("fidelity", "-f", "lang"), "langgraph"),
        (("adapter", "check", "x", "--check", ""), CHECKS[0].name),
        (("verify", "--suite", "trig"), "triggering"),
        (("run", "--catalog", "mi"), "mini"),
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


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("runs", "--framework", "lang"), ["langgraph:native"]),
        (("runs", "--model", ""), ["scripted:gold"]),
        (("runs", "--tag", "n"), ["nightly"]),
        (("runs", "remove", "2026010"), ["20260101T120000-aaaaaa"]),
        (("export", "lat"), ["latest"]),
        (("score", "lat"), ["latest"]),
        (("run", "--extend", "lat"), ["latest"]),
        (("run", "--fail-on-regression", "lat"), ["latest"]),
        (("run", "--tag", "nig"), ["nightly"]),
        (("show", "latest", "lang"), ["langgraph:native/1", "langgraph:native/a/b"]),
        (("show", "20260101", ""), ["reference/1", "reference/a/b"]),
        (("plan", "lat"), ["latest"]),
        (("show", "absent", ""), []),
    ],
)
def test_names_of_stored_runs_are_completed(
    words: tuple[str, ...], names: list[str], stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stored.parent.parent)
    with Store.open(str(stored)) as store:
        store.update_run("20260202T120000-bbbbbb", tags=("nightly",))
    assert suggested(*words) == names
