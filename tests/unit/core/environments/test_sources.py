"""What stands for the state of local files and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.environments._sources import local_url, states


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "package").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[project]")
    (folder / "package" / "module.py").write_text("1")
    return folder


def test_only_what_is_local_has_a_state(tmp_path: Path) -> None:
    assert states(["acme==1.0", "acme @ https://host/x.whl", "acme @ git+https://host/x@abc"]) == ()
    assert states([f"acme @ {tmp_path.as_uri()}/absent.whl"]) == ()


def test_an_editable_checkout_changes_with_its_declarations_only(checkout: Path) -> None:
    line = f"-e {checkout.as_uri()}"
    before = states([line])
    assert len(before) == 1
    assert before[0].startswith(f"# {checkout.as_uri()}: sha256 ")
    (checkout / "package" / "module.py").write_text("2")
    assert states([line]) == before
    (checkout / "setup.cfg").write_text("[metadata]")
    assert states([line]) != before


def test_a_folder_that_is_copied_changes_with_its_files_but_not_with_what_is_built(checkout: Path) -> None:
    line = f"acme @ {checkout.as_uri()}"
    before = states([line])
    for name in (".git", "build", "dist", "__pycache__", "acme.egg-info"):
        (checkout / name).mkdir()
        (checkout / name / "file").write_text("x")
    assert states([line]) == before
    (checkout / "package" / "module.py").write_text("2")
    assert states([line]) != before


def test_a_wheel_changes_with_its_content(tmp_path: Path) -> None:
    wheel = tmp_path / "acme-1.0-py3-none-any.whl"
    wheel.write_bytes(b"one")
    before = states([wheel.as_uri()])
    wheel.write_bytes(b"two")
    assert states([wheel.as_uri()]) != before


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("-e file:///a/b", "file:///a/b"),
        ("acme @ file:///a/b.whl#sha256=ab", "file:///a/b.whl"),
        ("file:///a/b", "file:///a/b"),
        ("acme==1", None),
        ("acme @ https://host/file:x", None),
    ],
)
def test_the_url_of_a_line_is_found(line: str, url: str | None) -> None:
    assert local_url(line) == url
