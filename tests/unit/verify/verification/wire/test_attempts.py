"""How long an endpoint asks to wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from trialbed_verify.verification.wire._attempts import retry_after


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("soon", None), ("", None)]
)
def test_retry_after_is_read_in_seconds(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_retry_after_is_read_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after(later) == pytest.approx(30, abs=2)
