"""Exit codes and the words of errors."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from trialbed import errors
from trialbed.cli import cli, main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def add(monkeypatch: pytest.MonkeyPatch, ends_with: BaseException | int | None) -> None:
    """Add a command ``probe`` that ends so."""

    @click.command("probe")
    def probe() -> int | None:
        if isinstance(ends_with, BaseException):
            raise ends_with
        return ends_with

    monkeypatch.setitem(cli.commands, "probe", probe)


@pytest.mark.parametrize(
    ("ends_with", "code"),
    [
        (None, 0),
        (0, 0),
        (1, 1),
        (errors.UsageError("x"), 2),
        (errors.DriverBroken("x"), 2),
        (errors.DataError("x"), 2),
        (errors.SettingsError("x"), 2),
        (errors.NothingMeasured("x"), 3),
        (errors.ServerUnavailable("x"), 3),
        (click.UsageError("x"), 2),
        (click.exceptions.Exit(1), 1),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 3),
        (OSError(errno.ENOSPC, "No space left on device", "out.json"), 3),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, ends_with: BaseException | int | None, code: int) -> None:
    add(monkeypatch, ends_with)
    assert main(["probe"]) == code


@pytest.mark.parametrize("arguments", [("models",), ("runs", "--help")])
def test_output_that_nobody_reads_ends_with_3_and_without_a_word(arguments: tuple[str, ...]) -> None:
    """As ``bench models | head -0`` does: tables are written by rich, all else by click."""
    command = [sys.executable, "-m", "trialbed", *arguments]
    unread, written = os.pipe()
    os.close(unread)
    done = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, check=False)
    os.close(written)
    assert done.returncode == 3
    assert not any(word in done.stderr for word in (b"Traceback", b"Error", b"Exception"))


def test_what_an_error_quotes_does_not_control_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add(monkeypatch, errors.UsageError("vendor \x1b[2J\u202ex is unknown:\n\tname\tanother"))
    main(["probe"])
    assert capsys.readouterr().err == "Error: vendor ?[2J?x is unknown:\n\tname\tanother\n"


def test_a_crash_of_the_program_has_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(cli, "main", crash)
    monkeypatch.setattr("sys.argv", ["bench", "runs"])
    assert main() == 70
    assert "RuntimeError: a fault of ours" in capsys.readouterr().err


def test_a_character_that_the_output_lacks_is_shown_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")

    def probe() -> None:
        shown.write("cut…\n")

    monkeypatch.setitem(cli.commands, "probe", click.Command("probe", callback=probe))
    monkeypatch.setattr(sys, "argv", ["bench", "probe"])
    monkeypatch.setattr(sys, "stdout", shown)
    assert main() == 0
    shown.seek(0)
    assert shown.read() == "cut\\u2026\n"


def test_help_is_shown_even_where_the_settings_file_is_broken(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text("[run\n")
    assert main(["run", "--help"]) == 0
    assert main(["doctor"]) == 2
