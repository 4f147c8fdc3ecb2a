"""The example of the guide to adapters, followed from its first command to its last in a fresh environment."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.distributions import Installation
from support.trust import one_certificate

pytestmark = pytest.mark.packaging(40)

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "write-an-adapter.md"
FOLLOWED = PAGE.read_text(encoding="utf-8").partition("\n## The rules\n")[0]
"""The part of the page that is an example from its first command to its last."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODES = {"bench adapter check clockwork": [0, 1, 0]}
"""How a command ends, time after time; any other ends with 0."""


@pytest.fixture
def reader(new_installation: Callable[..., Installation]) -> Installation:
    """Somebody with Trialbed installed. What they call pip is uv, which is quicker."""
    made = new_installation()
    pip = made.folder / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m uv pip "$@" --quiet --python {made.python}\n')
    pip.chmod(0o755)
    return made


def test_the_tutorial_on_adapters_can_be_followed(reader: Installation, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "clockwork", tmp_path / "examples" / "clockwork")
    printed: list[str] = []
    ran: dict[str, int] = {}
    for language, text in BLOCK.findall(FOLLOWED):
        if language == "console":
            printed = [follow(reader, command, tmp_path, ran) for command in commands(text)]
        elif language == "text":
            assert_shown(text, printed[-1])
        elif language == "diff":
            change(text, tmp_path)
        else:
            write(text, tmp_path)
    assert ran["bench adapter check clockwork"] == 3
    assert ran["pytest trialbed-clockwork"] == 1
    assert sum(ran.values()) > 8


def commands(text: str) -> Iterator[str]:
    yield from (line.removeprefix("$ ") for line in text.splitlines())


def follow(reader: Installation, command: str, folder: Path, ran: dict[str, int]) -> str:
    """What a command prints on standard output; it ends as the page says."""
    time = ran[command] = ran.get(command, 0) + 1
    variables = {"PATH": f"{reader.folder / 'bin'}:/usr/bin:/bin"}
    if not command.startswith("pip "):  # nothing else uses a network
        variables["SSL_CERT_FILE"] = str(one_certificate(reader.folder / "certificate.pem"))
    done = reader.run("/bin/sh", "-c", command, cwd=folder, **variables)
    assert done.returncode == CODES.get(command, [0] * time)[time - 1], f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def assert_shown(text: str, printed: str) -> None:
    """Every line that the page shows was printed, in this order; numbers and columns may be others."""
    lines = iter(map(plain, printed.splitlines()))
    for line in map(plain, text.splitlines()):
        assert line == "…" or line in lines, f"not printed, or not here: {line}\n{printed}"


def plain(line: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "0", " ".join(line.split()))


def write(text: str, folder: Path) -> None:
    """Write a file that the page shows whole; its first line says which."""
    name, _, rest = text.partition("\n")
    file = folder / name.removeprefix("# ")
    assert file.suffix in (".py", ".toml"), name
    file.parent.mkdir(exist_ok=True)
    file.write_text(rest)


def change(text: str, folder: Path) -> None:
    """Change a file as the page shows; its first line says which."""
    name, *lines = text.splitlines()
    file = folder / name.removeprefix("--- ")
    old = "\n".join(line[1:] for line in lines if line[:1] != "+")
    new = "\n".join(line[1:] for line in lines if line[:1] != "-")
    source = file.read_text()
    assert source.count(old) == 1, f"{file.name} does not have this once:\n{old}"
    file.write_text(source.replace(old, new))


def test_what_was_not_printed_is_found() -> None:
    assert_shown("a 1\n…\nb  2.5", "a 7\nx\nb 3")
    for shown in ("c", "b\na", "a\na"):
        with pytest.raises(AssertionError, match="not printed"):
            assert_shown(shown, "a\nb")


def test_the_code_of_the_tutorial_is_tidy(tmp_path: Path) -> None:
    """As far as Python goes: it compiles, and no line is longer than ours."""
    for language, text in BLOCK.findall(FOLLOWED):
        if language == "python":
            compile(text, str(tmp_path), "exec")
            assert max(map(len, text.splitlines())) <= 120


def test_the_framework_of_the_tutorial_is_no_real_one() -> None:
    done = subprocess.run([sys.executable, "-c", "import clockwork"], capture_output=True, text=True, check=False)
    assert "No module named 'clockwork'" in done.stderr
