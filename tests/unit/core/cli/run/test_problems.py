"""What is said of failures beside a machine-readable result."""

from __future__ import annotations

import pytest
from support.run_reports import document, reason, reported

from trialbed.cli.run._command import _print_problems


def test_reasons_control_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    failing = document(failures=[reason("agent", 3, message="RuntimeError: \x1b[2Jno", query_id="\x1b]0;x\x07")])
    _print_problems(reported(failing))
    shown = capsys.readouterr().err
    assert shown.startswith(
        "reference: 3 of 20 trials failed (agent): RuntimeError: ?[2Jno [task ?]0;x?: bench show r1 "
    )
    assert shown.rstrip("\n").isprintable()
