"""``python -m trialbed_adapter_lab``, as ``bench adapter check`` runs it in an adapter's environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support.warm import run_warm

from trialbed_adapter_lab import ConformanceReport

AGENT = """
import json
import threading

from trialbed import Deviation
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Agent(ReferenceAgent):
    deviations = ({deviations})

    async def answer(self, query):
        {first}
        return await super().answer(query)
"""


@pytest.fixture
def kit(tmp_path, fake_distribution):
    """Runs the command over an adapter whose ``answer`` begins with this."""

    def run(*arguments, first="pass", deviations="", framework="probe", **variables):
        folder = fake_distribution(
            "trialbed-probe",
            "1.2",
            entry_points={"trialbed.frameworks": {"probe": "probe_adapter:Agent"}},
            modules={"probe_adapter": AGENT.format(first=first, deviations=deviations)},
        )
        return run_warm(
            "trialbed_adapter_lab",
            ["--framework", framework, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(folder), **variables},
            timeout=120,
        )

    return run


def test_a_conforming_adapter_exits_with_0_and_prints_its_report(kit):
    done = kit("--check", "single_call", "--check", "parallel_calls_overlap", "--check", "connection_is_reused")
    assert done.returncode == 0, done.stderr
    badge = ConformanceReport.model_validate_json(done.stdout).badge
    assert badge.startswith("probe ")
    assert badge.endswith(" · must 1/1 · may 2/2")
    assert [line.split()[:2] for line in done.stderr.splitlines()] == [
        ["✓", "single_call"],
        ["✓", "parallel_calls_overlap"],
        ["✓", "connection_is_reused"],
    ]


def test_the_report_is_json_that_can_be_read_back(kit):
    declared = 'Deviation(check="nothing_is_printed", text="prints"), Deviation(check="seed_is_sent", text="no seed"),'
    done = kit(
        *("--check", "nothing_is_printed", "--check", "seed_is_sent"), first='print("hello")', deviations=declared
    )
    report = ConformanceReport.model_validate_json(done.stdout.splitlines()[-1])
    assert done.returncode == 1
    assert not report.ok
    assert (report.framework, report.adapter, report.adapter_version) == ("probe", "trialbed-probe", "1.2")
    assert {finding.check: finding.outcome for finding in report.findings} == {
        "nothing_is_printed": "declared",
        "seed_is_sent": "outdated",
    }
    assert json.loads(done.stdout.splitlines()[-1])["findings"][0]["seconds"] >= 0


def test_the_line_of_the_author_is_shown_where_an_exception_comes_from_a_library(kit):
    done = kit("--check", "plain_answer", first='json.loads("{")')
    lines = done.stderr.splitlines()
    (place,) = [number for number, line in enumerate(lines) if "probe_adapter.py" in line]
    assert lines[place].strip().endswith(", in answer")
    assert [line.strip() for line in lines[place + 1 : place + 3]] == ['json.loads("{")', "…"]
    assert "decoder.py" in lines[place + 3]
    assert "JSONDecodeError" in lines[place - 1]


def test_an_adapter_that_is_not_there_exits_with_2(kit):
    done = kit(framework="prob")
    assert done.returncode == 2
    assert "did you mean 'probe'" in done.stderr
    assert done.stdout == ""


def test_the_process_is_like_a_worker(kit):
    look = "import os; print(os.environ.get('OPENAI_API_KEY'), os.environ['AGNO_TELEMETRY'])"
    done = kit("--check", "plain_answer", first=look, OPENAI_API_KEY="sk-0123456789abcdef")
    assert done.stdout.splitlines()[0] == "None false"


def test_what_an_adapter_contacts_on_import_is_seen(tmp_path, fake_distribution):
    module = (
        "import contextlib, socket\nwith contextlib.suppress(OSError):\n    socket.getaddrinfo('home.invalid', 80)\n"
    )
    folder = fake_distribution(
        "trialbed-nosy",
        entry_points={"trialbed.frameworks": {"nosy": "nosy:ReferenceAgent"}},
        modules={"nosy": module + "from trialbed_plugins.frameworks.reference import ReferenceAgent"},
    )
    done = subprocess.run(
        [sys.executable, "-m", "trialbed_adapter_lab", "--framework", "nosy", "--check", "only_the_rig_is_talked_to"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "look-up of home.invalid" in done.stderr


def test_pytest_is_not_needed(tmp_path):
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from trialbed_adapter_lab.__main__ import main\n"
        "raise SystemExit(main(['--framework', 'reference', '--check', 'plain_answer']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_kit_imports_no_framework_and_no_server() -> None:
    script = "import sys, trialbed_adapter_lab; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {
        "pytest",
        "trialbed_server",
        "trialbed_plugins",
        "sqlalchemy",
        "langgraph",
        "openai",
        "fastapi",
    }
