"""Settings: what follows from a declaration, files and variables that give them, and what is secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each
from support.memory_runs import result_document
from support.trials import changed_config, run_config, run_of

from trialbed.cli import cli
from trialbed.errors import SettingsError
from trialbed.preparation import config_digest
from trialbed.records import RunConfig
from trialbed.report import document_schema
from trialbed.settings import (
    REDACTED,
    Declared,
    FactorSettings,
    IdentitySettings,
    data_dir,
    declared_settings,
    is_secret,
    passed_variables,
    read_env_file,
    read_settings_file,
    secret_values,
    state_dir,
)
from trialbed.wire.redaction import redact

SETTINGS = declared_settings()
CONFIG = run_config()
each_setting = for_each("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])


def other_value(setting: Declared) -> Any:
    """A value that is not the default."""
    if setting.setting.choices:
        return next(choice for choice in setting.setting.choices if choice != setting.default)
    if setting.below is not None:
        return setting.below / 2
    value: Any = {str: "other", int: 7, float: 7.5, Path: Path("other"), bool: True}[setting.kind]
    return (value,) if setting.repeatable else value


def changed(setting: Declared) -> RunConfig:
    """The configuration with another value of a setting."""
    value = other_value(setting)
    is_one = setting.name in FactorSettings.__dataclass_fields__ and setting.name != "frameworks"
    return changed_config(CONFIG, **{setting.name: value[0] if is_one else value})


def option(setting: Declared) -> click.Option:
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    found = [item for item in run.params if setting.name == item.name]
    assert len(found) == 1
    assert isinstance(found[0], click.Option)
    return found[0]


def parsed(arguments: list[str]) -> Mapping[str, Any]:
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    return run.make_context("run", arguments).params


def about(config: RunConfig) -> dict[str, Any]:
    return result_document(run_of(config), "reference", {}, [], {})["metadata"]


@each_setting
def test_a_setting_has_its_option_and_variable(setting: Declared, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = option(setting)
    assert declared.opts == list(setting.setting.option)
    assert declared.help
    monkeypatch.setattr("os.environ", {})
    assert parsed([])[setting.name] == setting.default
    value = other_value(setting)
    text = str(value[0] if setting.repeatable else value)
    given = [] if setting.kind is bool else [text]
    assert parsed([setting.setting.option[-1], *given])[setting.name] == value
    monkeypatch.setattr("os.environ", {f"TRIALBED_{setting.key.replace('-', '_').upper()}": text})
    assert parsed([])[setting.name] == value


@each_setting
def test_a_setting_is_part_of_the_identity_as_declared(setting: Declared) -> None:
    assert setting.identity == any(
        setting.name in part.__dataclass_fields__ for part in (FactorSettings, IdentitySettings)
    )
    if setting.identity:
        assert config_digest(changed(setting)) != config_digest(CONFIG)
    # Fields of these names in the configuration are the ids and the tags of the queries that are chosen.
    elif setting.name not in ("query_ids", "tags"):
        assert setting.name not in RunConfig.model_fields


@each_setting
def test_a_setting_stands_in_the_document_as_declared(setting: Declared) -> None:
    schema = document_schema()["properties"]["metadata"]
    if not setting.document:
        assert setting.setting.document in ("", None)
        return
    value = other_value(setting)
    shown = value[0] if setting.name in FactorSettings.__dataclass_fields__ else value
    assert about(changed(setting))[setting.document] == shown
    assert setting.document in schema["required"]
    assert schema["properties"][setting.document]["description"]


@for_each("wrong", [("--repeat", "0"), ("--timeout", "0"), ("--temperature", "nan"), ("--seed", "x")])
def test_a_value_out_of_bounds_is_refused_where_it_is_given(wrong: tuple[str, str]) -> None:
    option, value = wrong
    with pytest.raises(click.BadParameter):
        parsed([option, value])
    with pytest.raises(ValueError, match="validation error"):
        RunConfig(**CONFIG.model_dump() | {option[2:]: value})


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


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


@for_each(
    "name",
    [
        "OPENAI_API_KEY", "openai_api_key", "APIKEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GH_TOKEN",
        "GITHUB_PAT", "HF_TOKEN", "POSTGRES_PASSWORD", "MYSQL_PASSWD", "MYSQL_PWD", "admin_pwd_2", "API_KEY2",
        "KEY1", "ACCESS_TOKEN3", "SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "TRIALBED_UPSTREAM_KEY",
        "TRIALBED_SERVER_TOKEN", "SENTRY_DSN", "SESSION_COOKIE", "GPG_PASSPHRASE",
    ],
)  # fmt: skip
def test_secret_names(name):
    assert is_secret(name)


@for_each(
    "name",
    ["PATH", "PWD", "OLDPWD", "HOME", "KEYBOARD", "KEYNOTE", "TOKENIZERS_PARALLELISM", "TIKTOKEN_CACHE_DIR", "AUTHOR"],
)
def test_other_names(name):
    assert not is_secret(name, "/usr/bin")


def test_a_url_with_a_password_is_secret_whatever_its_name():
    assert is_secret("DATABASE", "postgresql+psycopg://me:word@host/db")
    assert not is_secret("DATABASE", "postgresql://host:5432/db")


def test_values_come_longest_first_and_short_ones_not_at_all():
    environment = {"A_KEY": "longsecret", "B_KEY": "longsecret-and-more", "C_KEY": "short", "D": "notsecret"}
    assert secret_values(environment) == ("longsecret-and-more", "longsecret")


@given(st.text(), st.text(min_size=8), st.text())
def test_no_secret_survives(before, secret, after):
    values = secret_values({"X_TOKEN": secret})
    redacted = redact(before + secret + after, values)
    assert secret not in redacted or secret in REDACTED


def test_the_page_on_security_lists_the_variables_that_agents_get() -> None:
    page = Path(__file__).parents[4] / "docs" / "explanation" / "security.md"
    table = page.read_text(encoding="utf-8").partition("| variables | for |")[2].partition("\n\n")[0]
    listed = re.findall(r"`([A-Z_*]+)`", table)
    assert len(listed) > 30
    for name in listed:
        assert passed_variables({name.replace("*", "X"): "value"})
