"""The digest of an adapter's code, wherever and however it is installed."""

from __future__ import annotations

import json
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
