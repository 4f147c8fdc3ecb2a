"""Where a user says that an adapter is."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.environments import read_requirement
from trialbed.errors import UsageError


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["./absent", "-e absent", "a b", "a\nb", "--index-url", "a==1 @ b"])
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="--adapter"):
        read_requirement(text)
