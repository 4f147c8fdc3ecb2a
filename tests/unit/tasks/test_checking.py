"""What is wrong with tasks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.live_tools import SERVER
from support.warm import warm_programs

from trialbed_tasks.checking import check_tasks
from trialbed_tasks.command import command

TASKS = """
from trialbed import Expect, Task, Turn, User, about, call, tool

@tool
def find(id: int) -> dict:
    \"\"\"Find an order.\"\"\"
    return {"price": "twelve"}

tasks = [
    Task("What did order 7 cost?", id="right", expect=Expect("twelve", calls=[call("find", id=7)])),
    Task("And 7?", id="varies", expect=Expect("twelve", calls=[call("find", id=about(7, 1))])),
    Task("And 8?", id="own", tools=[], expect=Expect("thirteen", calls=[call("look", id=8)])),
    Task("Does it cost twelve?", id="said", expect=Expect("twelve", calls=[call("find", id=7)])),
    Task("What?", id="refused", expect=Expect(calls=[call("find", id="x")])),
    Task("What?", id="never", expect=Expect(calls=["find"], never=["find"])),
    Task("What?", id="bound", expect=Expect(calls=["find", "find"], most_calls=1)),
    Task("What did it cost?", id="unsolved", expect=Expect("thirteen", calls=[call("find", id=7)])),
    Task("Do not pay.", id="idle", expect=Expect(state=None)),
    Task("Find 7, kindly.", id="kind", expect=Expect(calls=[call("find", id=7)], criteria="It is kind.")),
    Task("Be kind.", id="only kind", expect=Expect(criteria="It is kind.")),
    Task(
        "Find 7.",
        id="test",
        expect=Expect(calls=[call("find", id=7)], tests={"well": Expect(calls=[call("find", id="x")])}),
    ),
    Task(id="told", turns=["Order 7.", Turn("Find it.", expect=Expect(calls=[call("find", id=7)]))]),
    Task(id="asked", user=User("Find it.", knows={"id": 7}), expect=Expect("twelve", calls=[call("find", id=7)])),
    Task(id="content", user=User("Find it.", knows={"id": 7}), expect=Expect(calls=[call("find", id=7)])),
    Task(id="guess", turns=["Hi.", Turn("Find it.", expect=Expect(calls=[call("find", id=7)]))]),
    Task(id="unknown", user=User("Find it.", knows={"mail": "a"}), expect=Expect("twelve", calls=[call("find", id=7)])),
]
"""


def test_tasks_that_cannot_be_solved_or_solve_themselves_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "orders_to_check.py").write_text(TASKS, encoding="utf-8")
    with warm_programs():
        count, findings = check_tasks("orders_to_check.py", None)
    found = {finding.task: finding.problem for finding in findings}
    assert count == 17
    assert set(found) == {
        "said",
        "refused",
        "never",
        "bound",
        "unsolved",
        "idle",
        "test",
        "guess",
        "unknown",
        "content",
    }
    assert {finding.task for finding in findings if finding.is_warning} == {"guess", "unknown", "content"}
    assert found["content"].startswith("its user is content once the expected calls are made")
    assert found["guess"].startswith("turn 2: find is expected with 7, and nothing said before shows it")
    assert found["test"].startswith("well: the tool itself would refuse find: id: ")
    assert "the task itself says 'twelve'" in found["said"]
    assert found["refused"].startswith("the tool itself would refuse find: id: ")
    assert "must never be called" in found["never"]
    assert "2 calls are expected, and at most 1 are allowed" in found["bound"]
    assert (
        "not solved by the expected calls: 1 of 2 expectations are not met: the answer does not say 'thirteen'"
        in found["unsolved"]
    )
    assert found["idle"] == "it is solved by an agent that calls nothing"


MCP_TASKS = """
tasks:
  - {query: Add a lamp., id: right, expect: {facts: [1 items], calls: [cart_add: {item: lamp}]}}
  - {query: Add a lamp., id: refused, expect: {calls: [cart_add: {thing: lamp}]}}
  - {query: Add a lamp., id: unsolved, expect: {facts: [7 items], calls: [cart_add: {item: lamp}]}}
  - {query: Make it fail., id: fails, expect: {facts: [it works], calls: [fail]}}
"""


def test_tasks_on_the_tools_of_a_server_are_checked_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    Path("desk.yaml").write_text(MCP_TASKS, encoding="utf-8")
    with warm_programs():
        found = CliRunner().invoke(command, ["check", "desk.yaml", "--mcp", f"{sys.executable} -I {SERVER}"])
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["task refused", "task unsolved", "task fails", "desk.yaml"]
    assert "the tool itself would refuse cart_add: " in lines[0]
    assert (
        "not solved by the expected calls: 1 of 2 expectations are not met: the answer does not say '7 items'"
        in lines[1]
    )
    assert lines[3] == "desk.yaml: 4 tasks, 3 of them with findings"
