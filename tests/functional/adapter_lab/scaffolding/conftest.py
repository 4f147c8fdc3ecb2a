"""Packages made by ``bench adapter new``, for commands in a folder of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import Bench, bench_in, own_environment

NewAdapter = Callable[..., Path]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Run ``bench`` with these arguments in an empty folder and return how it ended."""
    environment = own_environment(
        XDG_CACHE_HOME=str(tmp_path / "cache"), COLUMNS="120", PYTHONPATH=str(tmp_path / "site")
    )
    return bench_in(tmp_path, environment)


@pytest.fixture
def new_adapter(bench: Bench, tmp_path: Path) -> NewAdapter:
    """Make a package, put other text in the place of some of its own, and have ``bench`` find it as installed."""

    def make(name: str, **changes: tuple[str, str]) -> Path:
        bench("adapter", "new", name)
        module = f"trialbed_{name.replace('-', '_')}"
        package = tmp_path / f"trialbed-{name}" / "src" / module
        for file, (old, new) in changes.items():
            text = (package / f"{file}.py").read_text()
            assert text.count(old) == 1, f"{file} has this {text.count(old)} times: {old}"
            (package / f"{file}.py").write_text(text.replace(old, new))
        _install(package, tmp_path / "site", name)
        return package

    return make


def _install(package: Path, site: Path, name: str) -> None:
    metadata = site / f"{package.name}-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / package.name).symlink_to(package)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trialbed-{name}\nVersion: 0.1.0\n")
    agent = "".join(part.capitalize() for part in name.split("-"))
    (metadata / "entry_points.txt").write_text(f"[trialbed.frameworks]\n{name} = {package.name}:{agent}Agent\n")
