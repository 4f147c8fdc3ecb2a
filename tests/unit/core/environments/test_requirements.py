"""Requirements that users give, and the state of local files and folders that requirements name."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.environments import read_requirement
from trialbed.environments._distributions import local_states, local_url
from trialbed.errors import UsageError


@for_each(
    "text",
    ["trialbed-acme", "trialbed-acme==1.0", "trialbed-acme>=1,<2", "a @ https://host/a.whl", "git+https://h/r@c"],
)
def test_requirements_and_urls_are_taken_as_they_are(text: str) -> None:
    assert read_requirement(f" {text} ") == text


def test_paths_become_urls_that_hold_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my adapter").mkdir()
    (tmp_path / "a-1-py3-none-any.whl").write_text("")
    url = f"{tmp_path.as_uri()}/my%20adapter"
    assert read_requirement("./my adapter") == url
    assert read_requirement("-e my adapter") == f"-e {url}"
    assert read_requirement("a-1-py3-none-any.whl") == f"{tmp_path.as_uri()}/a-1-py3-none-any.whl"


@for_each("text", ["-e absent", "a\nb", "--index-url"])
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="--adapter"):
        read_requirement(text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "package").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[project]")
    (folder / "package" / "module.py").write_text("1")
    return folder


def test_only_what_is_local_has_a_state(tmp_path: Path) -> None:
    assert local_states(["acme==1.0", "acme @ https://host/x.whl", "acme @ git+https://host/x@abc"]) == ()
    assert local_states([f"acme @ {tmp_path.as_uri()}/absent.whl"]) == ()


def test_an_editable_checkout_changes_with_its_declarations_only(checkout: Path) -> None:
    line = f"-e {checkout.as_uri()}"
    before = local_states([line])
    assert len(before) == 1
    assert before[0].startswith(f"# {checkout.as_uri()}: sha256 ")
    (checkout / "package" / "module.py").write_text("2")
    assert local_states([line]) == before
    (checkout / "setup.cfg").write_text("[metadata]")
    assert local_states([line]) != before


def test_a_folder_that_is_copied_changes_with_its_files_but_not_with_what_is_built(checkout: Path) -> None:
    line = f"acme @ {checkout.as_uri()}"
    before = local_states([line])
    for name in (".git", "build", "dist", "__pycache__", "acme.egg-info"):
        (checkout / name).mkdir()
        (checkout / name / "file").write_text("x")
    assert local_states([line]) == before
    (checkout / "package" / "module.py").write_text("2")
    assert local_states([line]) != before


def test_a_wheel_changes_with_its_content(tmp_path: Path) -> None:
    wheel = tmp_path / "acme-1.0-py3-none-any.whl"
    wheel.write_bytes(b"one")
    before = local_states([wheel.as_uri()])
    wheel.write_bytes(b"two")
    assert local_states([wheel.as_uri()]) != before


@for_each(
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
