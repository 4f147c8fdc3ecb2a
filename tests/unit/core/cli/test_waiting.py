"""A line for what takes long."""

from __future__ import annotations

from threading import Event

import pytest

from trialbed.cli.waiting import names_itself


def test_what_takes_long_names_itself_on_the_error_stream(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Event()

    def echo(text: str, *, err: bool) -> None:
        assert (text, err) == ("reading", True)
        said.set()

    monkeypatch.setattr("click.echo", echo)
    with names_itself("reading", 0.0):
        assert said.wait(60)
    assert capsys.readouterr().out == ""


def test_what_is_done_soon_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.echo", lambda *_, **__: pytest.fail("something was said"))
    with names_itself("reading", 3_600):
        pass
