"""What is secret, and redaction."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.settings import REDACTED, is_secret, passed_variables, secret_values
from trialbed.settings._secrets import _PASSED
from trialbed.wire.redaction import redact


@for_each(
    "name",
    [
        "OPENAI_API_KEY",
        "openai_api_key",
        "APIKEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "GH_TOKEN",
        "GITHUB_PAT",
        "HF_TOKEN",
        "POSTGRES_PASSWORD",
        "MYSQL_PASSWD",
        "MYSQL_PWD",
        "admin_pwd_2",
        "API_KEY2",
        "KEY1",
        "ACCESS_TOKEN3",
        "SSH_AUTH_SOCK",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "TRIALBED_UPSTREAM_KEY",
        "TRIALBED_SERVER_TOKEN",
        "SENTRY_DSN",
        "SESSION_COOKIE",
        "GPG_PASSPHRASE",
    ],
)
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


def test_a_secret_within_a_secret_goes_whole():
    assert redact("key=longsecret-and-more!", ("longsecret-and-more", "longsecret")) == f"key={REDACTED}!"


def test_this_process_knows_its_own(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789")
    assert redact("Incorrect key sk-0123456789 given") == f"Incorrect key {REDACTED} given"


@given(st.text(), st.text(min_size=8), st.text())
def test_no_secret_survives(before, secret, after):
    values = secret_values({"X_TOKEN": secret})
    redacted = redact(before + secret + after, values)
    assert secret not in redacted or secret in REDACTED


def test_the_page_on_security_lists_the_variables_that_agents_get() -> None:
    page = Path(__file__).parents[4] / "docs" / "explanation" / "security.md"
    table = page.read_text(encoding="utf-8").partition("| variables | for |")[2].partition("\n\n")[0]
    listed = re.findall(r"`([A-Z_*]+)`", table)
    assert sorted(name.replace(r"\w+", "*").replace(r"\w*", "*") for name in _PASSED.pattern.split("|")) == sorted(
        listed
    )
    for name in listed:
        assert passed_variables({name.replace("*", "X"): "value"})
