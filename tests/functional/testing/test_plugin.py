"""Agents tested with the fixture, in a test suite of their author."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.warm import run_warm

from trialbed_scripted import call, say, script, serve

pytestmark = pytest.mark.slow(20)

AGENT = '''
import json
import psutil
import pytest
from openai import OpenAI
from trialbed import ApiRefused, Expect, call
from trialbed_scripted import call as play, say, script

def find_order(id: int) -> dict:
    """Find an order."""
    if id != 7:
        raise ApiRefused("no order " + str(id))
    return {"item": "lamp", "price": 12.5}

def refund(id: int) -> str:
    """Refund an order."""
    return "refunded"

def agent(query, tools, base_url, api_key, model, history=()):
    client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0)
    messages, by_name = [*history, {"role": "user", "content": query}], {tool.name: tool for tool in tools}
    offered = [{"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}} for tool in tools]
    while True:
        said = client.chat.completions.create(model=model, messages=messages, tools=offered).choices[0].message
        if not said.tool_calls:
            return said.content
        messages.append(said.model_dump(exclude_none=True))
        for one in said.tool_calls:
            try:
                text = by_name[one.function.name].text(json.loads(one.function.arguments))
            except Exception as error:
                text = str(error)
            messages.append({"role": "tool", "tool_call_id": one.id, "content": text})

CALLS = [call("find_order", id=7), call("refund", id=7)]
TASK = {"tools": [find_order, refund], "expect": Expect(calls=CALLS, in_order=True)}
'''

SCRIPTED = """
import os
import sys
from agent import *
from trialbed_testing import AgentProgram

def test_right(trialbed):
    trial = trialbed.run(agent, "Refund order 7", **TASK)
    assert trial.called("find_order", id=7).before("refund")
    assert trial.solved and trial.said("12.5") and trial.requests == 3
    assert trial.score("api_call_score") == 1

def test_own_model(trialbed):
    trial = trialbed.run(agent, "Refund order 7", tools=[find_order], model=script(play("find_order", id=9), say("no")))
    assert trial.called("find_order", id=9).times(1)
    assert trial.calls[0].error == "no order 9"

class TestOther:
    def test_own_model(self, trialbed):
        own = {"model": script(say("never")), "scorers": [lambda _: 1.0]}
        trial = trialbed.run(agent, "Refund order 7", tools=[find_order], **own)
        assert trial.said("never") and not trial.called("find_order")
        programs = [child.name() for child in psutil.Process().children(recursive=True)]
        assert 1 <= programs.count("trialbed_server") <= 2  # of scripted models, and of all objects

def test_no_real_judge(trialbed):
    with pytest.raises(Exception, match="judge='gpt-x': a model that helps a trial is not recorded"):
        trialbed.run(agent, "?", judge="gpt-x", base_url="http://127.0.0.1:9/v1")

def test_two_tools_of_one_name(trialbed):
    def find_order(id: int) -> str:
        '''Find another order.'''
        return "a chair"
    expect = Expect("chair", calls=[call("find_order", id=7)])
    assert trialbed.run(agent, "What is order 7?", tools=[find_order], expect=expect).solved

@pytest.mark.trialbed(models=["scripted:gold", "scripted:partial"])
def test_models(trialbed):
    assert trialbed.run(agent, "Refund order 7", **TASK).solved

@pytest.mark.trialbed(faults=[{"tools": {"rate": 1, "faults": ["server_error"]}}])
def test_faults(trialbed):
    trial = trialbed.run(agent, "Refund order 7", **TASK)
    assert trial.called("find_order").times(1) and not trial.solved

def test_elsewhere(trialbed):
    program = AgentProgram(sys.executable + " " + os.environ["PROGRAM"])
    for agent in (program, "reference"):
        trial = trialbed.run(agent, "Refund order 7", **TASK)
        assert trial.called("find_order", id=7).before("refund").times(1) and trial.solved
        assert trial.calls == trialbed.snapshot

def test_no_such_framework(trialbed):
    with pytest.raises(Exception, match="crewai==0.0.1 is not installed here: build an environment"):
        trialbed.run("crewai==0.0.1", "Refund order 7", **TASK)

