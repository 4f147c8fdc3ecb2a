"""The process of a worker: it gets no secret, reports nothing, asks the server itself, and ends as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import httpx
import pytest
from support.cases import for_each

from trialbed.worker import (
    SUPERVISED,
    WORKER_MARK,
    Started,
    ask_directly,
    message_line,
    read_reply,
    supervised_command,
    waited_at,
    worker_command,
    worker_environment,
)

LEFT_OUT = """
    OPENAI_API_KEY OPENAI_BASE_URL GROQ_API_KEY REDIS SLACK_WEBHOOK_URL AUTHORIZATION BEARER JWT CI_JOB_JWT DB_PW ROOTPW
    LDAP_BINDPW BW_SESSION PASSCODE OTP_SEED PRIVATE_PEM LITELLM_SALT DATABASE_URL AZURE_STORAGE_CONNECTION_STRING
    OTEL_EXPORTER_OTLP_HEADERS TRIALBED_SERVER_TOKEN TRIALBED_DATA_DIR TRIALBED_STATE_DIR PWD OLDPWD
"""
"""Keys and addresses, and variables that say where the datasets and the store are."""
PASSED = "PATH HOME LC_ALL https_proxy SSL_CERT_FILE CUDA_VISIBLE_DEVICES HF_HOME"
SERVER = "http://bench.example:8080"


def test_a_worker_gets_what_programs_need_and_nothing_else() -> None:
    left_out, passed = LEFT_OUT.split(), PASSED.split()
    environment = worker_environment("mark", dict.fromkeys([*left_out, *passed], "value"))
    assert not {*left_out} & {*environment}
    assert {environment[name] for name in passed} == {"value"}
    named = {"TRIALBED_PASS_ENV": "AGENT_MODE, CRM_TOKEN", "AGENT_MODE": "quick", "CRM_TOKEN": "word", "OTHER": "1"}
    environment = worker_environment("mark", named)
    assert (environment["AGENT_MODE"], environment["CRM_TOKEN"]) == ("quick", "word")
    assert not {"OTHER", "TRIALBED_PASS_ENV"} & set(environment)


def test_telemetry_is_off_and_import_paths_survive_the_change_of_folder() -> None:
    given = {"LANGCHAIN_TRACING_V2": "true", "PYTHONHASHSEED": "random", "PYTHONPATH": os.pathsep.join(["src", "/abs"])}
    environment = worker_environment("mark", given)
    for name, value in {
        "LANGCHAIN_TRACING_V2": "false",
        "LANGSMITH_TRACING": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "AGNO_TELEMETRY": "false",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([os.path.abspath("src"), "/abs"]),
        WORKER_MARK: "mark",
    }.items():
        assert environment[name] == value, name
    assert worker_command("agno") == [sys.executable, "-m", "trialbed.worker", "--framework", "agno"]
    assert worker_command("agno", "/envs/agno/bin/python")[0] == "/envs/agno/bin/python"


def test_a_proxy_is_not_asked_for_the_server_since_it_would_see_the_tokens_of_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asks_proxy(url: str) -> bool:
        client = httpx.Client()
        return client._transport_for_url(httpx.URL(url)) is not client._transport

    environment = worker_environment("mark", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "intranet"})
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost,::1"
    assert environment["no_proxy"] == "127.0.0.1,localhost,::1"
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "platform", "linux")
    ask_directly(SERVER)
    assert "no_proxy" not in os.environ, "without a proxy, no host is named: it makes clients slower"
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "intranet")
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert asks_proxy(SERVER)
    for _ in range(2):
        ask_directly(SERVER)
    assert not asks_proxy(SERVER)
    assert asks_proxy("http://elsewhere.example")
    assert os.environ["no_proxy"] == os.environ["NO_PROXY"] == "intranet,bench.example"


def test_a_print_of_a_framework_is_no_reply() -> None:
    line = message_line(Started(nonce="theirs", trial="t"))
    assert read_reply(line, "theirs").nonce == "theirs"
    for other, nonce in ((line, "ours"), (b"loading ...", "theirs")):
        with pytest.raises(ValueError, match=r"nonce|JSON"):
            read_reply(other, nonce)


class Waited(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/t/one/waited" else 404)
        self.end_headers()
        self.wfile.write(b'{"waited": 2.5}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


async def test_the_deadline_is_later_by_what_the_server_says_and_stays_if_it_does_not_answer() -> None:
    with HTTPServer(("127.0.0.1", 0), Waited) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        waited = waited_at(f"http://127.0.0.1:{server.server_port}/")
        assert [await waited("one"), await waited("gone")] == [2.5, 0.0]
        server.shutdown()
    assert await waited_at("http://127.0.0.1:9")("one") == 0.0


@pytest.mark.skipif(not SUPERVISED, reason="only Linux has subreapers")
@for_each(
    ("code", "status"),
    [
        ("sys.exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
        ("os.killpg(0, signal.SIGTERM)", -signal.SIGTERM),
        ("os.kill(os.getppid(), signal.SIGTERM); sys.exit(8)", 8),
    ],
)
def test_the_supervisor_ends_as_the_worker_does(code: str, status: int) -> None:
    command = supervised_command([sys.executable, "-I", "-S", "-c", "import os, signal, sys\n" + code])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.wait(60) == status


def test_telemetry_stays_off_even_where_its_variable_is_passed_on() -> None:
    found = worker_environment("mark", {"TRIALBED_PASS_ENV": "LANGSMITH_TRACING", "LANGSMITH_TRACING": "true"})
    assert found["LANGSMITH_TRACING"] == "false"
