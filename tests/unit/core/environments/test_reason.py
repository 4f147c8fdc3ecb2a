"""Why uv failed, in the words that a user sees."""

from __future__ import annotations

import pytest

from trialbed.environments._reason import MAX_LENGTH, is_machine, is_network, reason

BOXED = """\
warning: something harmless
Resolved 3 packages in 1ms
  \u00d7 No solution found when resolving dependencies:
  \u2570\u2500\u25b6 Because left==1.0 depends on shared<2 and right==1.0 depends on
      shared>=2, we can conclude that left==1.0 and right==1.0 are
      incompatible.

      hint: Pre-releases are available
"""
LISTED = """\
error: Request failed after 3 retries in 6.5s
  cause: Failed to fetch: http://127.0.0.1:9/simple/langgraph/
  cause: client error (Connect)
  cause: Connection refused (os error 111)
"""


def test_the_boxes_of_older_versions_become_sentences() -> None:
    assert reason(BOXED) == (
        "No solution found when resolving dependencies: Because left==1.0 depends on shared<2 and right==1.0 depends "
        "on shared>=2, we can conclude that left==1.0 and right==1.0 are incompatible. (hint: Pre-releases are "
        "available)"
    )


def test_a_list_of_causes_becomes_one_sentence() -> None:
    assert reason(LISTED) == (
        "Request failed after 3 retries in 6.5s: Failed to fetch: http://127.0.0.1:9/simple/langgraph/: "
        "client error (Connect): Connection refused (os error 111)"
    )


def test_only_a_missing_network_is_one() -> None:
    assert is_network(LISTED)
    assert is_network("  cause: dns error\n")
    assert not is_network(BOXED)
    assert not is_network("error: HTTP status client error (401 Unauthorized)")


@pytest.mark.parametrize(
    ("stderr", "is_so"),
    [
        (LISTED, True),
        ("error: x\nhint: Packages were unavailable because the network was disabled.", True),
        ("error: Failed to write to the client cache\n  cause: No space left on device (os error 28)", True),
        ("error: Failed to create directory\n  cause: Read-only file system (os error 30)", True),
        (BOXED, False),
    ],
)
def test_a_machines_shortcomings_are_told_from_wrong_requests(stderr: str, *, is_so: bool) -> None:
    assert is_machine(stderr) is is_so


def test_secrets_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "abcdefghijkl")
    told = reason("error: Failed to fetch https://me:hunter2222@host/x and https://tok@host/y with abcdefghijkl")
    assert told == ("Failed to fetch https://[redacted]@host/x and https://[redacted]@host/y with [redacted]")


def test_a_long_reason_is_cut_in_the_middle() -> None:
    told = reason(f"error: begin {'x' * 5000} end")
    assert len(told) < MAX_LENGTH + 10
    assert told.startswith("begin")
    assert told.endswith("end")


def test_silence_is_said() -> None:
    assert reason("\n") == "uv said nothing"