def test_broken(trialbed):
    trial = trialbed.run(lambda query: 1 / 0, "Refund order 7", **TASK)
    assert trial.solved

def test_broken_tool(trialbed):
    def refund(id: int) -> str:
        raise OSError("no database")
    trial = trialbed.run(agent, "Refund order 7", tools=[refund], calls=[call("refund", id=7)])
    assert trial.failure is None
"""

REAL = """
import os
from agent import *

def test_real(trialbed):
    real = {"model": os.environ.get("MODEL", "gpt-x"), "base_url": os.environ["URL"], "api_key_env": "KEY"}
    trial = trialbed.run(agent, os.environ.get("QUERY", "Refund order 7"), **TASK, **real)
    assert trial.called("refund", id=7), trial.failure
    assert trial.said("all is done")
"""

CONVERSATIONS = """
import sys
from agent import *
from trialbed import Task, TrialbedError, User
from trialbed_testing import AgentProgram

ORDER = {"knows": {"id": 7}, "tools": [find_order], "expect": Expect("12.5", calls=[call("find_order", id=7)])}
SCRIPT = say("Which order?"), play("find_order", id=7), say("A lamp."), say("Bye.")

class Desk:
    def __init__(self, tools, base_url, api_key, model):
        self.given, self.history = (tools, base_url, api_key, model), []

    def answer(self, query):
        said = agent(query, *self.given, history=self.history)
        self.history += [{"role": "user", "content": query}, {"role": "assistant", "content": said}]
        return said

@pytest.mark.parametrize("who", [agent, Desk, "reference"])
def test_remembers(trialbed, who):
    with trialbed.conversation(who, **ORDER) as trial:
        reply = trial.say("Where is my order?")
        assert reply.said("id") and not reply.called("find_order") and reply.requests == 1
        reply = trial.say("It is 7.")
        assert reply.called("find_order", id=7).times(1) and reply.said("12.5") and not trial.solved
        assert trial.calls == reply.calls and trial.requests == 3
    assert trial.solved and trial.score("turns_needed") == 2
    assert [turn.requests for turn in trial.turns] == [1, 2] and trial.answer == reply.answer

def test_several(trialbed):
    task = Task(tools=[find_order])
    with trialbed.conversation(agent, **ORDER) as one, trialbed.conversation(agent, **ORDER) as two:
        assert one.say("Where is my order?").answer == two.say("Where is my order?").answer
        with trialbed.conversation(agent, task, model=script(*SCRIPT)) as other:
            assert [other.say(text).answer for text in ("Where is it?", "7", "Thanks")] == [
                "Which order?", "A lamp.", "Bye."
            ]
            assert trialbed.run(agent, "What is order 7?", tools=[find_order], calls=ORDER["expect"].calls).calls
        assert one.say("7").said("12.5")
    assert one.solved and not two.solved and other.solved
    assert [turn.calls == trialbed.snapshot for turn in other.turns] == [True] * 3
    assert len(trialbed.trials) == 4

def forgetful(query, history):
    return 1 / 0 if history else "Yes?"

def test_last_answer(trialbed):
    with trialbed.conversation(agent, **ORDER, model=script(*SCRIPT)) as trial:
        trial.say("Where is it?"), trial.say("7")
        assert trial.say("Thanks").said("Bye")
    assert trial.called("find_order", id=7) and not trial.solved

def test_fails(trialbed):
    with trialbed.conversation(forgetful) as trial:
        assert trial.say("Hello").answer == "Yes?"
        trial.say("Where is my order?")

def test_fails_as_expected(trialbed):
    with trialbed.conversation(forgetful) as trial:
        trial.say("Hello")
        for why in ("gave no answer to 'Where is it': ZeroDivisionError", "the conversation has ended"):
            with pytest.raises(TrialbedError, match=why):
                trial.say("Where is it")
    assert [turn.failure is None for turn in trial.turns] == [True, False]

def test_differs(trialbed):
    with trialbed.conversation(agent, **ORDER) as trial:
        assert trial.say("Where is my order?").called("find_order")

