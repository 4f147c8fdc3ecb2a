"""``bench adapter check`` over adapters that do, or do not do, what the rig asks for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import Bench

pytestmark = pytest.mark.slow(30)

NewAdapter = Callable[..., Path]

LOSES_ARGUMENTS = ("await function.run(arguments)", "await function.run({})")


def test_what_passed_and_what_was_found_is_shown_as_it_comes(bench: Bench, new_adapter: NewAdapter) -> None:
    """That the package conforms to all checks is tested by the tests it is made with."""
    new_adapter("acme")
    checks = ("plain_answer", "single_call", "slow_model", "step_limit_is_kept")
    done = bench("adapter", "check", "acme", *(part for check in checks for part in ("--check", check)))
    assert done.out.splitlines()[-1].startswith("acme 0.1.0 · must ")
    assert "✗" not in done.out + done.err
    lines = done.err.splitlines()
    assert len(lines) == len(checks)
    assert all(line.startswith(("✓ ", "· ")) and line.endswith(("passed", "finding")) for line in lines)
    assert any(line.startswith("· step_limit_is_kept (may") for line in lines)
    assert any(line.startswith("✓ slow_model (may") for line in lines)


def test_an_adapter_that_loses_arguments_does_not_conform_and_learns_why(bench: Bench, new_adapter: NewAdapter) -> None:
    new_adapter("acme", _loop=LOSES_ARGUMENTS)
    done = bench("adapter", "check", "acme", "--check", "single_call", "--check", "plain_answer", code=1)
    shown = done.out.splitlines()
    assert shown[0] == "✗ single_call (must): failed"
    assert "hello" in done.out
    assert "    why: Every measurement builds on single calls." in shown
    assert any(line.startswith("    hint: Pass the model's arguments to tool.ainvoke()") for line in shown)
    assert shown[-1] == "acme 0.1.0 · must 1/2"
    assert [line.split(" (")[0] for line in done.err.splitlines()] == ["✓ plain_answer", "✗ single_call"]


WRITES = ("await function.run(arguments)", "open('left.txt', 'w') and await function.run(arguments)")


def test_files_of_a_framework_do_not_land_in_the_users_folder(
    bench: Bench, new_adapter: NewAdapter, tmp_path: Path
) -> None:
    new_adapter("acme", _loop=WRITES)
    bench("adapter", "check", "acme", "--check", "single_call")
    assert not (tmp_path / "left.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("reference", "--check", "singel_call"), "'singel_call' is not a check; did you mean 'single_call'?"),
        (("reference", "--check", "zzz"), "'zzz' is not a check; without --check, all "),
        (("reference:native",), "reference:native: reference has no profiles; write it without ':native'"),
        (
            ("langgraph:nativ",),
            "unknown profile 'nativ'; did you mean 'native'? The profiles of langgraph are controlled",
        ),
        (("reference", "--level", "most"), "Invalid value for '--level'"),
        (("reference", "--known", "schema_ref"), "--known schema_ref: give a reason: --known schema_ref=REASON"),
        (("reference", "--known", "schema_rfe=late"), "'schema_rfe' is not a check; did you mean 'schema_ref'?"),
        (("reference", "--fuzz", "nan"), "nan is not a finite number"),
        (("reference", "--fuzz", "inf"), "inf is not a finite number"),
        (
            ("reference", "--fuzz", "1", "--format", "junit", "--level", "must", "--known", "schema_ref=late"),
            "leave out --known, --level, --format junit",
        ),
        (
            ("nowhere",),
            "nowhere: not published with Trialbed; its adapter would be the third-party package trialbed-nowhere",
        ),
        (("langraph",), "did you mean 'langgraph'"),
        (("reference==",), "the version after '==' is missing"),
    ],
)
def test_what_cannot_be_checked_is_wrong_usage(bench: Bench, arguments: tuple[str, ...], said: str) -> None:
    done = bench("adapter", "check", *arguments, code=2)
    assert said in done.err
    assert done.out == ""


def test_an_adapter_that_cannot_be_loaded_is_named_with_the_cause(bench: Bench, new_adapter: NewAdapter) -> None:
    new_adapter("acme", _loop=("import ssl\n", "import ssl\nimport flux_capacitor\n"))
    done = bench("adapter", "check", "acme", code=2)
    assert "'acme' of trialbed-acme 0.1.0 cannot be loaded" in done.err
    assert "No module named 'flux_capacitor' (File " in done.err
    assert '_loop.py", line ' in done.err
    assert "Traceback" not in done.err


def test_an_adapter_that_ends_the_process_is_no_conformant_one(bench: Bench, new_adapter: NewAdapter) -> None:
    new_adapter("acme", _loop=("outcome = Outcome()\n", "__import__('os')._exit(0)\n"))
    done = bench("adapter", "check", "acme", code=3)
    assert "the conformance kit ended with exit code 0 and without a report" in done.err


def test_what_a_framework_prints_does_not_get_into_the_result(bench: Bench, new_adapter: NewAdapter) -> None:
    new_adapter("acme", _loop=("outcome = Outcome()\n", "outcome = Outcome()\n        print('WELCOME TO ACME')\n"))
    report = json.loads(bench("adapter", "check", "acme", "--check", "plain_answer", "--json").out)
    assert report["conformant"] is True


def test_what_lies_in_the_working_directory_is_not_taken_for_a_package(
    bench: Bench, new_adapter: NewAdapter, tmp_path: Path
) -> None:
    """Such as the framework's own repository, whose folder has its name."""
    new_adapter("acme", _loop=("import ssl\n", "import ssl\nfrom wave import Error\n"))
    (tmp_path / "wave.py").write_text("raise RuntimeError('taken for the one of the standard library')")
    bench("adapter", "check", "acme", "--check", "plain_answer")


def test_an_adapter_meets_a_workers_environment(bench: Bench, new_adapter: NewAdapter) -> None:
    """No key and no telemetry, from the moment it is imported."""
    spy = "import ssl\nimport os\n\nassert 'MY_API_KEY' not in os.environ\nassert os.environ['DO_NOT_TRACK'] == '1'\n"
    new_adapter("acme", _loop=("import ssl\n", spy))
    bench("adapter", "check", "acme", "--check", "plain_answer", MY_API_KEY="sk-secret-secret-secret")
