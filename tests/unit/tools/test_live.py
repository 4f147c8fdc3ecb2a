"""Live tools: MCP servers and HTTP requests whose answers are kept and given again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.cases import for_each
from support.live_tools import ADD, FAIL, IMAGE, KEY, LIST, SERVER, VARIABLE, Trial, starts, written

from trialbed.catalogs import open_dataset
from trialbed.contracts import ApiRefused, Dataset
from trialbed.errors import DataError, UsageError
from trialbed.tasks import AnsweredApi
from trialbed.wire.redaction import Redaction
from trialbed_tools.command import command
from trialbed_tools.forms import ServerForm
from trialbed_tools.live import CallAnswer, LiveBody, ToolsUnreachable, TrialCalls
from trialbed_tools.servers import list_server, tool_answer
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


async def test_trials_share_a_server_whose_calls_change_nothing(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, state=False))
    await trial.call(LIST)
    await trial.end()
    trial.begin()
    assert await trial.call(VARIABLE, name="HOME")
    assert starts(tmp_path) == 1
    await trial.end_run()


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


async def test_what_a_server_says_beside_its_answers_is_left(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "talks"))
    assert await trial.call(ADD, item="lamp") == "1 items"
    assert await trial.call(IMAGE) == [{"type": "image", "mimeType": "image/png", "base64_characters": 4}, "hi"]
    with pytest.raises(ApiRefused, match="no such tool"):
        await trial.call("other")
    await trial.end()


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


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, command="./nowhere --now")
    with pytest.raises(ToolsUnreachable, match=r"the server has ended; it wrote: \./nowhere cannot be started: "):
        await Trial(path).call(LIST)


def test_a_command_names_the_new_folder_too(tmp_path: Path) -> None:
    serve = f"'echo $0 > place; test -d $(dirname $0) && exec {sys.executable} -I {SERVER}'"
    list_server(ServerForm(command=f"sh -c {serve} ${{TRIAL_FOLDER}}/cart"), tmp_path, {}, Redaction(()))
    place = Path((tmp_path / "place").read_text(encoding="utf-8").strip())
    assert place.is_absolute()
    assert not place.parent.exists()


def test_a_server_lists_its_tools(tmp_path: Path) -> None:
    form = ServerForm(command=f"{sys.executable} -I {SERVER}")
    found = list_server(form, tmp_path, {}, Redaction(()))
    assert [tool["name"] for tool in found.value["tools"]] == ["cart.add", "list", "variable", "fail", "image"]
    with pytest.raises(ToolsUnreachable, match=r"true: the server has ended"):
        list_server(ServerForm(command="true"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match=r"the server refuses to begin: .*\[redacted\]"):
        list_server(ServerForm(command=f"{sys.executable} -I {SERVER} refuses"), tmp_path, {}, Redaction(["not today"]))


def test_a_server_that_is_silent_is_not_waited_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_tools.servers.IMPORT_SECONDS", 0.1)
    with pytest.raises(ToolsUnreachable, match=r"sleep 60: the server lists no tools within 0\.1 s"):
        list_server(ServerForm(command="sleep 60"), tmp_path, {}, Redaction(()))


def test_an_import_says_what_it_waits_for(tmp_path: Path) -> None:
    found = CliRunner().invoke(command, ["import", "--mcp", "true", "-o", str(tmp_path / "shop.yaml")])
    assert found.stderr.startswith("waiting for true to list its tools, for up to 300 s\n")


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
    ("answers: recorded", "recorded needs mcp, or a url and tools with a request"),
    ("mcp: {}", "shop.yaml:1: mcp: value error, give a command or a url"),
    ("mcp: {command: a, url: 'http://b'}", "mcp: value error, give a command or a url"),
    ("mcp: {url: b}", "shop.yaml:1: mcp.url: string should match pattern"),
    ("mcp: {command: a, memory: 1}", "mcp.memory: input should be greater"),
    ("mcp: {command: a, environment: [B]}", "mcp.environment: input should be a valid dict"),
    ("{answers: live, mcp: {command: a, environment: {KEY: b}}", "mcp.environment.KEY: keys do not stand in files"),
    ("{answers: live, mcp: {command: 'serve --token 0123456789'}", "mcp.command: keys do not stand in files"),
    (
        "{answers: live, url: 'http://a', headers: {Cookie: b}",
        "headers.Cookie: keys do not stand in files; write ${NAME}",
    ),
    ("{answers: recorded, mcp: {command: a, environment: {KEY: b}}", "shop.yaml:1: mcp.environment.KEY: keys do not"),
    ("{answers: recorded, mcp: {command: 'serve --token 0123456789'}", "shop.yaml:1: mcp.command: keys do not stand"),
    ("{answers: recorded, mcp: {url: 'http://a/?api_key=b'}", "shop.yaml:1: mcp.url.api_key: keys do not stand"),
    ("{answers: recorded, url: 'http://a', headers: {Cookie: b}", "shop.yaml:1: headers.Cookie: keys do not stand"),
    ("{answers: schema, url: 'http://a', headers: {Cookie: b}", "shop.yaml:1: headers.Cookie: keys do not stand"),
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


def test_versions_of_live_tools_differ(tmp_path: Path) -> None:
    def source(**mcp: Any) -> str:
        world = open_world(written(tmp_path, answers="recorded", **mcp))
        (body, *_) = [tool.body for tool in world.tools if isinstance(tool, AnsweredApi)]
        assert isinstance(body, LiveBody)
        assert isinstance(body.make_owner(None), TrialCalls)
        return body.source()

    first = source()
    assert first == source()
    assert first != source(state=False)
    (tmp_path / "shop.answers.jsonl").write_text('{"tool": "a", "arguments": {}, "response": 1}\n', encoding="utf-8")
    assert first != source()


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
