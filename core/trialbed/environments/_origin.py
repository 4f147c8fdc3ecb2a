"""Where distributions that are installed here came from, so that another environment gets the same ones.

Installers write it down beside the package (``direct_url.json``); a package without it came from an index.
"""

from __future__ import annotations

import json
import shlex
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from trialbed.environments._known import KNOWN, adapter_distribution
from trialbed.environments._labels import OWN, installed_adapter
from trialbed.environments._secrecy import without_credentials

Direct = dict[str, Any]


def own_requirement() -> str:
    """The requirement that installs the same Trialbed as is running."""
    return requirement_of(distribution(OWN))


def adapter_requirement(name: str) -> str:
    """The requirement that installs a framework's adapter: as it is installed here, else from where Trialbed is."""
    installed = installed_adapter(name)
    if installed is not None and canonicalize_name(installed.distribution) != OWN:
        return requirement_of(distribution(installed.distribution))
    return _beside(direct_url(distribution(OWN)), name) or adapter_distribution(name)


def install_command(name: str, *pins: str) -> str:
    """The command that installs a framework's adapter beside Trialbed, from where Trialbed came from."""
    line = without_credentials(adapter_requirement(name))
    editable = line.startswith("-e ")
    place = line.removeprefix("-e ")
    path = local_path(place.rpartition(" @ ")[2])
    return f"pip install {shlex.join([*['-e'] * editable, str(path or place), *pins])}"


def requirement_of(installed: Distribution) -> str:
    """A line of a requirements file that installs this distribution from where it came from."""
    direct, name = direct_url(installed), canonicalize_name(installed.name)
    if not direct:
        return f"{name}=={installed.version}"
    if "dir_info" in direct:
        return _folder_line(name, direct["url"], editable=_is_editable(direct))
    if "vcs_info" in direct:
        return _vcs_line(name, direct, str(direct.get("subdirectory", "")))
    return f"{name} @ {direct['url']}{_hash(direct)}"


def direct_url(installed: Distribution) -> Direct:
    """What the installer wrote down about the place, empty for an index or for a place that is no more."""
    direct: Direct = json.loads(installed.read_text("direct_url.json") or "{}")
    path = local_path(direct.get("url", ""))
    return {} if path is not None and not path.exists() else direct


def local_path(url: str) -> Path | None:
    """The file or folder that a URL names; None if it names nothing local."""
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _beside(direct: Direct, name: str) -> str | None:
    """The adapter that lies where Trialbed came from."""
    path = local_path(direct.get("url", ""))
    if "vcs_info" in direct:
        inner = "/".join(filter(None, (direct.get("subdirectory"), "adapters", name)))
        return _vcs_line(adapter_distribution(name), direct, inner) if name in KNOWN else None
    if path is None:
        return None
    if path.is_file():
        wheel = _newest_wheel(path.parent, adapter_distribution(name))
        return f"{adapter_distribution(name)} @ {wheel.as_uri()}" if wheel else None
    folder = path / "adapters" / name
    if not (folder / "pyproject.toml").is_file():
        return None
    return _folder_line(adapter_distribution(name), folder.as_uri(), editable=_is_editable(direct))


def _folder_line(name: str, url: str, *, editable: bool) -> str:
    return f"-e {url}" if editable else f"{name} @ {url}"


def _vcs_line(name: str, direct: Direct, subdirectory: str) -> str:
    info = direct["vcs_info"]
    line = f"{name} @ {info['vcs']}+{direct['url']}@{info['commit_id']}"
    return f"{line}#subdirectory={subdirectory}" if subdirectory else line


def _is_editable(direct: Direct) -> bool:
    return bool(direct.get("dir_info", {}).get("editable"))


def _hash(direct: Direct) -> str:
    # What a local file holds is told by its state in the lock: see _sources.
    if local_path(direct["url"]):
        return ""
    sha256 = direct.get("archive_info", {}).get("hashes", {}).get("sha256")
    return f"#sha256={sha256}" if sha256 else ""


def _newest_wheel(folder: Path, name: str) -> Path | None:
    found = []
    for path in folder.glob("*.whl"):
        try:
            wheel = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        if wheel[0] == canonicalize_name(name):
            found.append((wheel[1], path))
    return max(found)[1] if found else None
