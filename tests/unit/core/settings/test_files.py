"""Settings: where they come from, and what a wrong one says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trialbed.errors import SettingsError, UsageError
from trialbed.settings import data_dir, make_folder, read_env_file, read_settings_file, state_dir


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_there_is_nothing(tmp_path: Path) -> None:
    assert read_settings_file(tmp_path) is None
    assert read_env_file(tmp_path) is None


def test_the_nearest_file_upwards_holds(tmp_path: Path) -> None:
    write(tmp_path / "bench.toml", "[run]\nlimit = 1\n")
    nearer = write(tmp_path / "a" / "bench.toml", "[run]\nlimit = 2\n")
    (tmp_path / "a" / "b").mkdir()
    found = read_settings_file(tmp_path / "a" / "b")
    assert found is not None
    assert found.path == nearer
    assert found.values == {"run": {"limit": 2}}


def test_a_pyproject_without_our_table_is_passed_over(tmp_path: Path) -> None:
    ours = write(tmp_path / "pyproject.toml", "[tool.trialbed.run]\nseed = 5\n")
    write(tmp_path / "a" / "pyproject.toml", "[tool.other]\nx = 1\n")
    found = read_settings_file(tmp_path / "a")
    assert found is not None
    assert (found.path, found.values) == (ours, {"run": {"seed": 5}})


def test_bench_toml_comes_before_pyproject_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.trialbed.run]\nseed = 5\n")
    ours = write(tmp_path / "bench.toml", "[run]\nseed = 6\n")
    found = read_settings_file(tmp_path)
    assert found is not None
    assert found.path == ours


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bench.toml", "[run\n", "not valid TOML"),
        ("bench.toml", "seed = 1\n", "'seed' must be in a command's table"),
        ("pyproject.toml", "[tool]\ntrialbed = 3\n", "[tool.trialbed] must be a table"),
    ],
)
def test_a_wrong_file_is_named_with_the_fault(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(SettingsError) as raised:
        read_settings_file(tmp_path)
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not valid TOML"):
        read_settings_file(tmp_path)


def test_an_env_file_adds_and_never_overrides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / ".env", "TB_TEST_NEW=from-file\nTB_TEST_SET=from-file\n")
    monkeypatch.setenv("TB_TEST_SET", "from-environment")
    monkeypatch.setenv("TB_TEST_NEW", "")
    monkeypatch.delenv("TB_TEST_NEW")
    assert read_env_file(tmp_path) == path
    assert os.environ["TB_TEST_NEW"] == "from-file"
    assert os.environ["TB_TEST_SET"] == "from-environment"
    monkeypatch.delenv("TB_TEST_NEW")


def test_state_and_data_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIALBED_STATE_DIR", raising=False)
    monkeypatch.delenv("TRIALBED_DATA_DIR", raising=False)
    assert state_dir() == Path(".trialbed")
    assert data_dir().parts[-2:] == ("trialbed", "datasets")
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(tmp_path / "d"))
    assert (state_dir(), data_dir()) == (tmp_path / "s", tmp_path / "d")


@pytest.mark.parametrize("content", [b"\xff\xfe=1\n", b"TB_TEST_NULL=a\x00b\n"])
def test_an_env_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(SettingsError, match=r"\.env: cannot be read"):
        read_env_file(tmp_path)


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b", "--store")
    make_folder(tmp_path / "a" / "b", "--store")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_named_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file/x cannot be created: .*name another place with --store"):
        make_folder(tmp_path / "file" / "x", "--store")
