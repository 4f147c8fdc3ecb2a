"""Requirements of environments, as lines of a requirements file.

Where an installed distribution came from, so that another environment gets the same one; what a user gives as
``--adapter``; which state of a local file or folder a line means, which its text does not say; and lines without
credentials. Installers record the origin beside the package (``direct_url.json``); a package without it came from an
index.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distributions
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from trialbed.errors import UsageError

DirectUrl = dict[str, Any]

DECLARATIONS = ("pyproject.toml", "setup.cfg", "setup.py")
"""Files that decide on the dependencies and entry points of an editable checkout; its code takes effect by itself."""

NOT_HASHED = ("build", "dist", "__pycache__")

_LOCAL = re.compile(r"(?P<editable>-e\s+)?(?:\S+\s+@\s+)?(?P<url>file:[^\s#]+)")
_TOKEN = re.compile(r"(https?://)[^/\s@]+@", re.IGNORECASE)
_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]{0,40}://)[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


def python_id() -> str:
    """The interpreter that requirements are resolved for: this one."""
    return f"{platform.python_implementation()} {platform.python_version()} on {sysconfig.get_platform()}"


def installed_distribution(name: str) -> Distribution:
    """The distribution of this name as an installer left it.

    In a checkout, ``python -m`` puts the folder first on the path, and with it the ``.egg-info`` of a build, which
    does not say where the distribution was installed from.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    found = list(distributions(name=name))
    if not found:
        raise PackageNotFoundError(name)
    return next((item for item in found if item.read_text("METADATA")), found[0])


def requirement_of(installed: Distribution) -> str:
    """The requirement that installs this distribution from where it came from."""
    direct, name = direct_url(installed), canonicalize_name(installed.name)
    if not direct:
        return f"{name}=={installed.version}"
    if "dir_info" in direct:
        return folder_line(name, direct["url"], editable=is_editable(direct))
    if "vcs_info" in direct:
        return vcs_line(name, direct, str(direct.get("subdirectory", "")))
    return f"{name} @ {direct['url']}{_hash(direct)}"


def direct_url(installed: Distribution) -> DirectUrl:
    """The origin that the installer recorded; empty for an index, and for a place that no longer exists."""
    direct: DirectUrl = json.loads(installed.read_text("direct_url.json") or "{}")
    path = local_path(direct.get("url", ""))
    return {} if path is not None and not path.exists() else direct


def is_editable(direct: DirectUrl) -> bool:
    """Return whether the distribution is installed as editable."""
    return bool(direct.get("dir_info", {}).get("editable"))


def folder_line(name: str, url: str, *, editable: bool) -> str:
    """The requirement for a local folder."""
    return f"-e {url}" if editable else f"{name} @ {url}"


def vcs_line(name: str, direct: DirectUrl, subdirectory: str) -> str:
    """The requirement for a commit of a repository."""
    info = direct["vcs_info"]
    line = f"{name} @ {info['vcs']}+{direct['url']}@{info['commit_id']}"
    return f"{line}#subdirectory={subdirectory}" if subdirectory else line


def local_path(url: str) -> Path | None:
    """The file or folder that a URL names; None if it is not local."""
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def local_url(line: str) -> str | None:
    """The ``file:`` URL in a requirement."""
    found = _LOCAL.match(line)
    return found["url"] if found else None


def requirement_folder(line: str) -> Path | None:
    """The folder that a requirement installs from; None for any other origin."""
    path = local_path(local_url(line) or "")
    return path if path is not None and path.is_dir() else None


def read_requirement(text: str) -> str:
    """The requirement for ``NAME``, ``NAME==VERSION``, ``NAME @ URL``, a URL, a path or ``-e PATH``.

    Raises:
        UsageError: the text has none of these forms.
    """
    text = text.strip()
    if text.startswith("-e "):
        return f"-e {_folder(text[3:].strip()).as_uri()}"
    if "://" in text and " " not in text:
        return text
    if Path(text).exists() and ("/" in text or "\\" in text or text.endswith(".whl")):
        return Path(text).resolve().as_uri()
    try:
        Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(
            f"--adapter {without_credentials(text)!r} is not a requirement: write NAME, NAME==VERSION, 'NAME @ URL', "
            "a URL, the path of a wheel or folder, or '-e FOLDER'"
        ) from error
    return text


def without_credentials(text: str, replacement: str = "") -> str:
    """The text with the user and password of each URL replaced; uv takes those from its settings or ``.netrc``."""
    return _PASSWORD.sub(rf"\1{replacement}", _TOKEN.sub(rf"\1{replacement}", text))


def local_states(lines: Iterable[str]) -> tuple[str, ...]:
    """A comment line per local file or folder in the requirements, with a digest of the state that they mean."""
    return tuple(sorted(_states(lines)))


def _states(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        found = _LOCAL.match(line)
        path = local_path(found["url"]) if found else None
        if found and path is not None and path.exists():
            yield f"# {found['url']}: sha256 {_digest(path, found['url'], editable=bool(found['editable']))}"


def _digest(path: Path, url: str, *, editable: bool) -> str:
    if path.is_file():
        return _digest_of([path], path.parent)
    if editable:
        return _digest_of([path / name for name in DECLARATIONS if (path / name).is_file()], path)
    return _installed_digest(url) or _digest_of(_tree(path), path)


def _installed_digest(url: str) -> str | None:
    """The state in which a folder was installed here; changes since then do not matter until it is installed again."""
    for installed in distributions():
        if (record := installed.read_text("RECORD")) and direct_url(installed).get("url") == url:
            return hashlib.sha256(record.encode()).hexdigest()
    return None


def _tree(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in NOT_HASHED or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _tree(path)
        else:
            yield path


def _digest_of(files: Iterable[Path], folder: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _hash(direct: DirectUrl) -> str:
    # For a local file the lock has the digest of its content.
    if local_path(direct["url"]):
        return ""
    sha256 = direct.get("archive_info", {}).get("hashes", {}).get("sha256")
    return f"#sha256={sha256}" if sha256 else ""


def _folder(path: str) -> Path:
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise UsageError(f"--adapter '-e {path}': the folder does not exist")
    return folder
