"""The environment of a worker."""

from __future__ import annotations

import os
import sys

import pytest

from trialbed.worker import WORKER_MARK, worker_command, worker_environment

USERS = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "OPENAI_API_KEY": "sk-1",
    "OPENAI_BASE_URL": "https://elsewhere",
    "LANGCHAIN_TRACING_V2": "true",
    "GROQ_API_KEY": "gsk",
    "REDIS": "redis://:word@host",
    "PYTHONHASHSEED": "random",
}


def test_secrets_and_redirections_are_left_out():
    environment = worker_environment("mark", USERS)
    assert {"PATH", "HOME"} <= set(environment)
    assert not {"OPENAI_API_KEY", "OPENAI_BASE_URL", "GROQ_API_KEY", "REDIS"} & set(environment)


def test_nothing_says_where_the_datasets_and_the_store_are():
    places = {"TRIALBED_DATA_DIR": "/data", "TRIALBED_STATE_DIR": "/state", "PWD": "/project", "OLDPWD": "/project"}
    assert not set(places) & set(worker_environment("mark", USERS | places))


def test_telemetry_is_off_and_hashing_is_fixed():
    environment = worker_environment("mark", USERS)
    assert environment["PYTHONHASHSEED"] == "0"
    assert environment["LANGCHAIN_TRACING_V2"] == environment["LANGSMITH_TRACING"] == "false"
    assert environment["OPENAI_AGENTS_DISABLE_TRACING"] == "1"
    assert environment["CREWAI_DISABLE_TELEMETRY"] == "true"
    assert environment["AGNO_TELEMETRY"] == "false"


def test_the_worker_is_marked():
    assert worker_environment("mark", USERS)[WORKER_MARK] == "mark"


def test_a_proxy_is_not_asked_for_the_rigs_own_server():
    environment = worker_environment("mark", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "intranet"})
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost,::1"
    assert environment["no_proxy"] == "127.0.0.1,localhost,::1"


def test_no_host_is_named_where_there_is_no_proxy(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert not {"NO_PROXY", "no_proxy"} & set(worker_environment("mark", USERS))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert worker_environment("mark", USERS)["no_proxy"] == "127.0.0.1,localhost,::1"


def test_relative_import_paths_survive_the_change_of_folder():
    environment = worker_environment("mark", {"PYTHONPATH": os.pathsep.join(["src", "/abs"])})
    assert environment["PYTHONPATH"].split(os.pathsep) == [os.path.abspath("src"), "/abs"]


def test_the_command_names_the_interpreter():
    assert worker_command("agno") == [sys.executable, "-m", "trialbed.worker", "--framework", "agno"]
    assert worker_command("agno", "/envs/agno/bin/python")[0] == "/envs/agno/bin/python"


@pytest.mark.parametrize(
    "name",
    [
        "SLACK_WEBHOOK_URL",
        "AUTHORIZATION",
        "BEARER",
        "JWT",
        "CI_JOB_JWT",
        "DB_PW",
        "ROOTPW",
        "LDAP_BINDPW",
        "BW_SESSION",
        "PASSCODE",
        "OTP_SEED",
        "PRIVATE_PEM",
        "LITELLM_SALT",
        "DATABASE_URL",
        "AZURE_STORAGE_CONNECTION_STRING",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "TRIALBED_SERVER_TOKEN",
    ],
)
def test_a_variable_that_no_program_needs_is_left_out_whatever_it_holds(name):
    assert name not in worker_environment("mark", {name: "hunter22"})


@pytest.mark.parametrize("name", ["PATH", "LC_ALL", "https_proxy", "SSL_CERT_FILE", "CUDA_VISIBLE_DEVICES", "HF_HOME"])
def test_what_programs_need_is_passed(name):
    assert worker_environment("mark", {name: "value"})[name] == "value"


def test_variables_can_be_named_that_agents_need():
    named = {"TRIALBED_PASS_ENV": "AGENT_MODE, CRM_TOKEN", "AGENT_MODE": "quick", "CRM_TOKEN": "word", "OTHER": "1"}
    environment = worker_environment("mark", named)
    assert (environment["AGENT_MODE"], environment["CRM_TOKEN"]) == ("quick", "word")
    assert not {"OTHER", "TRIALBED_PASS_ENV"} & set(environment)