def test_program_ends(trialbed):
    program = AgentProgram(sys.executable + " program.py")
    with trialbed.conversation(program, model=script(say("Hello!"), say("Yes?"))) as trial:
        assert [trial.say(text).answer for text in ("Hello", "Well")] == ["Hello!", "Yes?"]
        with pytest.raises(TrialbedError, match="gave no answer to 'Bye': .*exit code 3"):
            trial.say("Bye")
    assert trial.failure.kind == "agent" and trial.requests == 2

@pytest.mark.parametrize(("given", "said", "why"), [
    ({"agent": lambda query: "?"}, ["Hello"], "can only be asked once"),
    ({"agent": agent}, [], "nothing was said"),
    ({"agent": agent}, [" "], "is not text"),
    ({"agent": agent, "task": Task("Hello"), "tools": [refund]}, ["Hello"], "give tools, expect and calls to the Task"),
    ({"agent": agent, "task": Task("Hello")}, ["Hello"], "give it one of text, turns and user"),
    ({"agent": agent, "state": 1}, ["Hello"], "state: is part of a task"),
])
def test_refused(trialbed, given, said, why):
    with pytest.raises(TrialbedError, match=why):
        with trialbed.conversation(**given) as trial:
            for text in said:
                trial.say(text)
    assert not trialbed.trials

def test_no_user(trialbed):
    with pytest.raises(TrialbedError, match="a test plays its user, with `trialbed.conversation`"):
        trialbed.run(agent, Task(user=User(goal="Hello", kind="caller")))
"""

PROGRAM_OF_CONVERSATIONS = """
import json
import os
import sys
from openai import OpenAI

client = OpenAI(max_retries=0)
for line in sys.stdin:
    message = json.loads(line)
    if message["query"] == "Bye":
        sys.exit(3)
    asked = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": message["query"]}]}
    said = client.chat.completions.create(**asked)
    print(json.dumps({"final_answer": said.choices[0].message.content}), flush=True)
"""

REAL_CONVERSATION = """
import os
from agent import *

def test_real(trialbed):
    real = {"model": "gpt-x", "base_url": os.environ["URL"], "api_key_env": "KEY"}
    with trialbed.conversation(agent, tools=[find_order], **real) as trial:
        assert trial.say("Where is my order?").answer == "Which order?"
        assert trial.say("It is 7.").called("find_order", id=7)
"""

PARALLEL = """
import pytest
from agent import *

@pytest.mark.parametrize("number", range(4))
def test_of_a_worker(trialbed, number):
    assert trialbed.run(agent, "Refund order 7", **TASK).solved
"""

PROGRAM = Path(__file__).parents[3] / "examples" / "responses_agent.py"


def run(folder: Path, *arguments: str, parallel: bool = False, **variables: str) -> str:
    """Run the author's tests, and return the report."""
    environment = {
        **os.environ,
        "PROGRAM": str(PROGRAM),
        "KEY": "a-secret-key-of-the-endpoint",
        "URL": "http://127.0.0.1:9/v1",
        **variables,
    }
    environment.pop("CI", None)
    options = ["-q", "-p", "no:asyncio", "-W", "error", "-W", IMPORTED_BEFORE, *arguments]
    options += ["-n", "2", "--dist", "each"] if parallel else ["-p", "no:xdist"]
    return run_warm("pytest", options, cwd=folder, env=environment, timeout=300).stdout


IMPORTED_BEFORE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
"""By the process that the tests are forked from."""


