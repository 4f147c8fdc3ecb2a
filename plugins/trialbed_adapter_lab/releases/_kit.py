"""The digest of the kit: of the code whose change can change the figures of the same release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from trialbed.environments import BuildRequest, FrameworkSpec, requirement_folder

LAB = ("differences.py", "harness", "fidelity/measurements", "fidelity/reading", "releases/_requests.py")
"""The code of ``trialbed_adapter_lab`` that measures; that which shows figures is not among it."""

SCRIPTED = "trialbed_scripted"
"""The package of the models that every release is measured with."""


def kit_digest(framework: str, parts: Sequence[str], adapter: str = "") -> str:
    """SHA-256 over the code that measures, the scripted models, the framework's adapter and the parts.

    Of an adapter that does not come from a folder, its requirement counts.

    Args:
        adapter: the requirement that installs it, where it is not the usual one.
    """
    digest = hashlib.sha256(f"{version('trialbed')} {' '.join(parts)}".encode())
    for name, path in [*_sources(), *_adapter(framework, adapter)]:
        digest.update(f"{name}\0".encode())
        digest.update(path.read_bytes())
    line = BuildRequest(FrameworkSpec.parse(framework), adapter).requirements[1]
    digest.update(b"" if requirement_folder(line) else line.encode())
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    lab = Path(__file__).parent.parent
    for name in LAB:
        yield from _files(lab / name, name)
    spec = find_spec(SCRIPTED)
    if spec is not None and spec.origin is not None:
        yield from _files(Path(spec.origin).parent, SCRIPTED)


def _adapter(framework: str, adapter: str) -> Iterator[tuple[str, Path]]:
    folder = requirement_folder(BuildRequest(FrameworkSpec.parse(framework), adapter).requirements[1])
    if folder is not None:
        source = folder / "src"
        yield from _files(source if source.is_dir() else folder, "adapter")


def _files(path: Path, name: str) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield name, path
        return
    for found in sorted(path.rglob("*.py")):
        yield f"{name}/{found.relative_to(path).as_posix()}", found
