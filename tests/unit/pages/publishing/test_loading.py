"""Tasks in code are published with all that they read, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trialbed.catalogs import open_dataset
from trialbed.errors import DataError
from trialbed_pages.publishing._loading import check_loads
from trialbed_pages.publishing._sources import PublishedDataset

TASKS = """
from pathlib import Path
from trialbed import Task

DATA = Path({path}).read_text()
tasks = [Task("What?" + DATA, id="one")]
"""


def check(folder: Path, *names: str) -> None:
    file = folder / "desk.py"
    files = {f"datasets/{name}": folder / name for name in ("desk.py", *names)}
    digest = open_dataset(str(file), folder).digest()
    check_loads(PublishedDataset("datasets/desk.py", {}, files), digest, folder)


def test_a_file_that_the_code_reads_is_named_unless_it_is_included(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "orders.json").write_text("[]")
    (tmp_path / "desk.py").write_text(TASKS.format(path="__file__).with_name('data').joinpath('orders.json'"))
    with pytest.raises(DataError) as raised:
        check(tmp_path)
    said = str(raised.value)
    assert said.startswith(f"{tmp_path / 'desk.py'} cannot be loaded from its published files alone: desk.py")
    assert said.endswith(f"; add each file that it reads: --include {tmp_path / 'data' / 'orders.json'}")
    check(tmp_path, "data/orders.json")


def test_a_file_where_the_command_was_given_is_found_by_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders.json").write_text("[]")
    (tmp_path / "desk.py").write_text(TASKS.format(path="'orders.json'"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=re.escape("looks for orders.json where a command is given: find it by Path(")):
        check(tmp_path, "orders.json")


def test_tasks_that_differ_in_the_folder_are_refused(tmp_path: Path) -> None:
    more = "EXTRA = Path(__file__).with_name('more.txt')\ntasks += [Task('More?', id='two')] * EXTRA.exists()\n"
    (tmp_path / "orders.json").write_text("[]")
    (tmp_path / "more.txt").touch()
    (tmp_path / "desk.py").write_text(TASKS.format(path="__file__).with_name('orders.json'") + more)
    with pytest.raises(DataError, match="its tasks are others there; add each file that it reads: --include FILE"):
        check(tmp_path, "orders.json")
