"""Distributions for tests: built and installed for real, or made of a few lines of metadata."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from support.once import Once

ROOT = Path(__file__).parents[2]
THIRD_PARTY = ROOT / "tests" / "functional" / "third_party"
PROJECTS = {file.parent.name: file.read_text() for file in sorted((ROOT / "adapters").glob("*/pyproject.toml"))}
ADAPTERS = tuple(PROJECTS)
"""The folders of distributions beside the main one: adapters, drivers of vendors, the template."""
FRAMEWORKS = tuple(name for name, text in PROJECTS.items() if "trialbed.frameworks" in text and name[0] != "_")
"""Those of frameworks' adapters."""
LEFT_OUT = ("build", "dist", "*.egg-info", "__pycache__", ".*")
"""What is no source: a stale ``build/lib`` would find its way into the wheel."""
KEPT = {".github", ".gitignore"}

FakeDistribution = Callable[..., Path]


@dataclass(frozen=True)
class Installation:
    """A virtual environment outside the checkout, with things installed as a user installs them."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        base = str(self.folder)
        return Path(sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base}))

    def install(self, *requirements: Path | str) -> None:
        uv("pip", "install", "--quiet", "--python", str(self.python), *map(str, requirements))

    def bench(
        self, *arguments: str, cwd: Path, limit: float = 300, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.folder / "bin" / "bench"), *arguments, cwd=cwd, limit=limit, **variables)

    def run(self, *command: str, cwd: Path, limit: float = 300, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, which has so many seconds."""
        return subprocess.run(
            command, cwd=cwd, env=_environment(cwd, variables), capture_output=True, text=True, timeout=limit
        )

    def bench_json(self, *arguments: str, cwd: Path) -> Any:
        done = self.bench(*arguments, "--json", cwd=cwd)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@dataclass(frozen=True)
class Wheels:
    """What was built from a clean copy of the checkout.

    Attributes:
        source: the copy, which no build has written to.
        wheel: the main distribution, built from the tree. ``sdist`` and ``wheel_of_sdist``: the other way.
        adapters: folder -> wheel of each adapter.
    """

    source: Path
    wheel: Path
    sdist: Path
    wheel_of_sdist: Path
    acme: Path
    broken: Path
    adapters: Mapping[str, Path]

    @property
    def langgraph(self) -> Path:
        """The adapter that tests install most."""
        return self.adapters["langgraph"]


def uv(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "uv", *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def wheels(once: Once) -> Wheels:
    """The distributions of this checkout and those of third parties, built."""
    folder = once("wheels", _build_all)
    return Wheels(
        source=folder / "source",
        wheel=_wheel(folder / "main"),
        sdist=next((folder / "by_sdist").glob("trialbed-*.tar.gz")),
        wheel_of_sdist=_wheel(folder / "by_sdist"),
        acme=_wheel(folder / "acme"),
        broken=_wheel(folder / "broken"),
        adapters={name: _wheel(folder / name) for name in ADAPTERS},
    )


def _build_all(folder: Path) -> None:
    _copy(ROOT, folder / "source")
    for_sdist = _copy(ROOT, folder / "for_sdist")
    uv("build", "--quiet", "--out-dir", str(folder / "by_sdist"), str(for_sdist))
    _build(_copy(ROOT, folder / "for_wheel"), folder / "main")
    # The others need what the main one does to be built: it is installed once for them.
    builder = _new_environment(folder / "builder")
    builder.install(*tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])
    beside = ("--no-build-isolation", "--python", str(builder.python))
    _build(_copy(THIRD_PARTY / "trialbed-acme", folder / "acme_source"), folder / "acme", *beside)
    _build(_copy(THIRD_PARTY / "trialbed-broken", folder / "broken_source"), folder / "broken", *beside)
    for name in ADAPTERS:
        _build(for_sdist / "adapters" / name, folder / name, *beside)


