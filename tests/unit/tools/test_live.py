"""Live tools, whose answers are kept and given again, and their ends."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.cases import for_each
from support.live_tools import ADD, FAIL, KEY, LIST, SERVER, VARIABLE, Trial, starts, written
from support.processes import is_alive
from support.servers import until

from trialbed.catalogs import open_dataset
from trialbed.contracts import ApiRefused, Dataset
from trialbed.errors import DataError, UsageError
from trialbed.wire.redaction import Redaction
from trialbed.worker import SUPERVISED
from trialbed_tools.forms import ServerForm
from trialbed_tools.live import CallAnswer, KeptAnswers, LiveTools, ToolsUnreachable, TrialCalls, UnkeptAnswer
from trialbed_tools.servers import list_server, server_connection, tool_answer
from trialbed_tools.worlds import open_world


async def test_each_trial_has_a_server_of_its_own_and_the_same_calls_are_answered_from_the_file(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path))
    assert await trial.call(ADD, item="lamp") == "1 items"
    first = await trial.call(LIST)
    assert first["items"] == ["lamp"]
    await trial.end()
    trial.begin()
    # Neither call reaches a server; the third does, once it is in the same state.
    assert await trial.call(ADD, item="lamp") == "1 items"
    assert await trial.call(LIST) == first
    assert starts(tmp_path) == 1
    assert await trial.call(ADD, item="chair") == "2 items"
    assert (await trial.call(LIST))["items"] == ["lamp", "chair"]
    assert starts(tmp_path) == 2
    await trial.end()
    trial.begin()
    assert (await trial.call(LIST))["items"] == []
    await trial.end()


async def test_kept_answers_are_given_without_the_server(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path))
    await trial.call(ADD, item="lamp")
    with pytest.raises(ApiRefused, match="it failed"):
        await trial.call(FAIL)
    await trial.end()
    trial = Trial(written(tmp_path, answers="recorded"))
    assert await trial.call(ADD, item="lamp") == "1 items"
    with pytest.raises(ApiRefused, match="it failed"):
        await trial.call(FAIL)
    with pytest.raises(ApiRefused, match="no answer to this call is recorded"):
        await trial.call(LIST)
    await trial.end()
    assert starts(tmp_path) == 1


async def test_a_server_has_few_variables_and_its_keys_are_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", KEY[::-1])
    monkeypatch.setenv("SHOP_KEY", KEY)
    own = {"SHOP_KEY": "${SHOP_KEY}", "PLACE": "${TRIAL_FOLDER}/cart"}
    trial = Trial(written(tmp_path, environment=own))
    assert (await trial.call(VARIABLE, name="OTHER_TOKEN"))["value"] is None
    assert KEY not in str(await trial.call(VARIABLE, name="SHOP_KEY"))
    place = await trial.call(VARIABLE, name="PLACE")
    assert Path(place["value"]).parent.is_dir()
    assert place["folder"] == str(tmp_path)
    await trial.end()
    assert not Path(place["value"]).parent.exists()
    assert KEY not in (tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8")
    monkeypatch.delenv("SHOP_KEY")
    with pytest.raises(DataError, match=r"shop\.yaml:1: answers: mcp\.environment: the variable SHOP_KEY is not set"):
        open_world(tmp_path / "shop.yaml")


HABITS = {
    "eats": "the server has ended: it used more than 100 MiB",
    "ends": "the server has ended; it wrote: no more of [redacted]",
    "errs": "the server answers with an error: broken",
    "refuses": "the server refuses to begin: ",
}


@pytest.mark.parametrize("habit", HABITS)
async def test_a_server_that_fails_is_no_fault_of_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, habit: str
) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    path = written(tmp_path, habit, memory=100, environment={"SHOP_KEY": "${SHOP_KEY}"})
    trial = Trial(path)
    with pytest.raises(ToolsUnreachable) as raised:
        await trial.call(LIST)
    assert HABITS[habit] in str(raised.value)
    assert KEY not in str(raised.value)
    await trial.end()
    assert not (tmp_path / "shop.answers.jsonl").exists()


@for_each(
    ("result", "answer"),
    [
        ({"content": [{"type": "text", "text": '{"a": 1}'}]}, CallAnswer('{"a": 1}')),
        (
            {"content": [{"type": "text", "text": "[DIR] a"}, {"type": "text", "text": "b"}], "structuredContent": {}},
            CallAnswer("[DIR] a\nb"),
        ),
        ({"content": []}, CallAnswer("")),
        ({"content": "x", "structuredContent": [1]}, CallAnswer([1])),
        ({"isError": True}, CallAnswer(error="the tool failed")),
        ({"structuredContent": {}}, CallAnswer({})),
        (
            {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "aGk=", "x": 1}}]},
            CallAnswer({"type": "resource", "uri": "a:b", "base64_characters": 4}),
        ),
    ],
)
def test_a_result_is_an_answer(result: dict[str, Any], answer: CallAnswer) -> None:
    assert tool_answer(result) == answer


FAULTS = [
    ("answers: live", "shop.yaml:1: answers: live needs mcp, or a url and tools with a request"),
    ("mcp: {}", "shop.yaml:1: mcp: value error, give a command or a url"),
    ("mcp: {url: b}", "shop.yaml:1: mcp.url: string should match pattern"),
    ("{answers: live, mcp: {command: a, environment: {KEY: b}}", "mcp.environment.KEY: do not write keys into files"),
    ("{answers: live, mcp: {command: 'serve --token 0123456789'}", "mcp.command: do not write keys into files"),
    (
        "{answers: live, url: 'http://a', headers: {Cookie: b}",
        "headers.Cookie: do not write keys into files; write ${NAME}",
    ),
    (
        "{answers: recorded, mcp: {command: a, environment: {KEY: b}}",
        "shop.yaml:1: mcp.environment.KEY: do not write keys",
    ),
    ("{answers: recorded, mcp: {url: 'http://a/?api_key=b'}", "shop.yaml:1: mcp.url.api_key: do not write keys"),
    ("{answers: live, url: 'http://a', headers: {A: '${NO_SUCH_1}'}", "headers: the variable NO_SUCH_1 is not set"),
]


@for_each(("text", "says"), FAULTS)
def test_a_fault_of_a_live_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    tools = "tools: [{function: {name: a}, request: {path: /}}]"
    path = tmp_path / "shop.yaml"
    path.write_text(f"{text}, {tools}}}" if text.startswith("{") else f"{text}\n{tools}", encoding="utf-8")
    if "needs" in says:
        path.write_text(f"{text}\ntools: [function: {{name: a}}]", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        open_world(path)
    assert says in str(raised.value)


def test_the_tools_of_a_server_are_kept_beside_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text("tasks: [{query: Add it., tools: [cart_add]}]", encoding="utf-8")
    command = f"{sys.executable} -I {SERVER}"

    def opened(address: str = command, answers: str | None = None) -> Dataset:
        return open_dataset(str(tmp_path / "desk.yaml"), tmp_path, [address], answers)

    first, second = opened(), opened()
    assert starts(tmp_path) == 1
    assert first.digest() == second.digest()
    assert [ref.api_name for ref in second.functions] == ["cart_add", "list", "variable", "fail", "image"]
    assert {path.name for path in second.files} == {"desk.yaml", "desk.mcp.yaml", "desk.mcp.answers.jsonl"}
    assert {body.provenance for body in opened(answers="recorded").functions.values()} == {"recorded"}
    assert not opened(answers="schema").functions
    assert opened(answers="model").simulator == "llm"
    with pytest.raises(UsageError, match=r"desk\.mcp\.yaml has the tools of another server: remove it"):
        opened("true")
    (tmp_path / "desk.mcp.yaml").unlink()
    with pytest.raises(ToolsUnreachable, match="true: the server has ended"):
        opened("true")
    assert not (tmp_path / "desk.mcp.yaml").exists()
    with pytest.raises(UsageError, match="--mcp and --tool-answers are for files of tasks"):
        open_dataset("mini", tmp_path, ["true"])


@for_each(
    ("text", "says"),
    [
        ("{", "shop.answers.jsonl:1: is not valid JSON"),
        (
            '{"tool": "a", "arguments": {}, "response": 1}\n\n{"tool": "a"}',
            "shop.answers.jsonl:3: an answer has a tool, its arguments",
        ),
        ('{"tool": 3, "arguments": {}}', "shop.answers.jsonl:1: an answer has a tool"),
        ('{"tool": "a", "arguments": {}}', "shop.answers.jsonl:1: an answer has a response or an error"),
        ('{"tool": "a", "arguments": {}, "reponse": 1}', ":1: unknown key 'reponse'; an answer has tool, arguments"),
        (
            '{"tool": "a", "arguments": {}, "response": "sk-0123\\u0034567"}',
            ":1: the file has a key from this program's environment",
        ),
    ],
)
def test_a_fault_of_kept_answers_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-01234567")
    path = tmp_path / "shop.answers.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        KeptAnswers(path, Redaction(())).find(("a", {}), ())
    assert "sk-0" not in str(raised.value)
    assert says in str(raised.value)


def test_an_answer_with_a_key_leaves_the_file_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "12345678")
    path = tmp_path / "shop.answers.jsonl"
    kept = KeptAnswers(path, Redaction(("12345678", "production", "87654321")))
    for call, answer in [
        (("get", {"id": 12345678}), "a"),
        (("get_12345678", {}), "a"),
        (("get", {}), {"id": 12345678}),
        (("get", {"id": 87654321}), "a"),
    ]:
        with pytest.raises(UnkeptAnswer, match="has a key from this program's environment"):
            kept.add(call, (), CallAnswer(answer))
    # The value of a variable that is no key may be the word for anything.
    kept.add(("production_status", {"of": "production"}), (), CallAnswer("in production"))
    assert kept.find(("production_status", {"of": "production"}), ()) == CallAnswer("in [redacted]")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"tool": "a", "arguments": {}, "response": "production"}\n')
    assert KeptAnswers(path, kept.redaction).find(("a", {}), ()) == CallAnswer("production")


def answers(folder: Path) -> KeptAnswers:
    return KeptAnswers(folder / "shop.answers.jsonl", Redaction(()))


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


UNKEPT = [(float("nan"),), (float("inf"),), (nested(5000),)]


class Answering:
    """Gives one answer."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.calls: list[dict[str, Any]] = []

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        self.calls.append(arguments)
        return CallAnswer(self.response)

    async def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("value", [value for (value,) in UNKEPT], ids=range(len(UNKEPT)))
