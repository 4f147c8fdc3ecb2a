"""Commands are named, found, and told from their other versions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed.agent_programs import AgentCommand, agent_commands, check_names
from trialbed.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.mjs").write_text("1")
    (tmp_path / "my agent.v2.py").write_text("1")
    run = tmp_path / "run.sh"
    run.write_text("#!/bin/sh\n")
    run.chmod(0o755)
    (tmp_path / "project").mkdir()
    return tmp_path


def parsed(text: str, folder: Path) -> AgentCommand:
    (command,) = agent_commands([text], folder).values()
    return command


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sh agent.mjs", "agent"),
        ("sh 'my agent.v2.py' agent.mjs", "my-agent.v2"),
        ("sh -c 'exit 3'", "sh"),
        ("./run.sh --fast", "run"),
        ("sh project", "sh"),
        ("other-1.2=sh agent.mjs", "other-1.2"),
        ("  a = sh agent.mjs", None),
        ("sh -c a=b", "sh"),
    ],
)
def test_a_command_is_called_as_it_says_or_like_its_file(text: str, name: str | None, folder: Path) -> None:
    if name is None:
        with pytest.raises(UsageError, match="the program 'a' was not found"):
            parsed(text, folder)
    else:
        assert parsed(text, folder).name == name


def test_files_that_it_names_are_found_from_any_folder(folder: Path) -> None:
    command = parsed("one=./run.sh agent.mjs --size=3 project 'no such file' -", folder)
    assert command.arguments == (
        str(folder / "run.sh"),
        str(folder / "agent.mjs"),
        "--size=3",
        str(folder / "project"),
        "no such file",
        "-",
    )
    assert command.files == (folder / "run.sh", folder / "agent.mjs", folder / "project")
    assert command.declaration == "one=./run.sh agent.mjs --size=3 project 'no such file' -"
    assert parsed(sys.executable, folder).arguments == (sys.executable,)


def test_its_digest_is_that_of_the_text_and_of_the_files_contents(folder: Path) -> None:
    texts = ["sh agent.mjs", "named=sh agent.mjs", "sh agent.mjs -v", "./run.sh", "sh project"]
    before = [parsed(text, folder).digest() for text in texts]
    assert before[0] == before[1]
    assert len(set(before)) == 4
    (folder / "agent.mjs").write_text("2")
    (folder / "run.sh").write_text("#!/bin/sh\nexit\n")
    (folder / "project" / "new").write_text("1")
    after = [parsed(text, folder).digest() for text in texts]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no program"),
        ("name=", "names no program"),
        ("sh 'x", "No closing quotation"),
        ("no-such-program x", "the program 'no-such-program' was not found"),
        ("a:native=sh x", "'a:native' cannot be a command's name, which has letters, digits, '.', '_' and '-' only"),
        ("mine=KEY=1 sh x", "the program 'KEY=1' was not found; .*; to set KEY, write 'env KEY=1' in its place"),
        ("run.sh", "write ./run.sh"),
        ("./agent.mjs", "chmod"),
    ],
)
def test_what_cannot_be_run_is_refused(text: str, problem: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=problem):
        agent_commands([text], folder)


def test_names_are_used_once(folder: Path) -> None:
    with pytest.raises(UsageError, match="two commands are called 'agent'"):
        agent_commands(["sh agent.mjs", "bash agent.mjs"], folder)
    commands = agent_commands(["sh agent.mjs", "b=bash agent.mjs"], folder)
    assert [*commands] == ["agent", "b"]
    check_names(commands, ["reference"])
    with pytest.raises(UsageError, match="'b' is a framework of this run"):
        check_names(commands, ["a", "b"])
