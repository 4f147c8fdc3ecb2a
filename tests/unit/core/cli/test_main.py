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
from support.warm import run_warm

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
    read = run_warm("trialbed", arguments, cwd=Path.cwd(), env=os.environ, timeout=60)
    assert (done.returncode, done.stderr.decode()) == (3, read.stderr)


def test_an_error_is_said_as_it_is_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add(monkeypatch, errors.DataError("answers.json: line 3: no such key"))
    main(["probe"])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "Error: answers.json: line 3: no such key\n"


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


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["probe"])


def test_a_variable_of_another_command_is_not_misspelt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIALBED_REAL_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("TRIALBED_REPEAT", "3")
    main(["models"])
    assert "Warning" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["no-such-command"], ["run", "--no-such-option"], ["run", "--limit", "0"]])
def test_what_cannot_be_understood_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Error" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], ["run", "--help"], ["data", "--help"]])
def test_asking_is_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "bench" in capsys.readouterr().out


def test_help_is_shown_even_where_the_settings_file_is_broken(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text("[run\n")
    assert main(["run", "--help"]) == 0
    assert main(["doctor"]) == 2


def test_output_that_the_disk_does_not_take_is_an_error_of_one_line(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with full.open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "trialbed", "--help"], stdout=out, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith("Error: the output could not be written completely: ")


def test_other_errors_of_the_system_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, PermissionError(errno.EACCES, "no"))
    with pytest.raises(PermissionError):
        main(["probe"])