async def test_what_no_file_can_have_is_neither_kept_nor_asked_for(tmp_path: Path, value: Any) -> None:
    answering = Answering(value)
    calls = TrialCalls(LiveTools(answers(tmp_path), lambda: answering, "shop", has_state=False))
    with pytest.raises(ToolsUnreachable, match="the answer cannot be kept: it "):
        await calls.call("a", {})
    # These are the model's own.
    with pytest.raises(ApiRefused, match="the call cannot be made: it "):
        await calls.call("a", {"value": value})
    assert answering.calls == [{}]
    answering.response = "b"
    assert await calls.call("a", {}) == "b"
    assert answers(tmp_path).find(("a", {}), ()) == CallAnswer("b")


def test_the_first_answer_of_two_programs_stays(tmp_path: Path) -> None:
    first, second = answers(tmp_path), answers(tmp_path)
    assert first.find(("a", {}), ()) is second.find(("a", {}), ()) is None
    assert first.add(("a", {}), (), CallAnswer(1)) == CallAnswer(1)
    assert second.add(("a", {}), (), CallAnswer(2)) == CallAnswer(1)
    assert second.add(("b", {}), (), CallAnswer(3)) == first.add(("b", {}), (), CallAnswer(4)) == CallAnswer(3)
    assert len(first.path.read_text(encoding="utf-8").splitlines()) == 2
    assert first.digest() == second.digest() == answers(tmp_path).digest()


