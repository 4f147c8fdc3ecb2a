"""What a verification tells of its progress on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trials import ended
from support.verification import target

from trialbed.cli.progress import LiveProgress, PlainProgress
from trialbed_verify.verification import Target
from trialbed_verify.verification.progress import EndpointProgress, verify_progress


@pytest.fixture
def one(tmp_path: Path) -> Target:
    return target("http://vendor.example/v1", tmp_path)


def advance(progress: EndpointProgress, one: Target, count: int, *, failed: bool = False) -> None:
    for _ in range(count):
        progress.advance(one, ended("endpoint" if failed else None))


def test_it_says_what_is_sent_where_and_prints_a_line_per_tenth(
    one: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = EndpointProgress(PlainProgress())
    progress.begin(one, 200, 0)
    advance(progress, one, 200)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"m at vendor.example: 200 requests -> {one.output}"
    assert lines[1] == "m at vendor.example: [20/200]"
    assert lines[-1] == "m at vendor.example: [200/200]"
    assert len(lines) == 11


def test_failures_are_counted_apart(one: Target, capsys: pytest.CaptureFixture[str]) -> None:
    progress = EndpointProgress(PlainProgress())
    progress.begin(one, 4, 2)
    advance(progress, one, 1, failed=True)
    advance(progress, one, 1)
    assert capsys.readouterr().err.splitlines() == [
        f"m at vendor.example: 4 requests, 2 of them already answered -> {one.output}",
        "m at vendor.example: [3/4] 1 failed",
        "m at vendor.example: [4/4] 1 failed",
    ]


@pytest.mark.parametrize(("failure", "why"), [(None, "every request fails"), ("acme: line 3 …", "its driver failed")])
def test_a_vendor_that_is_given_up_is_named_with_the_reason(
    failure: str | None, why: str, one: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    EndpointProgress(PlainProgress()).down(one, 7, failure)
    said = capsys.readouterr().err
    assert said == f"m at vendor.example: {why}; 7 requests not sent. The same command sends them.\n"


def test_whatever_ends_it_early_it_says_how_to_go_on(one: Target, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        with verify_progress() as progress:
            progress.begin(one, 4, 1)
            advance(progress, one, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith(
        "2 requests are complete and kept; the same command continues from there.\n"
    )


def test_bars_move_on_a_terminal(one: Target) -> None:
    live = LiveProgress()
    progress = EndpointProgress(live)
    progress.begin(one, 4, 1)
    advance(progress, one, 2, failed=True)
    (task,) = live.bar.tasks
    progress.end()
    assert (task.completed, task.total, task.fields["failed"]) == (3, 4, " 2 failed")
