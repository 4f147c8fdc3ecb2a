"""``bench doctor`` and ``bench plugins``: what they find."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from trialbed.cli import main

FakeDistribution = Callable[..., Path]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TRIALBED_ENV_DIR", str(tmp_path / "environments"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    # Creating the sandbox takes longer than the rest of the command; its own tests do that.
    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", lambda *_: ("a mechanism",))


@pytest.fixture
def broken(fake_distribution: FakeDistribution) -> None:
    fake_distribution(
        "trialbed-bad",
        "3.1",
        entry_points={"trialbed.frameworks": {"bad": "bad_module:Agent"}, "trialbed.plugins": {"bad": "bad_module"}},
        modules={"bad_module": "raise RuntimeError('no licence')"},
    )


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    code = main(["doctor", "--json"])
    return code, {check["subject"]: check for check in json.loads(capsys.readouterr().out)}


def test_a_sound_installation_is_ok_and_what_is_absent_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(capsys)
    assert code == 0
    assert {"python", "settings", "state", "data", "frameworks", "key", "uv"} <= set(found)
    assert "reference" in found["frameworks"]["finding"]
    assert found["key"]["state"] == "none"
    assert "bench data import" in found["stabletoolbench"]["remedy"]


def test_known_frameworks_are_told_with_where_they_run(
    capsys: pytest.CaptureFixture[str], fake_distribution: FakeDistribution
) -> None:
    fake_distribution(
        "trialbed-crewai", entry_points={"trialbed.frameworks": {"crewai": "adapter:Agent"}}, modules={"adapter": ""}
    )
    _, found = doctor(capsys)
    assert found["crewai"]["finding"] == "installed here"
    assert found["autogen"]["state"] == "none"
    assert "bench env add autogen" in found["autogen"]["remedy"]
    assert "GB free" in found["space"]["finding"]


def test_a_key_is_seen_and_never_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-show-this")
    assert main(["doctor"]) == 0
    shown = capsys.readouterr()
    assert "OPENAI_API_KEY is set" in shown.out
    assert "sk-do-not-show-this" not in shown.out + shown.err


@pytest.mark.usefixtures("broken")
def test_a_broken_driver_and_plugin_are_bad_with_distribution_and_cause(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(capsys)
    assert code == 1
    for subject in ("frameworks bad", "plugins bad"):
        assert found[subject]["state"] == "bad"
        assert "trialbed-bad 3.1" in found[subject]["finding"]
        assert "no licence" in found[subject]["finding"]
        assert found[subject]["remedy"] == "update or uninstall trialbed-bad"
    assert found["python"]["state"] == "ok"


def add_command(fake_distribution: FakeDistribution, name: str, source: str) -> None:
    """A distribution that adds ``bench NAME``."""
    fake_distribution(
        f"trialbed-{name}",
        "3.1",
        entry_points={"trialbed.commands": {name: f"{name}_module:command"}},
        modules={f"{name}_module": source},
    )


GREETER = """
import click

@click.command("greet")
def command():
    "Say hello."
    click.echo("hello")
"""


@pytest.mark.usefixtures("broken")
def test_a_distribution_adds_a_command(fake_distribution: FakeDistribution, capsys: pytest.CaptureFixture[str]) -> None:
    add_command(fake_distribution, "greet", GREETER)
    assert main(["greet"]) == 0
    assert capsys.readouterr() == ("hello\n", "")
    assert main(["--help"]) == 0
    assert "Say hello." in capsys.readouterr().out
    assert main(["plugins", "--json"]) == 0
    items = json.loads(capsys.readouterr().out)
    assert {"kind": "commands", "name": "greet", "distribution": "trialbed-greet", "version": "3.1", "problem": ""} in (
        items
    )


@pytest.mark.parametrize(
    ("source", "cause"),
    [("raise RuntimeError('no licence')", "RuntimeError: no licence"), ("command = 7", "it is int, not click.Command")],
)
def test_a_command_that_cannot_be_loaded_is_named_and_harms_no_other(
    fake_distribution: FakeDistribution, capsys: pytest.CaptureFixture[str], source: str, cause: str
) -> None:
    add_command(fake_distribution, "greet", GREETER)
    add_command(fake_distribution, "clumsy", source)
    assert main(["greet"]) == 0
    assert capsys.readouterr() == ("hello\n", "")
    assert main(["clumsy"]) == 2
    shown = capsys.readouterr()
    assert "'clumsy' of trialbed-clumsy 3.1 cannot be loaded" in shown.err
    assert cause in shown.err
    assert main(["--help"]) == 0
    shown = capsys.readouterr()
    assert cause in shown.err
    assert "Say hello." in shown.out


def test_commands_that_cannot_be_used_are_listed_with_the_reason(
    fake_distribution: FakeDistribution, capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(fake_distribution, "clumsy", "command = 7")
    add_command(fake_distribution, "run", GREETER)
    assert main(["plugins", "--json"]) == 0
    items = json.loads(capsys.readouterr().out)
    problems = {item["name"]: item["problem"] for item in items if item["kind"] == "commands"}
    assert "it is int, not click.Command" in problems["clumsy"]
    assert problems["run"] == "never used: `bench run` is a command of trialbed itself"
    assert problems["verify"] == ""
    code, found = doctor(capsys)
    assert code == 1
    assert {found[subject]["state"] for subject in ("commands clumsy", "commands run")} == {"bad"}
    assert {"adapter", "env", "run", "verify"} <= set(found["commands"]["finding"].split(", "))