async def test_a_trial_whose_server_fails_has_no_more_answers(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "crashes"))
    assert await trial.call(ADD, item="lamp") == "1 items"
    with pytest.raises(ToolsUnreachable, match="the server has ended"):
        await trial.call(FAIL)
    # A new server would say that the cart is empty.
    with pytest.raises(ToolsUnreachable, match="an earlier call got no answer"):
        await trial.call(LIST)
    await trial.end()
    assert len((tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def family(folder: Path) -> list[psutil.Process]:
    """The server, and its child in a session of its own."""
    processes = [psutil.Process(int(pid)) for pid in (folder / "started").read_text().split()]
    assert len(processes) == 2
    return processes


async def until_ended(processes: list[psutil.Process]) -> None:
    await until(lambda: not any(map(is_alive, processes)))


async def test_a_server_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "stays", environment={"PLACE": "${TRIAL_FOLDER}"}))
    place = (await trial.call("variable", name="PLACE"))["value"]
    processes = family(tmp_path)
    ending = asyncio.create_task(trial.end())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await until_ended(processes)
    await until(lambda: not os.path.lexists(place))


WRITES_FOR_EVER = "import sys\nwhile True: sys.stdout.write(chr(120) * 9999 + chr(10))"


async def test_a_server_that_writes_without_end_is_ended(tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-c", WRITES_FOR_EVER])
    connection = server_connection(ServerForm(command=command), tmp_path, {}, Redaction(()))
    async with asyncio.timeout(60):
        with pytest.raises(ToolsUnreachable, match="sends 10,000 lines and no answer"):
            await connection.list_tools()


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open("daemon", "w"), flush=True)
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    os._exit(0)
while not os.path.exists("daemon"): time.sleep(0.01)
"""


@pytest.mark.skipif(not SUPERVISED, reason="only Linux gives daemons back to a supervisor")
def test_a_daemon_that_a_server_leaves_is_ended(tmp_path: Path) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON, encoding="utf-8")
    command = f"sh -c '{sys.executable} daemon.py; exec {sys.executable} -I {SERVER}'"
    list_server(ServerForm(command=command), tmp_path, {}, Redaction(()))
    assert not psutil.pid_exists(int((tmp_path / "daemon").read_text()))
