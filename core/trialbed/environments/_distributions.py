"""Requirements that reinstall installed distributions, and the digest of an adapter's code.

Requirements are lines of a requirements file. Installers record the origin of a distribution next to it
(``direct_url.json``); a distribution without that file came from an index. Nothing of an adapter is imported.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from trialbed.drivers import GROUPS
from trialbed.errors import UsageError
from trialbed.installed import offers
from trialbed.records import Environment, framework_driver

DirectUrl = dict[str, Any]

OWN = "trialbed"
"""The distribution with frameworks that have no releases of their own."""

DECLARATIONS = ("pyproject.toml", "setup.cfg", "setup.py")
"""Files with the dependencies and entry points of an editable checkout; its code takes effect without them."""

CACHES = ("__pycache__",)
NOT_HASHED = ("build", "dist", *CACHES)
MADE = (".pyc", ".egg-info")

_LOCAL = re.compile(r"(?P<editable>-e\s+)?(?:\S+\s+@\s+)?(?P<url>file:[^\s#]+)")
_TOKEN = re.compile(r"(https?://)[^/\s@]+@", re.IGNORECASE)
_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]{0,40}://)[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


def python_id() -> str:
    """Return the name of this interpreter, which requirements are resolved for."""
    return f"{platform.python_implementation()} {platform.python_version()} on {sysconfig.get_platform()}"


def installed_distribution(name: str) -> Distribution:
    """Return the installed distribution of this name.

    In a checkout, ``python -m`` puts the folder first on the path, and with it the ``.egg-info`` of a build, which does
    not say what the distribution was installed from. Such a folder is skipped if there is another.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    found = list(distributions(name=name))
    if not found:
        raise PackageNotFoundError(name)
    return next((item for item in found if item.read_text("METADATA")), found[0])


def requirement_of(installed: Distribution) -> str:
    """Return the requirement that installs this distribution from its origin."""
    direct, name = direct_url(installed), canonicalize_name(installed.name)
    if not direct:
        return f"{name}=={installed.version}"
    if "dir_info" in direct:
        return folder_line(name, direct["url"], editable=is_editable(direct))
    if "vcs_info" in direct:
        return vcs_line(name, direct, str(direct.get("subdirectory", "")))
    # For a local file the lock has the digest of its content.
    sha256 = not local_path(direct["url"]) and direct.get("archive_info", {}).get("hashes", {}).get("sha256")
    return f"{name} @ {direct['url']}" + (f"#sha256={sha256}" if sha256 else "")


def direct_url(installed: Distribution) -> DirectUrl:
    """Return the origin that the installer recorded; empty for an index, and for a place that no longer exists."""
    direct: DirectUrl = json.loads(installed.read_text("direct_url.json") or "{}")
    path = local_path(direct.get("url", ""))
    return {} if path is not None and not path.exists() else direct


def is_editable(direct: DirectUrl) -> bool:
    """Return whether the distribution is installed as editable."""
    return bool(direct.get("dir_info", {}).get("editable"))


def folder_line(name: str, url: str, *, editable: bool) -> str:
    """Return the requirement for a local folder."""
    return f"-e {url}" if editable else f"{name} @ {url}"


def vcs_line(name: str, direct: DirectUrl, subdirectory: str) -> str:
    """Return the requirement for a commit of a repository."""
    info = direct["vcs_info"]
    line = f"{name} @ {info['vcs']}+{direct['url']}@{info['commit_id']}"
    return f"{line}#subdirectory={subdirectory}" if subdirectory else line


def local_path(url: str) -> Path | None:
    """Return the file or folder that a URL names; None if it is not local."""
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def local_url(line: str) -> str | None:
    """Return the ``file:`` URL in a requirement."""
    found = _LOCAL.match(line)
    return found["url"] if found else None


def requirement_folder(line: str) -> Path | None:
    """Return the folder that a requirement installs from; None for any other origin."""
    path = local_path(local_url(line) or "")
    return path if path is not None and path.is_dir() else None


def read_requirement(text: str) -> str:
    """Return the requirement for a path, ``-e PATH``, or other arguments of uv such as ``NAME==VERSION`` or a URL.

    Raises:
        UsageError: the folder after ``-e`` does not exist, or the text is not a single requirement.
    """
    text = text.strip()
    path = Path(text.removeprefix("-e ").strip())
    if text.startswith("-e ") and path.is_dir():
        return f"-e {path.resolve().as_uri()}"
    if text.startswith("-") or "\n" in text:
        raise UsageError(
            f"--adapter {without_credentials(text)!r} is not a requirement: write NAME, NAME==VERSION, 'NAME @ URL', "
            "a URL, the path of a wheel or folder, or '-e FOLDER'"
        )
    if path.exists() and ("/" in text or "\\" in text or text.endswith(".whl")):
        return path.resolve().as_uri()
    return text


def without_credentials(text: str, replacement: str = "") -> str:
    """Return the text without the user and password of each URL, which uv takes from its settings or ``.netrc``."""
    return _PASSWORD.sub(rf"\1{replacement}", _TOKEN.sub(rf"\1{replacement}", text))


def local_states(lines: Iterable[str]) -> tuple[str, ...]:
    """A comment line per local file or folder in the requirements, with a digest of the state that they mean."""
    found = []
    for match in filter(None, map(_LOCAL.match, lines)):
        path = local_path(match["url"])
        if path is not None and path.exists():
            found.append(f"# {match['url']}: sha256 {_digest(path, match['url'], editable=bool(match['editable']))}")
    return tuple(sorted(found))


