"""An agent that is a program: what it is given, and what becomes of its output."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import AnswerError
from trialbed.records import Answer, ApiRef, Limits, ModelEndpoint, ToolSpec
from trialbed.tools import Tool
from trialbed.worker import CommandAgent, CommandFailed, CommandSpec, command_agent

ROOT = "http://127.0.0.1:1/t/token"
API = ApiRef(category="Weather", tool_name="Now", api_name="Current")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"$ref": "#/x"}}}
TOOL = Tool(ToolSpec(name="Now_Current", description="d", parameters=SCHEMA, api=API), f"{ROOT}/virtual")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agent(code: str, *, shell: bool = False) -> CommandAgent:
    """An agent of a program in Python, or of a shell."""
    arguments = ("/bin/sh", "-c", code) if shell else (sys.executable, "-c", code)
    spec = CommandSpec(arguments=arguments, version="1a2b")
    agent_class, info = command_agent("mine", spec.model_dump_json())
    assert (info.name, info.version, info.adapter) == ("mine", "1a2b", "trialbed")
    endpoint = ModelEndpoint(base_url=f"{ROOT}/v1", api_key="dummy", model="gpt-4o", seed=3)
    made = agent_class(endpoint, Limits(max_steps=5, timeout=9), system_prompt="Be brief.")
    made.bind_tools([TOOL], server_url=f"{ROOT}/virtual")
    assert isinstance(made, CommandAgent)
    return made


def test_the_task_is_on_standard_input() -> None:
    task = json.loads(agent("cat", shell=True).answer("Why? ä").final_answer)
    assert task == {
        "query": "Why? ä",
        "instructions": "Be brief.",
        "endpoint": {
            "base_url": f"{ROOT}/v1",
            "api_key": "dummy",
            "model": "gpt-4o",
            "temperature": None,
            "max_tokens": None,
            "seed": 3,
            "dialect": "chat_completions",
        },
        "tools": [
            {"name": "Now_Current", "description": "d", "parameters": SCHEMA, "api": API.model_dump(mode="json")}
        ],
        "tools_url": f"{ROOT}/virtual",
        "mcp_url": f"{ROOT}/mcp",
        "limits": {"max_steps": 5, "timeout": 9.0},
    }


def test_its_addresses_are_in_variables_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere")
    code = (
        'echo "$OPENAI_BASE_URL $OPENAI_API_BASE $OPENAI_API_KEY $OPENAI_MODEL $TRIALBED_TOOLS_URL $TRIALBED_MCP_URL"'
    )
    said = agent(code, shell=True).answer("Why?").final_answer
    assert said == f"{ROOT}/v1 {ROOT}/v1 dummy gpt-4o {ROOT}/virtual {ROOT}/mcp"


def test_each_trial_has_an_empty_folder_of_its_own(folder: Path) -> None:
    first, second = (agent("pwd; ls -A; echo x > left", shell=True).answer("?").final_answer for _ in range(2))
    assert first != second
    assert Path(first).parent == folder
    assert list(folder.iterdir()) == []


def answer_to(document: Any) -> Answer:
    """The answer of a program that prints this text, or a document."""
    Path("printed").write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return agent("cat ../printed", shell=True).answer("?")


TEXT = {"finish": "give_answer", "reports_calls": False}


@for_each(
    ("printed", "expected"),
    [
        (" It rains.\n", Answer(final_answer="It rains.", **TEXT)),
        ("", Answer(final_answer="", reports_calls=False)),
        ('{"weather": "rain"}', Answer(final_answer='{"weather": "rain"}', **TEXT)),
        ('["final_answer"]', Answer(final_answer='["final_answer"]', **TEXT)),
        ({"final_answer": "rain"}, Answer(final_answer="rain", **TEXT)),
        ({"final_answer": "rain", "finish": None}, Answer(final_answer="rain", finish=None)),
        ({"final_answer": "", "calls": []}, Answer(final_answer="", calls=())),
    ],
)
def test_text_is_the_answer_and_a_document_may_say_more(printed: Any, expected: Answer) -> None:
    assert answer_to(printed) == expected


def test_claimed_calls_are_found_by_their_tools_names_with_responses_in_any_form() -> None:
    claimed = {"name": "Now_Current", "arguments": {"city": "Oslo"}}
    forms: list[tuple[Any, str]] = [("rain", "rain"), ({"t": [1, "ö"]}, '{"t": [1, "ö"]}'), ([], "[]"), (3, "3")]
    forms += [(False, "false"), (None, "")]
    calls = [*({**claimed, "response": given} for given, _ in forms), {"name": "other"}]
    answer = answer_to({"final_answer": "rain", "calls": calls, "usage": {"prompt_tokens": 3}, "model_turns": 2})
    found = [(call.name, call.api, call.arguments, call.response) for call in answer.calls]
    assert found == [
        *(("Now_Current", API, {"city": "Oslo"}, kept) for _, kept in forms),
        ("other", None, None, ""),
    ]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.model_turns, answer.reports_calls) == (3, 2, True)


@for_each(
    ("document", "place"),
    [
        ({"final_answer": 5}, "answer.final_answer"),
        ({"final_answer": "x", "calls": [{"arguments": {}}]}, r"answer.calls.0.name"),
        ({"final_answer": "x", "mood": "good"}, "answer.mood"),
        ({"answer": 5}, "answer: must be an object"),
        ('{"final_answer": "rain', """answer: '{"final_answer": "rain' is not valid JSON"""),
    ],
)
def test_a_wrong_document_is_named_with_the_place(document: Any, place: str) -> None:
    with pytest.raises(AnswerError, match=place):
        answer_to(document)


def test_a_failed_program_is_reported_with_the_end_of_its_standard_error() -> None:
    with pytest.raises(CommandFailed, match=r"sh -c .* ended with exit code 3: second") as caught:
        agent("echo an answer; echo first >&2; echo second >&2; exit 3", shell=True).answer("?")
    assert caught.value.__notes__ == ["the end of its standard error:\nfirst\nsecond"]
    # Node's version and Python's notes come after the error.
    with pytest.raises(CommandFailed, match="exit code 1: TypeError: no function\n"):
        agent("printf 'TypeError: no function\\n    at run\\nNode.js v20\\n' >&2; exit 1", shell=True).answer("?")
    with pytest.raises(CommandFailed, match="was killed by SIGKILL: it wrote nothing to standard error"):
        agent("kill -9 $$", shell=True).answer("?")


def test_a_large_task_and_much_noise_do_not_block_it() -> None:
    code = "import sys; sys.stderr.write('x' * 2**20); print(len(sys.stdin.read()) > 2**20)"
    assert agent(code).answer("q" * 2**20).final_answer == "True"
    assert agent("true", shell=True).answer("q" * 2**20).final_answer == ""


def test_endless_output_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.worker._command.MAX_OUTPUT", 2**20)
    with pytest.raises(CommandFailed, match="wrote more than 1 MiB"):
        agent("yes", shell=True).answer("?")


def test_a_process_that_left_its_group_holds_up_nothing(folder: Path) -> None:
    noted = folder / "pid"
    left = f"echo $$ > {noted}; sleep 30; echo late"
    code = f"setsid sh -c '{left}' & while [ ! -s {noted} ]; do sleep 0.01; done; echo Yes"
    try:
        assert agent(code, shell=True).answer("Why?").final_answer == "Yes"
    finally:
        os.killpg(int(noted.read_text()), signal.SIGKILL)


TWICE = "read -r line; echo one; read -r line; echo two; cat > /dev/null; "
LOOP = 'while read -r line; do printf \'{"final_answer": "%s"}\\n\' "$$ ${#line}"; done'


def ask_twice(code: str) -> list[Answer]:
    """What a program answers to two messages of one conversation."""
    made = agent(code, shell=True)
    made.has_turns = True
    try:
        return [made.answer("Why?"), made.answer("And then?")]
    finally:
        made.close()


def test_in_a_conversation_it_answers_each_line_with_a_line(folder: Path) -> None:
    first, second = (answer.final_answer.split() for answer in ask_twice(LOOP))
    assert first[0] == second[0]
    assert int(first[1]) > 300 > int(second[1]) == len('{"query": "And then?"}')
    assert list(folder.iterdir()) == []
    task = json.loads(ask_twice("cat")[0].final_answer)
    assert (task["query"], task["conversation"]) == ("Why?", True)


@for_each(
    ("code", "says"),
    [
        ("read -r line; echo once", r"sh -c .* ended without an answer to a message; in a conversation"),
        ("echo no >&2; exit 3", "ended with exit code 3: no"),
        ("printf half; exit 3", "ended with exit code 3"),
        ("yes | tr -d '\\n'", "wrote more than 1 MiB"),
        ("kill -9 $$", "was killed by SIGKILL"),
        ("printf '1\\nahead\\n'; cat", r"wrote a line after its answer: 'ahead'; in a conversation .* with one line"),
        ("printf '{\\n \"final_answer\": 7\\n}\\n'; cat", """a line after its answer: ' "final_answer": 7'; """),
        ("printf '1\\n%0400d\\n' 0; cat", "wrote a line after its answer: '0{300}'; in a conversation"),
        ("echo; cat", "answered a message with an empty line; in a conversation"),
        (f"{TWICE} echo three", "wrote a line after its answer: 'three', and its first was 'one'; in a conversation"),
        (f"{TWICE} echo no >&2; exit 3", "ended with exit code 3: no"),
        (f"{TWICE} exec sleep 600", r"has not ended 0\.1 s after its input; in a conversation"),
    ],
)
def test_a_program_that_does_not_answer_each_line_is_named(
    code: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed.worker._command.MAX_OUTPUT", 2**20)
    if "sleep" in code:
        monkeypatch.setattr("trialbed.worker._command.ENDING", 0.1)
    with pytest.raises(CommandFailed, match=says):
        ask_twice(code)
