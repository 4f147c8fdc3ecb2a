"""The head of a file of weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gguf import WITH_TOOLS, write_gguf

from trialbed.errors import DataError
from trialbed_plugins.models.local._weights import read_head


def test_a_head_has_the_name_the_template_and_the_sizes(tmp_path: Path) -> None:
    head = read_head(write_gguf(tmp_path / "a.gguf", name="Small"))
    assert (head.name, head.template, head.context) == ("Small", WITH_TOOLS, 32_768)
    # Keys and values, of 2 bytes each, of 24 layers with 2 heads of 896 / 14 numbers.
    assert head.context_memory(1000) == 2 * 2 * 24 * 2 * 64 * 1000


def test_what_a_file_does_not_say_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(16))
    head = read_head(path)
    assert (head.name, head.template, head.context, head.context_memory(1000)) == ("", "", 0, 0)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "its metadata cannot be read"),
        (b"PK\x03\x04 and so on", "is no GGUF file"),
        (b"GGUF\x09\x00\x00\x00" + bytes(16), "of version 9"),
        (b"GGUF\x03\x00\x00\x00" + bytes(8) + b"\xff" * 8, "its metadata cannot be read"),
        (b"GGUF\x03\x00\x00\x00" + bytes(8) + b"\x01" + bytes(7) + b"\xff" * 8, "its metadata cannot be read"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_name(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"other\.gguf.*{problem}"):
        read_head(path)


def test_a_file_that_is_cut_is_refused_and_so_is_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cut or broken"):
        read_head(write_gguf(tmp_path / "cut.gguf", count=9000))
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_head(tmp_path / "none.gguf")