def _digest(path: Path, url: str, *, editable: bool) -> str:
    if editable:
        return _digest_of([path / name for name in DECLARATIONS if (path / name).is_file()], path)
    # The state of the folder when it was installed; later changes do not matter until it is installed again.
    for installed in distributions() if path.is_dir() else ():
        if (record := installed.read_text("RECORD")) and direct_url(installed).get("url") == url:
            return hashlib.sha256(record.encode()).hexdigest()
    return _digest_of(_tree(path), path)


def _tree(place: Path, skipped: Sequence[str] = NOT_HASHED) -> Iterator[Path]:
    """Yield a file, or all files below a folder in order, except hidden and generated ones."""
    if place.is_file():
        yield place
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if not path.name.startswith(".") and path.name not in skipped and not path.name.endswith(MADE):
            yield from _tree(path, skipped)


def _digest_of(files: Iterable[Path], folder: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def package_folders(python: str | Path) -> list[Path]:
    """Return the package folders of an interpreter's environment."""
    root = Path(python).parent.parent
    return sorted(root.glob("lib/python*/site-packages")) or sorted(root.glob("Lib/site-packages"))


_FINDER = re.compile(r"^MAPPING[^=]*= (\{.*\})$", re.MULTILINE)
"""Setuptools writes the folders of an editable install here."""


def adapter_digest(framework: str, environment: Environment | None = None) -> str:
    """Return a SHA-256 over the files of a framework's adapter and the versions of the packages that it runs with.

    It changes when a file of the adapter changes, even if installed as editable, and when another release of the
    framework or of a required package is installed.

    Args:
        environment: the framework's own; None for this interpreter.
    """
    found = _adapter(framework_driver(framework), environment)
    if found is None:
        return ""
    entry, adapter = found
    lines = [f"{place.name} {_digest_of(_tree(place, CACHES), place)}" for place in _code(entry, adapter)]
    lines += _versions(adapter) if environment is None else [f"lock {environment.lock_digest}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _adapter(name: str, environment: Environment | None) -> tuple[EntryPoint, Distribution] | None:
    group = GROUPS["frameworks"]
    if environment is None:
        found = next((offer for offer in offers("frameworks") if offer.name == name), None)
        return found and (EntryPoint(name, found.target, group), installed_distribution(found.distribution))
    for installed in distributions(path=[str(place) for place in package_folders(environment.python)]):
        for entry in installed.entry_points:
            if (entry.group, entry.name) == (group, name):
                return entry, installed
    return None


def linked_folders(site: Path) -> Iterator[Path]:
    """Yield the places that the ``.pth`` files in a folder of packages add to the path."""
    for listing in sorted(site.glob("*.pth")):
        for line in map(str.strip, listing.read_text(encoding="utf-8", errors="replace").splitlines()):
            if line and not line.startswith(("#", "import ", "import\t")) and (site / line).exists():
                yield (site / line).resolve()


def mapped_modules(sites: Iterable[Path]) -> dict[str, Path]:
    """Return the paths of modules that setuptools installed as editable into these folders of packages."""
    found: dict[str, Path] = {}
    for site in sites:
        for finder in sorted(site.glob("__editable___*_finder.py")):
            match = _FINDER.search(finder.read_text(encoding="utf-8", errors="replace"))
            with suppress(ValueError, SyntaxError):
                mapping = ast.literal_eval(match[1]) if match else {}
                found |= {name: Path(path).resolve() for name, path in mapping.items()}
    return found


def _code(entry: EntryPoint, adapter: Distribution) -> Iterator[Path]:
    """Yield the folders and files of an adapter's modules, as installed or in the checkout that they are linked to.

    In Trialbed itself it is only the framework's module. A checkout with another layout is yielded as a whole.
    """
    if canonicalize_name(adapter.name) == OWN:
        spec = find_spec(entry.module)
        yield from [Path(spec.origin)] if spec is not None and spec.origin else []
        return
    names = {point.module.partition(".")[0] for point in adapter.entry_points}
    names |= set((adapter.read_text("top_level.txt") or "").split())
    direct = direct_url(adapter)
    checkout = local_path(direct["url"]) if is_editable(direct) else None
    roots = [Path(str(adapter.locate_file("")))] if checkout is None else [checkout / "src", checkout]
    places = [root / file for root in roots for name in sorted(names) for file in (name, f"{name}.py")]
    found = [place for place in places if place.exists()]
    yield from found or ([] if checkout is None else [checkout])


def _versions(adapter: Distribution) -> list[str]:
    """Return ``name==version`` of the adapter's direct and indirect requirements, sorted.

    Trialbed and its own requirements are left out, because its version is part of a run's configuration.
    """
    known: dict[tuple[str, str], str] = {}
    waiting = [] if canonicalize_name(adapter.name) == OWN else list(_needs(adapter.requires or (), ""))
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in known or name == OWN:
            continue
        with suppress(PackageNotFoundError):
            package = installed_distribution(name)
            known[name, extra] = f"{name}=={package.version}"
            waiting += _needs(package.requires or (), extra)
    return [f"python=={sys.version.split()[0]}", *sorted(set(known.values()))]


def _needs(lines: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """Yield the packages of requirements, once without extras and once with each extra."""
    for line in lines:
        with suppress(InvalidRequirement):
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield from ((canonicalize_name(needed.name), one) for one in ("", *sorted(needed.extras)))
