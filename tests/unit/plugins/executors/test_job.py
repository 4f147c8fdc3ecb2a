"""Orders of executors elsewhere, which hold a trial's address and a lock: an error must show neither."""

from __future__ import annotations

import io
import traceback
from unittest.mock import Mock

import pytest

from trialbed.errors import UsageError
from trialbed_plugins.executors import job


def test_what_is_wrong_with_an_order_is_said_without_what_it_holds() -> None:
    text = '{"framework": "f", "lock": "secret==1", "trial": {"url": "http://host/t/token"}, "options": ["x-y-z"]}'
    with pytest.raises(UsageError, match=r"standard input is no order: .*options: Input should be") as found:
        job.run_job(text)
    shown = "".join(traceback.format_exception(found.value))
    assert not [part for part in ("secret==1", "/t/token", "x-y-z") if part in shown]


def test_an_error_of_the_work_is_no_bad_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(_: object) -> str:
        raise ValueError("the build")

    monkeypatch.setattr(job, "_run", fails)
    with pytest.raises(ValueError, match="the build"):
        job.run_job('{"framework": "f"}')


def test_a_job_that_cannot_work_ends_otherwise_than_what_started_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, status, said in ((UsageError("no order"), 2, "no order\n"), (OSError("full disk"), 3, "full disk")):
        monkeypatch.setattr(job, "run_job", Mock(side_effect=error))
        monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
        assert job.main() == status
        assert said in capsys.readouterr().err
