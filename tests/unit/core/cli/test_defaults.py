"""Precedence of settings, and what a wrong one says."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each

from trialbed.cli import main
from trialbed.settings import Declared, declared_settings

SETTINGS = declared_settings()
run_module = import_module("trialbed.cli.run")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls ``bench run`` with a settings file and says what was asked of the engine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRIALBED_PROBE", raising=False)
    seen: list[Any] = []

    async def run(options: Any) -> Any:
        seen.append(options)
        return SimpleNamespace(frameworks=())

    monkeypatch.setattr(run_module, "_run", run)
    monkeypatch.setattr(run_module, "_print", lambda *documents, **how: None)

    def ask(*arguments: str, toml: str | None = None) -> Any:
        if toml is not None:
            (tmp_path / "bench.toml").write_text(toml)
        assert main(["run", *arguments]) == 0
        return seen[-1]

    return ask


def test_the_default_holds_without_anything(asked: Any) -> None:
    options = asked()
    assert (options.frameworks, options.dataset, options.model) == (("reference",), "mini", ("scripted:gold",))
    assert (options.judge, options.seed, options.limit) == ("rule", 0, None)


def test_file_before_default_environment_before_file_option_before_environment(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(toml="[run]\nseed = 1\n").seed == 1
    monkeypatch.setenv("TRIALBED_SEED", "2")
    assert asked().seed == 2
    assert asked("--seed", "3").seed == 3


def test_an_env_file_is_environment(asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_SEED", "")
    monkeypatch.delenv("TRIALBED_SEED")
    (tmp_path / ".env").write_text("TRIALBED_SEED=7\n")
    assert asked(toml="[run]\nseed = 1\n").seed == 7
    monkeypatch.delenv("TRIALBED_SEED")


@for_each("setting", SETTINGS)
def test_every_setting_of_a_run_has_its_key(asked: Any, setting: Declared) -> None:
    values: dict[type, Any] = {str: "other", int: 7, float: 7.5, Path: "other", bool: True}
    if setting.below is not None:
        values[float] = setting.below / 2
    value = "reference" if setting.name == "frameworks" else [values[setting.kind], *setting.setting.choices][-1]
    needs = 'model = "other"\n' if setting.name == "base_url" else ""
    found = getattr(asked(toml=f"[run]\n{needs}{setting.key} = {json.dumps(value)}\n"), setting.name)
    assert found == ((value,) if setting.repeatable else setting.kind(value))


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[run]\ncolour = 1\n", "[run] has no option 'colour'; see bench run --help"),
        ("[run]\nretry_faild = true\n", "[run] has no option 'retry_faild'; did you mean 'retry-failed'?"),
        ("[rum]\nseed = 1\n", "[rum] is not a command; did you mean 'run'?"),
        ('[run]\nlimit = "many"\n', "[run] limit: 'many' is not a valid integer"),
        ("[run]\nlimit = 0\n", "[run] limit: 0 is not in the range"),
        ("[run]\nmargin = 7\n", "[run] margin: 7.0 is not in the range 0<x<1"),
        ("[run]\nlimit = [1]\n", "[run] limit: "),
        ("[serve]\nport = 70000\n", "[serve] port: "),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], toml: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.toml").write_text(toml)
    assert main(["run"]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "bench.toml") in error
    assert said in error


def test_a_wrong_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_LIMIT", "many")
    assert main(["run"]) == 2
    assert "TRIALBED_LIMIT" in capsys.readouterr().err
