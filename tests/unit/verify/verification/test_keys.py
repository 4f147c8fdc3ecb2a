from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.cases import for_each
from support.verification import configured

from trialbed.errors import UsageError
from trialbed_verify.verification.targets import (
    checked_key,
    key_from_file,
    key_variables,
    would_be_committed,
)

CONFIG = "m:\n  vendors:\n  - {name: silicon-flow, url: 'http://h/v1'}\n"


def key_in(folder: Path, environment: Mapping[str, str], patch: pytest.MonkeyPatch) -> str:
    """The key of the one vendor of a configuration file."""
    for name, value in environment.items():
        patch.setenv(name, value)
    (target,) = configured(folder, CONFIG)
    return target.api_key


@for_each("variable", ["silicon-flow", "SILICON_FLOW", "SILICON_FLOW_API_KEY"])
def test_a_key_is_found_by_the_vendors_name(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_in(tmp_path, {variable: "k", "OTHER": "x"}, monkeypatch) == "k"


def test_the_name_as_the_file_has_it_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_variables("429.icu", "ICU_KEY") == ["429.icu", "429_ICU", "429_ICU_API_KEY", "ICU_KEY"]
    found = key_in(tmp_path, {"silicon-flow": "as-named", "SILICON_FLOW_API_KEY": "other"}, monkeypatch)
    assert found == "as-named"


def test_an_empty_variable_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_in(tmp_path, {"silicon-flow": "", "SILICON_FLOW": "k"}, monkeypatch) == "k"


@pytest.mark.parametrize("text", ["xxxxxx", "XXX", "...", "***", "<your key>", "your-api-key", "YOUR_KEY"])
def test_a_placeholder_is_no_key(text: str, tmp_path: Path) -> None:
    assert key_from_file(tmp_path / "config.yaml", 3, text, "acme") is None


def test_outside_a_work_tree_nothing_is_committed(tmp_path: Path) -> None:
    assert not would_be_committed(tmp_path / "config.yaml")
    assert key_from_file(tmp_path / "config.yaml", 3, "sk-real", "acme") == "sk-real"


def test_in_a_work_tree_only_what_is_ignored_may_hold_a_key(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    config = tmp_path / "config.yaml"
    assert would_be_committed(config)
    with pytest.raises(UsageError, match=r"config\.yaml, line 3: contains a key.*move the key to \.env as acme="):
        key_from_file(config, 3, "sk-real", "acme")
    (tmp_path / ".gitignore").write_text("*.yaml\n")
    assert not would_be_committed(config)


def test_what_a_link_leads_to_counts(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path / "work")], check=True)
    (tmp_path / "work" / "config.yaml").write_text("")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "work" / "config.yaml")
    assert would_be_committed(tmp_path / "link.yaml")


def test_where_git_cannot_be_asked_every_file_of_a_work_tree_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert would_be_committed(work / "config.yaml")
    assert not would_be_committed(tmp_path / "config.yaml")


def test_a_key_loses_the_space_around_it() -> None:
    assert checked_key(" sk-a.b/c=\n", "acme") == "sk-a.b/c="


@for_each("key", ["", "  ", "sk-a sk-secret", "sk\nsecret", "ключ-secret", "sk\x00secret"])
def test_what_is_no_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match="acme: the key is empty or contains") as caught:
        checked_key(key, "acme")
    assert "secret" not in str(caught.value)
