"""The oldest official SDKs that are supported, and the newest, read all that scripted models write."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.distributions import uv
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, registration
from support.trust import one_certificate

from trialbed.records import WireLog
from trialbed.wire.dialects import CHAT, PATHS

SDKS = ("openai==2.36.0", "anthropic==0.125.0")
"""The oldest that ``docs/reference/protocols.md`` names."""

FLAT = {"name": TOOL["name"], "description": "d"}
TOOLS = {
    "chat_completions": [{"type": "function", "function": {**FLAT, "parameters": SCHEMA}}],
    "messages": [{**FLAT, "input_schema": SCHEMA}],
    "responses": [{**FLAT, "type": "function", "parameters": SCHEMA, "strict": False}],
}


@pytest.fixture(params=["oldest", "newest"])
def python(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An interpreter with the oldest SDKs, and this one, which has the newest."""
    if request.param == "newest":
        return Path(sys.executable)
    found = tmp_path / "venv" / "bin" / "python"
    uv("venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv"))
    uv("pip", "install", "--quiet", "--python", str(found), *SDKS)
    return found


@pytest.mark.slow(20)
async def test_every_documented_call_that_concerns_tools_is_answered(
    serve: Serve, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One certificate is read for each of the clients, which use no TLS.
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate(tmp_path / "certificate.pem")))
    client = await serve()
    await client.post("/control/trials", json=registration())
    task = {"url": f"{client.base_url}/t/{TRIAL}", "question": "Oslo?", "tools": TOOLS}
    command = [str(python), str(Path(__file__).with_name("sdk_program.py"))]
    done = await asyncio.to_thread(
        subprocess.run, command, input=json.dumps(task), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = dict(map(json.loads, done.stdout.splitlines()))
    assert [f"{name}: {words}" for name, words in said.items() if words.startswith("failed: ")] == []
    assert len(said) == 27
    log = WireLog.model_validate(await closed(client))
    assert {call.status for call in log.model_calls} == {200}
    assert {call.dialect or CHAT for call in log.model_calls} == {*PATHS.values()}