def test_both_plugins_load_where_warnings_are_errors(tmp_path: Path) -> None:
    (tmp_path / "test_loaded.py").write_text("def test_loaded(trialbed):\n    assert trialbed.run\n", encoding="utf-8")
    plugins = ("-p", "trialbed_testing.plugin", "-p", "trialbed_adapter_lab.pytest_plugin")
    # A process of its own: one that is forked has the plugins already, and pytest warns of that.
    command = [sys.executable, "-m", "pytest", "-W", "error", *plugins]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_an_agent_is_tested_with_scripted_models(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(SCRIPTED, encoding="utf-8")
    assert "1 passed" in run(tmp_path, "test_shop.py", "-k", "elsewhere", "--trialbed-update")
    kept = sorted((tmp_path / "snapshots").iterdir())
    assert [file.read_text() for file in kept] == ["- find_order(id=7)\n- refund(id=7)\n"] * 2
    kept[1].write_text("- find_order(id=7)\n- cancel(id=7)\n")
    report = run(tmp_path, "test_shop.py")
    assert "4 failed, 8 passed" in report
    assert "-- cancel(id=7)\n" in report
    assert "+- refund(id=7)\n" in report
    failed = re.findall(r"^FAILED test_shop\.py::(\S+)", report, re.MULTILINE)
    assert failed == ["test_models[scripted:partial]", "test_elsewhere", "test_broken", "test_broken_tool"]
    assert "unsolved: 1 of 1 expectations are not met: refund was not" in report
    assert "unsolved, since the trial failed: ZeroDivisionError: division by zero" in report
    assert "refund raised OSError: no database" in report
    assert "What the server saw" in report
    page = Path(re.findall(r"page: (\S+partial\S+\.html)", report)[0])
    assert "Refund order 7" in page.read_text(encoding="utf-8")
    assert not (tmp_path / ".trialbed").exists(), "a suite leaves its failures, and nothing else"
    shown = re.findall(r"^bench (show .*)", report, re.MULTILINE)[0]
    command = [sys.executable, "-m", "trialbed", *shown.split()]
    assert (
        "scripted:partial" in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    )


def test_a_real_model_is_asked_once_and_replayed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_real.py").write_text(REAL, encoding="utf-8")
    assert "gpt-x is a real model, and this trial has no recording of it" in run(tmp_path)
    turns = call("find_order", id=7), call("refund", id=7), say("all is done")
    with serve(script(*turns)) as model:
        assert "1 passed" in run(tmp_path, "--trialbed-record", URL=model.url)
    (recording,) = (tmp_path / "recordings").iterdir()
    assert b"a-secret-key" not in recording.read_bytes()
    assert "1 passed" in run(tmp_path)
    assert "is a recording of gpt-x, and not of gpt-y" in run(tmp_path, MODEL="gpt-y")
    other = run(tmp_path, QUERY="Refund order 8")
    assert "1 failed" in other
    assert "Refund order 7" in other
    assert "Refund order 8" in other


def test_a_test_talks_with_an_agent(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(CONVERSATIONS, encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM_OF_CONVERSATIONS, encoding="utf-8")
    assert "1 passed" in run(tmp_path, "test_shop.py", "-k", "several", "--trialbed-update")
    kept = sorted((tmp_path / "snapshots").iterdir())
    assert [file.read_text() for file in kept] == ["no calls\n", "- find_order(id=7)\n", "no calls\n"]
    report = run(tmp_path, "test_shop.py")
    failed = re.findall(r"^FAILED test_shop\.py::(\S+)", report, re.MULTILINE)
    assert failed == ["test_fails", "test_differs"]
    assert "14 passed" in report
    assert "the agent gave no answer to 'Where is my order?': ZeroDivisionError: division by zero" in report
    assert "<find_order() was not called; calls: none>" in report
    assert report.count("agent: Before I can use find_order: which id do you mean?") == 1
    assert len(re.findall(r"^page: (\S+)", report, re.MULTILINE)) == 2


def test_a_conversation_with_a_real_model_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_real.py").write_text(REAL_CONVERSATION, encoding="utf-8")
    with serve(script(say("Which order?"), call("find_order", id=7), say("A lamp."))) as model:
        assert "1 passed" in run(tmp_path, "--trialbed-record", URL=model.url)
    assert "1 passed" in run(tmp_path)


def test_the_servers_of_the_workers_of_xdist_end_with_them(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_parallel.py").write_text(PARALLEL, encoding="utf-8")
    report = run(tmp_path, "test_parallel.py", f"--basetemp={tmp_path / 'base'}", parallel=True)
    assert re.search(r" \d passed in ", f" {report}".replace("\n", " "))
    ours = [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(one.info["cmdline"] or ())]
    assert psutil.wait_procs(ours, 60)[1] == []
