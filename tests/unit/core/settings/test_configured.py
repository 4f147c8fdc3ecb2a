"""The settings of ``bench run`` for functions: what files and variables give."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.cli.run import command
from trialbed.errors import SettingsError
from trialbed.settings import BESIDE_SETTINGS, FOR_COMMANDS, configured_settings, declared_settings


def test_variables_come_before_the_file_and_lists_are_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench.toml").write_text(
        '[run]\nlimit = 3\nrepeat = 2\nquery-id = [1]\nretry-failed = true\nformat = "csv"\n[show]\nlegend = true\n'
    )
    monkeypatch.delenv("TRIALBED_PROBE", raising=False)
    monkeypatch.setenv("TRIALBED_REPEAT", "4")
    monkeypatch.setenv("TRIALBED_TAG", "one two")
    monkeypatch.setenv("TRIALBED_COMMAND", "a=node x.mjs\nb=node y.mjs")
    monkeypatch.setenv("TRIALBED_YES", "1")
    monkeypatch.setenv("TRIALBED_SEED", "")
    found = configured_settings(tmp_path)
    assert {name: value for name, (value, _) in found.items()} == {
        "limit": 3,
        "repeat": "4",
        "query_ids": [1],
        "retry_failed": True,
        "tags": ["one", "two"],
        "commands": ["a=node x.mjs", "b=node y.mjs"],
        "yes": "1",
    }
    assert found["repeat"][1] == "TRIALBED_REPEAT"
    assert found["limit"][1] == f"{tmp_path / 'bench.toml'}: [run] limit"


def test_an_option_that_bench_run_has_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text("[run]\nlimt = 3\n")
    with pytest.raises(SettingsError, match=r"bench\.toml: \[run\] has no option 'limt'; did you mean 'limit'"):
        configured_settings(tmp_path)


def test_every_option_of_bench_run_is_a_setting_a_flag_or_about_the_command() -> None:
    settings = {item.key for item in declared_settings()}
    options = {option.opts[-1].lstrip("-") for option in command.params}
    assert options == settings | set(BESIDE_SETTINGS) | set(FOR_COMMANDS)
