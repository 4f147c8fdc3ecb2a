"""The command that starts a run's server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support.servers import listening, until

from trialbed.contracts import OpenedModel
from trialbed.engine import ServerProcess, ServerStart, server, server_start
from trialbed.errors import UsageError
from trialbed.preparation import RunOptions
from trialbed.records import TrialRegistration
from trialbed.settings import SIMULATOR_KEY, UPSTREAM_KEY, UPSTREAM_KEYS
from trialbed_server import ServerOptions, create_app


def settings(**options: Any) -> dict[str, Any]:
    given = RunOptions(frameworks=("reference",), response_cache=Path("responses.db"), **options)
    found: dict[str, Any] = json.loads(server_start(given, ()).command[-1])
    return found


def test_each_endpoint_has_its_own_key_and_none_stands_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")
    given = RunOptions(base_url="http://a/v1/", response_cache=tmp_path / "responses.db")
    models = [
        OpenedModel(model="a", base_url="http://a/v1", api_key="key-1"),
        OpenedModel(model="b", base_url="http://b/v1", api_key="key-2"),
        OpenedModel(model="c", base_url="http://c/v1"),
        OpenedModel(model="scripted:gold"),
    ]
    start = server_start(given, models)
    named = json.loads(start.command[-1])
    assert (named["upstream"], named["other_upstreams"]) == ("http://a/v1", ["http://b/v1", "http://c/v1"])
    assert "key-" not in str(start.command)
    environment = start.environment("token")
    assert (environment[UPSTREAM_KEY], environment[UPSTREAM_KEYS]) == ("key-1", '{"http://b/v1": "key-2"}')


def test_simulators_may_have_an_endpoint_of_their_own_and_its_key_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = settings(simulator_model="m@http://c/v1")
    assert (found["simulator_model"], found["simulator_upstream"]) == ("m", "http://c/v1")
    assert "simulator_upstream" not in settings(simulator_model="m", base_url="http://a/v1")
    monkeypatch.setenv("SIMULATOR_KEY", "key-3")
    given = {"endpoint_key_env": ("c=SIMULATOR_KEY",), "response_cache": tmp_path / "responses.db"}
    own, shared = (server_start(RunOptions(simulator_model=model, **given), ()) for model in ("m@http://c/v1", "m"))
    assert own.environment("token")[SIMULATOR_KEY] == "key-3"
    assert SIMULATOR_KEY not in shared.environment("token")


def test_a_server_does_not_do_for_tests_whose_simulators_have_other_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = RunOptions(
        simulator_model="m@http://c/v1", endpoint_key_env=("c=SIMULATOR_KEY",), response_cache=tmp_path / "responses.db"
    )

    def start(key: str) -> ServerStart:
        monkeypatch.setenv("SIMULATOR_KEY", key)
        return server_start(given, [OpenedModel(model="scripted:gold")])

    assert start("key-1") == start("key-1")
    assert start("key-1") != start("key-2")


def test_keys_of_servers_that_the_user_starts_reach_no_endpoint_of_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (UPSTREAM_KEY, UPSTREAM_KEYS, SIMULATOR_KEY):
        monkeypatch.setenv(name, '{"http://a/v1": "key-of-another-server"}')
    models = [OpenedModel(model=name, base_url=f"http://{name}/v1") for name in "ab"]
    environment = server_start(RunOptions(response_cache=tmp_path / "responses.db"), models).environment("token")
    assert "key-of-another-server" not in str(environment)


TOKEN = "a-token-of-the-user"


@pytest.mark.parametrize(("token", "workers", "refused"), [("", True, True), ("", False, False), (TOKEN, True, False)])
async def test_a_server_that_lets_workers_control_trials_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, workers: bool, refused: bool
) -> None:
    app = create_app(ServerOptions(cache=str(tmp_path / "responses.db"), token=token or None))
    monkeypatch.setenv("TRIALBED_SERVER_TOKEN", token)
    async with listening(app, lifespan="on", http=app.protocol) as url:
        options = RunOptions(frameworks=("reference",), server_url=f"{url}/virtual")

        async def closed_trial() -> str:
            async with server(options, workers=workers) as control:
                await control.open_trial(TrialRegistration(trial="trial-000001", model="scripted:gold"))
                async with aiohttp.ClientSession(url) as agent, agent.delete("/control/trials/trial-000001") as reply:
                    closed = reply.status
                return (await control.close_trial("trial-000001")).trial if closed == 401 else f"closed: {closed}"

        if refused:
            with pytest.raises(UsageError, match=f"server at {url} asks for no token, .*export TRIALBED_SERVER_TOKEN="):
                await closed_trial()
        else:
            assert await closed_trial() == ("trial-000001" if token else "closed: 200")


PRINTS = """
import json, sys
print(json.dumps({"url": "http://127.0.0.1:9"}), flush=True)
print("x" * 1_000_000, flush=True)
open(sys.argv[1], "w").close()
sys.stdin.read()
"""


async def test_output_of_plugins_does_not_hold_the_server_up(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    process = ServerProcess(ServerStart((sys.executable, "-c", PRINTS, str(printed)), ()))
    try:
        assert await process.address() == "http://127.0.0.1:9"
        await until(printed.exists)
    finally:
        process.stop()
