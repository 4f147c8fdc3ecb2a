"""The settings of ``bench run`` for functions: what files and variables give."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.api import configured_settings
from trialbed.errors import SettingsError


def test_variables_come_before_the_file_and_both_are_read_as_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bench.toml").write_text(
        '[run]\nlimit = 3\nrepeat = 2\nquery-id = [1]\nretry-failed = true\nformat = "csv"\n[show]\nlegend = true\n'
    )
    monkeypatch.delenv("TRIALBED_PROBE", raising=False)
    monkeypatch.setenv("TRIALBED_REPEAT", "4")
    monkeypatch.setenv("TRIALBED_TAG", "one two")
    monkeypatch.setenv("TRIALBED_COMMAND", "a=node x.mjs\nb=node y.mjs")
    monkeypatch.setenv("TRIALBED_YES", "1")
    monkeypatch.setenv("TRIALBED_SEED", "")
    assert configured_settings(tmp_path) == {
        "limit": 3,
        "repeat": 4,
        "query_ids": ("1",),
        "retry_failed": True,
        "tags": ("one", "two"),
        "commands": ("a=node x.mjs", "b=node y.mjs"),
        "yes": True,
    }


def test_an_option_that_bench_run_has_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text("[run]\nlimt = 3\n")
    with pytest.raises(SettingsError, match=r"bench\.toml: \[run\] has no option 'limt'; did you mean 'limit'"):
        configured_settings(tmp_path)
