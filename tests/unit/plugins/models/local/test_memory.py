"""Whether a model fits into the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed_plugins.models.local.driver import check_memory, free_memory

GIB = 2**30


def test_a_model_that_does_not_fit_is_refused_with_both_numbers() -> None:
    check_memory("local:small", GIB, free=2 * GIB)
    with pytest.raises(UsageError, match=r"local:small needs about 2\.8 GiB of memory, and 2\.0 GiB are free"):
        check_memory("local:small", 2 * GIB, free=2 * GIB)


def test_a_container_has_no_more_than_its_limit_less_what_it_uses_for_itself(tmp_path: Path) -> None:
    whole = free_memory(tmp_path)
    assert whole > 0
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "memory.stat").write_text("anon 48576\nfile 900000\n")
    assert free_memory(tmp_path) == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(tmp_path) > 1_000_000
