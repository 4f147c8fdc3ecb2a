"""The oldest official SDKs that are supported, and the newest, read all that scripted models write."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.distributions import uv
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, registration
from support.trust import one_certificate
from support.truth import POLICIES

from trialbed.records import WireLog
from trialbed.wire import ChatClient, ModelMessage, OfferedTool
from trialbed.wire.dialects import CHAT, PATHS, dialect
from trialbed_scripted import FAULTS, call, script
from trialbed_scripted import serve as serve_model

pytestmark = pytest.mark.slow(40)

SDKS = ("openai==2.36.0", "anthropic==0.125.0")
"""The oldest that ``docs/reference/protocols.md`` names."""

DIALECTS = sorted({*PATHS.values()})
RESULT = '{"temperature": 48213}'
TURNS = {"none": 1, "partial": 1, "bad-json": 3, "unknown-tool": 3, "retry": 3, "loop": 6}
"""Policy -> its requests for one gold call; two for the others."""

NO_EVIDENCE = ("none", "partial", "giveup", "loop", "wrong-args")
"""Policies whose last text does not have the result."""

HANGS = {"silent", "slow"}
"""Faults that only take time."""


@pytest.fixture(scope="module", params=["oldest", "newest"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the oldest SDKs, and this one, which has the newest."""
    if request.param == "newest":
        return Path(sys.executable)
    folder = tmp_path_factory.mktemp("sdks") / "venv"
    uv("venv", "--quiet", "--python", sys.executable, str(folder))
    found = folder / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", str(found), *SDKS)
    return found


@pytest.fixture(autouse=True)
def one_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs read one certificate for each of their hundreds of clients, which use no TLS."""
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate(tmp_path / "certificate.pem")))


async def test_every_policy_is_played(serve: Serve, python: Path) -> None:
    client = await serve()
    url = str(client.base_url).rstrip("/")
    trials: dict[str, tuple[str, str, bool]] = {
        f"trial-{policy}-{name}-{int(stream)}": (policy, name, stream)
        for policy in POLICIES
        for name in DIALECTS
        for stream in (False, True)
    }
    for trial, (policy, _, _) in trials.items():
        await client.post("/control/trials", json=registration(trial=trial, model=f"scripted:{policy}"))
    asked = [(trial, f"{url}/t/{trial}", name, stream) for trial, (_, name, stream) in trials.items()]
    said = await _said(python, trials=asked)
    wrong = []
    for trial, (policy, name, _) in trials.items():
        log = WireLog.model_validate(await closed(client, trial))
        right, requests = ("48213" in said[trial]) == (policy not in NO_EVIDENCE), TURNS.get(policy, 2)
        statuses = [call.status for call in log.model_calls]
        if not right or statuses != [200] * requests or {call.dialect or CHAT for call in log.model_calls} != {name}:
            wrong.append((trial, said[trial], statuses))
    assert "\n".join(map(str, wrong)) == ""


async def test_what_readers_take_for_an_answer_is_one_for_the_sdks_under_every_fault(python: Path) -> None:
    with ExitStack() as models:
        urls = {
            f"{fault}, {name}, {stream}": (
                models.enter_context(serve_model(script(GOLD), faults=fault)).url,
                name,
                stream,
            )
            for fault in sorted(FAULTS.keys() - HANGS)
            for name in DIALECTS
            if not FAULTS[fault].edits or name in FAULTS[fault].edits
            for stream in (False, True)
        }
        asked = [(case, url.removesuffix("/v1"), name, stream) for case, (url, name, stream) in urls.items()]
        said = await _said(python, trials=asked)
        answered = {case for case, (url, name, stream) in urls.items() if await _is_answered(url, name, stream=stream)}
    failed = {case for case, words in said.items() if "Error: " in words or "Exception: " in words}
    assert said.keys() == urls.keys()
    assert failed & answered - STRICTER == set()
    assert len(answered) > len(urls) / 3


async def test_every_documented_call_that_concerns_tools_is_answered(serve: Serve, python: Path) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    said = await _said(python, trials=[], calls=f"{client.base_url}/t/{TRIAL}")
    assert [f"{name}: {words}" for name, words in said.items() if words.startswith("failed: ")] == []
    assert len(said) == 27
    log = WireLog.model_validate(await closed(client))
    assert {call.status for call in log.model_calls} == {200}
    assert {call.dialect or CHAT for call in log.model_calls} == set(DIALECTS)


GOLD = call(TOOL["name"], city="Oslo")

STRICTER = {
    # OpenAI's SDK wants a stream to end with `response.completed`, also where the response is incomplete.
    "finish, responses, True",
    # The SDKs look blocks and items up by the index that is missing.
    "no_index, messages, True",
    "no_index, responses, True",
}
"""Cases in which an SDK takes for an error what readers take for an answer."""


async def _is_answered(url: str, name: str, *, stream: bool) -> bool:
    """Return whether a reader takes what comes for an answer."""
    tools = [OfferedTool(TOOL["name"], "d", SCHEMA)]
    written = dialect(name).write_request(
        "m", [ModelMessage(role="user", content="Oslo?")], {"stream": stream, "max_tokens": 500}, tools
    )
    async with ChatClient(url, spoken=name, attempts=1, timeout=60) as client:
        return (await client.complete(written)).problem is None


async def _said(python: Path, **asked: Any) -> dict[str, str]:
    flat = {"name": TOOL["name"], "description": "d"}
    tools = {
        "chat_completions": [{"type": "function", "function": {**flat, "parameters": SCHEMA}}],
        "messages": [{**flat, "input_schema": SCHEMA}],
        "responses": [{**flat, "type": "function", "parameters": SCHEMA, "strict": False}],
    }
    task: dict[str, Any] = {"question": "Oslo?", "result": RESULT, "tools": tools, **asked}
    program = Path(__file__).with_name("sdk_program.py")
    done = await asyncio.to_thread(
        subprocess.run,
        [str(python), str(program)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))
