"""The folder of environments, as it is read and written."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trialbed.environments import About, Built, Request, Shelf, read_label
from trialbed.environments._built import folder_name, venv_python


def place(shelf: Shelf, name: str, digest: str) -> Built:
    """An environment without packages."""
    about = About(
        name=name,
        framework_version="1.0",
        adapter=f"trialbed-{name}",
        adapter_version="0.1",
        python="CPython 3",
        packages=(f"{name}==1.0",),
        lock_digest=digest,
        size=1,
        created_at=datetime.now(UTC),
        uv="0.5.0",
    )
    scratch = shelf.scratch(folder_name(name, digest))
    venv_python(scratch).parent.mkdir(parents=True)
    venv_python(scratch).symlink_to(sys.executable)
    (scratch / "lock.txt").write_text(f"{name}==1.0\n")
    (scratch / "environment.json").write_text(about.model_dump_json())
    shelf.place(scratch, folder_name(name, digest))
    built = Built.read(shelf.folder / folder_name(name, digest))
    assert built is not None
    return built


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "environments")


def test_looking_writes_nothing(shelf: Shelf) -> None:
    assert list(shelf) == []
    assert shelf.find(Request(read_label("acme"))) is None
    assert not shelf.folder.exists()


def test_a_request_finds_what_was_noted_for_it_and_no_other_does(shelf: Shelf) -> None:
    built = place(shelf, "acme", "a" * 64)
    request = Request(read_label("acme"))
    shelf.note(request, built)
    assert shelf.find(request) == built
    assert shelf.find(Request(read_label("acme==1.0"))) is None
    assert shelf.find(Request(read_label("acme"), adapter="another-adapter")) is None
    assert built.environment.python == str(venv_python(built.folder))
    assert built.environment.lock == "acme==1.0\n"


def test_spellings_of_a_release_are_one_request() -> None:
    assert Request(read_label("acme==1.0")).key == Request(read_label("acme==1.0")).key
    assert Request(read_label("acme==1.0")).key != Request(read_label("acme==1.1")).key


def test_an_answer_that_is_garbage_is_none(shelf: Shelf) -> None:
    built = place(shelf, "acme", "a" * 64)
    request = Request(read_label("acme"))
    shelf.note(request, built)
    (answer,) = (shelf.folder / ".answers").iterdir()
    answer.write_text("{")
    assert shelf.find(request) is None
    assert list(shelf.answers()) == []


def test_forgetting_concerns_one_environment(shelf: Shelf) -> None:
    one, two = place(shelf, "acme", "a" * 64), place(shelf, "acme", "b" * 64)
    shelf.note(Request(read_label("acme")), one)
    shelf.note(Request(read_label("acme==1.0")), two)
    shelf.forget(one)
    assert [answer.label for answer in shelf.answers()] == ["acme==1.0"]


def test_placing_replaces_what_cannot_be_used(shelf: Shelf) -> None:
    name = folder_name("acme", "a" * 64)
    (shelf.folder / name / "half").mkdir(parents=True)
    built = place(shelf, "acme", "a" * 64)
    assert built.title == name
    assert not (built.folder / "half").exists()
    assert list((shelf.folder / ".unfinished").iterdir()) == []
