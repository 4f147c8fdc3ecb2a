"""The kit in an author's own test suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.warm import run_warm

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow(40)

ASYNC = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto")
KIT = ("-p", "trialbed_adapter_lab.pytest_plugin")

EXPECTED = (
    "ignore:The configuration option:pytest.PytestDeprecationWarning",
    "ignore:Module already imported:pytest.PytestAssertRewriteWarning",  # in the process that it is forked from
)

CONFORMING = """
from trialbed_adapter_lab.testing import AdapterConformance

class TestReference(AdapterConformance):
    framework = "reference"
"""
DEVIATING = """
from trialbed import Deviation
from trialbed_adapter_lab.testing import AdapterConformance
from trialbed_plugins.frameworks.reference import ReferenceAgent

class Agent(ReferenceAgent):
    deviations = (
        Deviation(check="nothing_is_printed", text="prints a banner", upstream="https://example.org/banner"),
        Deviation(check="seed_is_sent", text="takes no seed"),
        Deviation(check="sead_is_sent", text="takes no seed"),
        Deviation(text="says hello"),
    )

    async def answer(self, query):
        print("hello")
        answer = await super().answer(query + "!")
        return answer.model_copy(update={"usage": None, "finish": None})

class TestDeviating(AdapterConformance):
    agent = Agent
"""
OWN_TEST = """
import pytest
from trialbed_adapter_lab import Harness
from trialbed_scripted import call

async def test_a_call(harness):
    record = await harness.run(call("Echo_text", {"text": "a"}), "done")
    assert record.answer.final_answer == "done"
    assert [made.arguments for made in record.calls] == [{"text": "a"}]
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest on a test file, with warnings as errors; as at a desk, since pytest says more where ``CI`` is set.

    No plugin is loaded but those named: others that are installed here take their time and show nothing.
    """
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(source, *arguments, asynchronous=True, kit=KIT):
        pytester.makepyfile(source)
        plugins = (*kit, *(ASYNC if asynchronous else ()))
        warnings = [part for one in ("error", *EXPECTED) for part in ("-W", one)]
        options = ("--import-mode=importlib", "-rA", *plugins, *warnings, *arguments)
        done = run_warm("pytest", options, cwd=pytester.path, env=os.environ, timeout=300)
        return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0)

    return run


def some(*names):
    """Selects the tests of these checks."""
    return ("-k", " or ".join(names))


def test_pytest_finds_the_plugin_by_its_entry_point(run, monkeypatch):
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    result = run(CONFORMING, "--markers", asynchronous=False, kit=())
    result.stdout.fnmatch_lines(["@pytest.mark.framework(name) or framework(agent=TheClass)*"])


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_conforming_adapter_passes_with_and_without_an_async_plugin(run, asynchronous):
    result = run(CONFORMING, *some("single_call", "seed_is_sent", "connection_is_reused"), asynchronous=asynchronous)
    result.assert_outcomes(passed=3, deselected=result.parseoutcomes()["deselected"])


def test_what_is_declared_is_an_expected_failure_with_its_text(run):
    result = run(DEVIATING, *some("nothing_is_printed"))
    result.stdout.fnmatch_lines(["XFAIL *nothing_is_printed* prints a banner (https://example.org/banner)"])
    assert result.ret == 0


def test_a_may_that_is_not_done_is_skipped_with_the_reason(run):
    result = run(DEVIATING, *some("nothing_is_added_to_the_messages"))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["SKIPPED*finding: messages of the first request: *"])


def test_a_failure_says_what_why_and_how_without_a_traceback(run):
    result = run(DEVIATING, *some("plain_answer"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(['finish: expected "give_answer"; seen: null', "why: *", "hint: *finish_of*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*probes/calls.py*")


@pytest.mark.parametrize(
    "source",
    [
        f'{OWN_TEST}\npytestmark = pytest.mark.framework("reference")\n',
        OWN_TEST.replace("async def test_a_call", '@pytest.mark.framework("reference")\nasync def test_a_call'),
        "from trialbed_plugins.frameworks.reference import ReferenceAgent\n"
        f"{OWN_TEST}\npytestmark = pytest.mark.framework(agent=ReferenceAgent)\n",
        "class TestIt:\n    framework = 'reference'\n"
        "    async def test_a_call(self, harness):\n"
        "        assert (await harness.run('done')).answer.final_answer == 'done'\n",
    ],
    ids=["module", "function", "agent", "class"],
)
def test_an_authors_own_test_gets_a_harness(run, source):
    run(source).assert_outcomes(passed=1)


def test_the_environment_is_given_back(run, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org")
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    source = (
        f"{CONFORMING}\nimport os\n"
        "def test_it_is_as_before():\n"
        "    assert os.environ['OPENAI_BASE_URL'] == 'https://example.org'\n"
        "    assert 'DO_NOT_TRACK' not in os.environ\n"
    )
    result = run(source, *some("plain_answer", "as_before"))
    assert result.parseoutcomes()["passed"] == 2


def test_the_examples_of_the_guide_run_as_they_stand(run):
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "write-an-adapter.md").read_text(encoding="utf-8")
    guide = page.split("## Prove it in its tests")[1]
    conformance, tests = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    source = "\n".join([tests, conformance]).replace('"acme"', '"reference"')
    result = run(source, *some("plain_answer", "reported_to_the_model", "endpoints_words"))
    assert result.parseoutcomes()["passed"] == 3


def test_the_plugin_is_cheap_for_who_does_not_use_it() -> None:
    load = "before = set(sys.modules); import trialbed_adapter_lab.pytest_plugin; print(*set(sys.modules) - before)"
    script = f"import sys, pytest; {load}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert loaded <= {"lazy_loader", "trialbed_adapter_lab"}
