"""Bytes that are put aside."""

from __future__ import annotations

import errno
import os
import pickle
import tempfile
from contextlib import suppress
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import DataError
from trialbed.spool import IN_MEMORY, Spool, SpooledParts


@for_each("size", [3, IN_MEMORY // 4])
def test_parts_of_several_lists_share_a_spool(size: int) -> None:
    spool = Spool()
    ours, theirs = SpooledParts(spool), SpooledParts(spool)
    for place in range(8):
        ours.append(bytes([place]) * size)
        theirs.append(b"" if place % 2 else bytes([100 + place]) * (size + 1))
    assert list(ours) == [bytes([place]) * size for place in range(8)]
    assert theirs[6] == bytes([106]) * (size + 1)
    assert theirs[7] == b""
    assert list(pickle.loads(pickle.dumps(ours))) == list(ours)
    with pytest.raises(IndexError):
        ours[8]


def nameless_files(size: int) -> int:
    """Count the open files of a size that have no name; others of the process come and go beside them."""
    stats = []
    for descriptor in os.listdir("/dev/fd"):
        with suppress(OSError):
            stats.append(os.stat(f"/dev/fd/{descriptor}"))
    return sum(stat.st_nlink == 0 and stat.st_size == size for stat in stats)


def test_few_bytes_need_no_file_and_a_file_is_closed_with_its_spool() -> None:
    parts, size = SpooledParts(), IN_MEMORY + 4321
    parts.append(b"x" * (IN_MEMORY - 1))
    assert nameless_files(IN_MEMORY - 1) == 0
    parts.append(b"x" * (size - IN_MEMORY + 1))
    assert nameless_files(size) == 1
    del parts
    assert nameless_files(size) == 0


def test_a_full_disk_is_named_with_the_way_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    parts = SpooledParts()
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(DataError, match=r"cannot be written: No space left on device; .* TMPDIR"):
        parts.append(b"x" * (IN_MEMORY + 1))