@pytest.fixture(scope="session")
def bare_installation(wheels: Wheels, once: Once, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Trialbed from its wheel alone. All tests share it, so none changes it."""

    def fill(folder: Path) -> None:
        made = _new_environment(folder / "venv")
        made.install(wheels.wheel)
        # The first run compiles what it imports, which takes longer than the run.
        done = made.bench("run", "--limit", "1", cwd=tmp_path_factory.mktemp("first"))
        assert done.returncode == 0, done.stderr

    return Installation(once("installation", fill) / "venv")


@pytest.fixture(scope="session")
def new_installation(
    bare_installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Installation]:
    """Makes an environment with Trialbed's wheel, or this copy of it, and these requirements."""

    def make(*requirements: Path | str, wheel: Path | None = None) -> Installation:
        made = _new_environment(tmp_path_factory.mktemp("installation") / "venv")
        # Packages are installed and compiled once, and linked here.
        shutil.copytree(bare_installation.packages, made.packages, copy_function=os.link, dirs_exist_ok=True)
        _copy_programs(bare_installation, made)
        if wheel is not None:
            made.install("--reinstall-package", "trialbed", wheel, *requirements)
        elif requirements:
            made.install(*requirements)
        return made

    return make


def _copy_programs(source: Installation, target: Installation) -> None:
    """Give an environment the programs of another one; a script names the place of its interpreter."""
    for program in sorted((source.folder / "bin").iterdir()):
        copy = target.folder / "bin" / program.name
        if copy.exists() or copy.is_symlink():
            continue
        shutil.copy2(program, copy)
        if program.read_bytes().startswith(b"#!"):
            copy.write_text(program.read_text().replace(str(source.folder), str(target.folder)))


@pytest.fixture(scope="session")
def check_types(bare_installation: Installation, once: Once) -> Callable[[Path], None]:
    """Has mypy check sources strictly against the installed Trialbed."""
    pytest.importorskip("mypy", reason="mypy is not installed; it comes with the extra `dev`")
    folder = once("mypy", lambda _: None)

    def check(sources: Path) -> None:
        where = ("--python-executable", str(bare_installation.python), "--cache-dir", str(folder / "cache"))
        command = (sys.executable, "-m", "mypy", "--strict", *where, str(sources))
        with FileLock(folder / "lock"):
            done = bare_installation.run(*command, cwd=folder)
        assert done.returncode == 0, done.stdout

    return check


def _new_environment(folder: Path) -> Installation:
    uv("venv", "--quiet", "--python", sys.executable, str(folder))
    return Installation(folder)


@pytest.fixture
def fake_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDistribution:
    """Makes a distribution that this interpreter finds: metadata, entry points and modules, nothing built."""
    before = set(sys.modules)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(
        name: str,
        version: str = "1.0",
        *,
        entry_points: Mapping[str, Mapping[str, str]],
        modules: Mapping[str, str],
    ) -> Path:
        folder = tmp_path / "site" / name
        metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(_entry_points(entry_points))
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(folder)
        return folder

    yield make
    for module in set(sys.modules) - before:
        if (file := getattr(sys.modules[module], "__file__", None)) and str(tmp_path) in file:
            del sys.modules[module]


def _entry_points(groups: Mapping[str, Mapping[str, str]]) -> str:
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()), ""]
    return "\n".join(lines)


def _build(source: Path, out: Path, *options: str) -> None:
    uv("build", "--quiet", "--wheel", *options, "--out-dir", str(out), str(source))


def _wheel(folder: Path) -> Path:
    return next(folder.glob("*.whl"))


def _copy(source: Path, target: Path) -> Path:
    def left_out(folder: str, names: list[str]) -> set[str]:
        here = set(shutil.ignore_patterns(*LEFT_OUT)(folder, names)) - KEPT
        return here | ({"results"} if Path(folder) == ROOT else set())

    return Path(shutil.copytree(source, target, ignore=left_out))


def _environment(cwd: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a user: none of ours, and state and caches in the working directory."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRIALBED_", "PYTEST_", "OPENAI_")) and name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    return {**kept, "XDG_CACHE_HOME": str(cwd / ".cache"), "NO_COLOR": "1", "COLUMNS": "100", **variables}
