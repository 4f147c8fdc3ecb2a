"""The digest of an adapter's code, wherever and however it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from trialbed.environments import adapter_digest
from trialbed.records import Environment

METADATA = "Metadata-Version: 2.1\nName: trialbed-acme\nVersion: 0.1\nRequires-Dist: acme-framework\n"
ENTRY = "[trialbed.frameworks]\nacme = trialbed_acme:Agent\n"
DIST_INFO = "trialbed_acme-0.1.dist-info"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The package of an adapter, in a folder of sources."""
    folder = tmp_path / "src" / "trialbed_acme"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (folder / "prompt.txt").write_text("Be brief.\n")
    return folder


def install(site: Path, record: str = "") -> None:
    folder = site / DIST_INFO
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(METADATA)
    (folder / "entry_points.txt").write_text(ENTRY)
    (folder / "RECORD").write_text(record)


@pytest.fixture(params=["copy", "editable"])
def environment(request: pytest.FixtureRequest, tmp_path: Path, source: Path) -> Environment:
    """An environment with the adapter: its files, or a link to its sources."""
    root = tmp_path / "venv"
    site = root / "lib" / "python3.11" / "site-packages"
    install(site)
    if request.param == "copy":
        (site / "trialbed_acme").symlink_to(source)
    else:
        origin = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
        (site / DIST_INFO / "direct_url.json").write_text(json.dumps(origin))
    return Environment(python=str(root / "bin" / "python"), lock="acme-framework==1.0\n")


def test_it_changes_with_every_file_and_with_nothing_else(environment: Environment, source: Path) -> None:
    digests = [adapter_digest("acme", environment)]
    assert len(digests[0]) == 64
    for name, text in (("__init__.py", "x = 1\n"), ("prompt.txt", "Be long.\n"), ("inner/more.py", ""), ("b.py", "")):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text)
        digests.append(adapter_digest("acme", environment))
    (source / "b.py").rename(source / "c.py")
    digests.append(adapter_digest("acme", environment))
    assert len(set(digests)) == len(digests)
    for name in ("__pycache__/b.cpython-311.pyc", ".mypy_cache/x", "old.pyc"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text("x")
    assert adapter_digest("acme", environment) == digests[-1]
    assert adapter_digest("acme==1.0", environment) == digests[-1]


def test_it_changes_with_the_environment(environment: Environment) -> None:
    other = environment.model_copy(update={"lock": "acme-framework==1.1\n"})
    assert adapter_digest("acme", environment) != adapter_digest("acme", other)


def test_what_is_not_installed_has_none(tmp_path: Path) -> None:
    assert adapter_digest("acme", Environment(python=str(tmp_path / "bin" / "python"), lock="")) == ""
    assert adapter_digest("acme") == ""


PROBE = "from trialbed.environments import adapter_digest; print(adapter_digest('acme'))"


def test_it_is_found_in_this_interpreter_too_with_the_versions_that_the_adapter_needs(
    tmp_path: Path, source: Path
) -> None:
    site = source.parent
    install(site)
    framework = site / "acme_framework-1.0.dist-info"
    framework.mkdir()

    def digest(version: str) -> str:
        (framework / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-framework\nVersion: {version}\n")
        command = [sys.executable, "-c", f"import sys; sys.path.append({str(site)!r}); {PROBE}"]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()

    first = digest("1.0")
    assert len(first) == 64
    assert digest("1.0") == first
    second = digest("1.1")
    assert second != first
    (source / "__init__.py").write_text("y = 2\n")
    assert digest("1.1") not in (first, second)


def test_the_reference_is_its_own_module() -> None:
    assert len(adapter_digest("reference")) == 64
