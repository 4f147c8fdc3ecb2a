from __future__ import annotations

from pathlib import Path

import pytest

from trialbed_plugins.executors.sandbox._inside import view


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("package/code.py", "package/gold/answers.json", "package/other/code.py", "beside/code.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


def test_a_folder_without_anything_hidden_is_seen_whole(project):
    seen = view([project / "package"], {project / "beside"})
    assert (seen.whole, seen.listed) == ((project / "package",), ())


def test_a_folder_with_something_hidden_is_taken_apart(project):
    package = project / "package"
    seen = view([package], {package / "gold"})
    assert seen.whole == (package / "code.py", package / "other")
    assert seen.listed == (package,)


def test_what_is_hidden_need_not_be_there_yet(project):
    package = project / "package"
    assert package not in view([package], {package / "runs.db"}).whole


@pytest.mark.parametrize("hidden", ["package", "."])
def test_what_is_in_something_hidden_is_not_seen(project, hidden):
    seen = view([project / "package" / "gold"], {(project / hidden).resolve()})
    assert (seen.whole, seen.listed) == ((), ())


def test_links_in_a_folder_that_is_taken_apart_are_not_followed(project):
    package = project / "package"
    (package / "way_out").symlink_to(project / "beside")
    assert view([package], {package / "gold"}).whole == (package / "code.py", package / "other")
