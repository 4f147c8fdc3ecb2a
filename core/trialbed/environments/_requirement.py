"""Reading where a user says an adapter is."""

from __future__ import annotations

from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from trialbed.environments._secrecy import without_credentials
from trialbed.errors import UsageError


def read_requirement(text: str) -> str:
    """A line of a requirements file for ``NAME``, ``NAME==VERSION``, ``NAME @ URL``, a URL, a path or ``-e PATH``.

    Raises:
        UsageError: it is none of these.
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
            f"--adapter {without_credentials(text)!r} is no requirement: write NAME, NAME==VERSION, 'NAME @ URL', "
            "a URL, the path of a wheel or folder, or '-e FOLDER'"
        ) from error
    return text


def _folder(path: str) -> Path:
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise UsageError(f"--adapter '-e {path}': there is no such folder")
    return folder
