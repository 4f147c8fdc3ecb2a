"""Where ``bench init`` writes its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed_testing._starting import write_start


def test_a_folder_that_cannot_be_written_is_named_without_the_files_that_were_tried(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as refused:
        write_start("openai", tmp_path / "file" / "mine")
    assert str(refused.value) == f"{tmp_path / 'file' / 'mine'} cannot be written: Not a directory; name another folder"
