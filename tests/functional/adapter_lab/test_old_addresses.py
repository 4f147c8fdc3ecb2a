"""The old addresses and names of the kit go on working for one release, and say what to use instead."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest
from support.warm import run_warm

import trialbed_adapter_lab
from trialbed_adapter_lab import deprecated

pytest_plugins = ["pytester"]

OLD_NAMES = set(
    """
    CHECKS LEVELS ApiReply Call Check CheckFailed Conditions Cue Finding Held Kit Level Meeting ModelRequest
    NetworkWatch Play Raw Report Said Stage StageTool StageTrial ToolCall asks breaks call check_adapter echo errs fails
    forever like_a_worker named_agent returns says tool
    """.split()  # noqa: SIM905 - a list of 37 lines is harder to read
)
TESTS = """
import asyncio
import pytest
from trialbed.conformance import Held, Meeting, Said, Play, asks, call, tool
from trialbed.testing import AdapterConformance

class TestReference(AdapterConformance):
    framework = "reference"

@pytest.mark.framework("reference")
def test_a_call_is_held(stage):
    async def play():
        held, meeting = Held(patience=30.0), Meeting(1, patience=5.0)
        turn = asks(call("Echo_text", {"text": "x"}))
        trial = stage.prepare(turn, held.line(Said("done")), tools=[tool(behave=meeting.tool())], patience=20.0)
        playing = asyncio.create_task(trial.play())
        assert await held.begun.wait(60)
        assert held.begun.given and meeting.met
        held.released.give()
        return await playing
    play = asyncio.run(play())
    assert isinstance(play, Play)
    assert play.answer.final_answer == "done"
    assert asyncio.run(stage.play("again")).answer.final_answer == "again"
"""


@pytest.fixture
def conformance(monkeypatch):
    monkeypatch.delitem(sys.modules, "trialbed.conformance", raising=False)
    with pytest.warns(DeprecationWarning, match=r"trialbed\.conformance has moved: import trialbed_adapter_lab"):
        return importlib.import_module("trialbed.conformance")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_every_name_is_at_its_old_address(conformance):
    assert set(conformance.__all__) == OLD_NAMES
    for name in OLD_NAMES:
        if new := deprecated.RENAMED.get(name):
            with pytest.warns(DeprecationWarning, match=rf"{name} is now trialbed_adapter_lab\.{new}$"):
                old = getattr(conformance, name)
            kind = getattr(trialbed_adapter_lab, new)
            assert old is kind or issubclass(old, kind)
        elif name != "Conditions":
            assert getattr(conformance, name) is getattr(trialbed_adapter_lab, name)
    with pytest.raises(AttributeError):
        _ = conformance.NoSuchName


def test_the_test_class_is_at_its_old_address(monkeypatch):
    from trialbed_adapter_lab.testing import AdapterConformance

    monkeypatch.delitem(sys.modules, "trialbed.testing", raising=False)
    with pytest.warns(DeprecationWarning, match=r"trialbed\.testing has moved: import trialbed_adapter_lab\.testing"):
        testing = importlib.import_module("trialbed.testing")
    assert testing.AdapterConformance is AdapterConformance


def test_an_authors_tests_run_with_the_old_names_and_the_old_fixture(pytester):
    pytester.makepyfile(TESTS)
    arguments = ("--import-mode=importlib", "-p", "no:asyncio", "-k", "plain_answer or held")
    result = pytester.runpytest_subprocess(*arguments)
    assert result.parseoutcomes()["passed"] == 2
    result.stdout.fnmatch_lines(
        [
            "*DeprecationWarning: trialbed.conformance has moved: import trialbed_adapter_lab instead*",
            "*DeprecationWarning: trialbed.testing has moved: import trialbed_adapter_lab.testing instead*",
            '*DeprecationWarning: the fixture "stage" has a new name: use "harness" instead*',
        ]
    )


def test_an_author_learns_of_the_new_contract_and_its_words(pytester):
    pytester.makepyfile(
        """
        from trialbed import Deviation
        from trialbed_adapter_lab.testing import AdapterConformance
        from trialbed_plugins.frameworks.reference import ReferenceAgent

        class Agent(ReferenceAgent):
            contract = "1"
            capabilities = (Deviation(text="says hello"),)

        class TestOld(AdapterConformance):
            agent = Agent
        """
    )
    result = pytester.runpytest_subprocess(
        "--import-mode=importlib", "-p", "no:asyncio", "-k", "declarations or single"
    )
    assert result.parseoutcomes()["passed"] == 2
    result.stdout.fnmatch_lines(["*DeprecationWarning: Agent is written for contract '1'*state contract = '3'"])
    result.stdout.fnmatch_lines(["*DeprecationWarning: Agent.capabilities is deprecated: rename it to deviations"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--framework", "reference", "--check", "plain_answer"), 0),
        (("--framework", "nosuch"), 2),
        (("--framework", "reference", "--check", "nosuch"), 2),
    ],
)
def test_the_old_command_says_what_to_run_and_does_the_same(arguments, code, tmp_path):
    old, new = (
        run_warm(module, arguments, cwd=tmp_path, env=os.environ, timeout=120)
        for module in ("trialbed.conformance", "trialbed_adapter_lab")
    )
    assert (old.returncode, new.returncode) == (code, code)
    assert old.stdout == new.stdout
    first = old.stderr.splitlines()[0]
    assert first == "python -m trialbed.conformance is deprecated; run python -m trialbed_adapter_lab instead"


@pytest.mark.parametrize("module", ["trialbed.conformance", "trialbed.testing"])
def test_without_the_package_the_error_says_what_to_install(module):
    hide = "import sys; sys.modules['trialbed_adapter_lab'] = None"
    done = python("-c", f"{hide}; from {module} import AdapterConformance")
    assert done.returncode == 1
    assert f"ImportError: {module} has moved to the package trialbed_adapter_lab" in done.stderr
    assert "run: pip install --force-reinstall trialbed" in done.stderr


def test_without_the_package_the_old_command_says_what_to_install():
    hide = "import sys, runpy; sys.modules['trialbed_adapter_lab'] = None"
    done = python("-c", f"{hide}; runpy.run_module('trialbed.conformance', run_name='__main__')")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("run: pip install --force-reinstall trialbed")
