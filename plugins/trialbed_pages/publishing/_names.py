"""Names of models, judges and files as others may read them, and texts without the folders of a machine."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from trialbed.wire.addresses import split_address

FILE = re.compile(r"([a-z][\w.+-]*:)?(~|\.{0,2}|[A-Za-z]:)[/\\].*?([^/\\]+)", re.DOTALL)
"""A file that is not below the current folder, maybe after the scheme of a model."""

PART = r"[^\s\"'`<>|:*?,;()\[\]{}&\\/…]+"
"""The name of a file or folder in a text; others, with a space, end where that stands."""

PATH = re.compile(
    r"(?:(?<=file://)|(?<![\w./\\-]))(?:"
    rf"/(?:home|Users)/{PART}"
    rf"|(?:~|\ue000|/(?:mnt|nix|root|scratch|tmp|usr|var|Volumes))(?=/{PART})"
    rf")(?:/{PART})*"
    rf"|(?<!\w)(?:[A-Za-z]:[\\/]+Users[\\/]+{PART}|\ue000(?=\\+{PART}))(?:[\\/]+{PART})*"
)
"""A file below a folder in which machines keep files, or below one that is left out; other paths may be of an API."""

CODE = re.compile(
    r"(?<![^\s\"'`<>|:*?,;()\[\]{}&])"
    rf"(?:/(?:{PART}/)*|[A-Za-z]:[\\/]+(?:{PART}[\\/]+)*)"
    r"([\w.@+-]+\.(?:py[cix]?|so|dll|jsonl?|ya?ml|toml|txt|md|cfg|ini|csv|db|sqlite|log|gguf|pem|key|ipynb|[jt]s|sh))(?!\w)"
)
"""A file recognised by its extension, in any folder."""

TRACED = re.compile(r"(?<=File )(\"|&#34;|&quot;)(?:/|[A-Za-z]:[\\/])[^\"&\n]*[\\/]([^\"&\n\\/]+)(?=\1)")
"""A file in a traceback, also on a page; its name may have spaces."""

LEFT_OUT = "\ue000"
"""Stands for a folder of this program until files below it are found; a character that texts do not have."""

INSTALLED = re.compile(r"(?:site|dist)-packages[\\/]+")


def public_name(value: str) -> str:
    """Return a name without its address, which may contain a key, and a file's name without its folders.

    Folders may name a person. An ellipsis marks them, because the rest could otherwise be taken for a complete name.
    """
    name = split_address(value)[0]
    found = FILE.fullmatch(name)
    return f"{found[1] or ''}…/{found[3]}" if found else name


def folder_mask() -> Callable[[str], str]:
    """Return a function that removes folders from a text, such as a traceback, and keeps file names.

    It removes this program's folders, and everything below the usual folders for files, as on a worker's machine. Files
    of installed packages keep their path within the package. Texts about trials are then the same on every machine.
    """
    paths = (Path.home(), Path.cwd(), Path(tempfile.gettempdir()), Path(sys.prefix), Path(sys.base_prefix))
    own = {folder for path in paths for folder in (path.absolute(), path.resolve())}
    spellings = {
        spelling
        for folder in own
        if folder.parent.parent != folder.parent or (folder == Path.home() and folder.parent != folder)
        for text in (str(folder), folder.as_posix())
        for spelling in (text, text.replace("\\", "\\\\"))
    }
    # A folder before those above it.
    longest = sorted(spellings, key=len, reverse=True)
    here = re.compile(rf"(?:(?<=file://)|(?<![\w./\\-]))(?:{'|'.join(map(re.escape, longest))})(?![\w.-])")

    def mask(text: str) -> str:
        text = TRACED.sub(_mask_traceback, here.sub(LEFT_OUT, text))
        return CODE.sub(_mask_file, PATH.sub(_without_folder, text)).replace(LEFT_OUT, "…")

    return mask


def _mask_traceback(found: re.Match[str]) -> str:
    return f"{found[1]}…/{_in_package(found[0]) or found[2]}"


def _mask_file(found: re.Match[str]) -> str:
    return f"…/{_in_package(found[0]) or found[1]}"


def _in_package(path: str) -> str:
    """Return the path of a file within its installed package; empty for other files."""
    return INSTALLED.split(path)[-1] if INSTALLED.search(path) else ""


def _without_folder(found: re.Match[str]) -> str:
    path = found[0]
    home = re.match(rf"(?:/|[A-Za-z]:[\\/]+)(?:home|Users)[\\/]+{PART}", path)
    below = path[home.end() :] if home else path.lstrip(f"{LEFT_OUT}~")
    name = _in_package(below) or re.split(r"[\\/]+", below)[-1]
    return f"…/{name}" if name else "…"
