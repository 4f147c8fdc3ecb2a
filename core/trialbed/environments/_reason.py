"""Why uv failed, out of what it wrote."""

from __future__ import annotations

import re

from trialbed.environments._secrecy import redacted

NEEDED = "Space is needed where --env-dir and UV_CACHE_DIR point to, and a network unless uv's cache has all of it."
"""What to do where the machine is the reason."""

MAX_LENGTH = 1500
"""Characters of a reason that are shown."""

_MARK = re.compile(r"^[\s\u00d7╰├│─▶]*(?P<word>error:|cause:|Caused by:|hint:)?\s*")
_NEW = re.compile(r"^\s*([\u00d7╰├]|error:|cause:|Caused by:|hint:)")
_PROGRESS = re.compile(r"^\s*(warning:|Resolved |Prepared |Installed |Building |Built |Using |Downloading )")
_NETWORK = re.compile(
    r"error sending request|dns error|tcp connect error|client error \(Connect\)|Could not connect"
    r"|operation timed out|Request failed after|Network is unreachable|Connection refused",
    re.IGNORECASE,
)

_MACHINE = re.compile(
    r"network was disabled|No space left on device|quota exceeded|Read-only file system|Permission denied",
    re.IGNORECASE,
)


def is_network(stderr: str) -> bool:
    """Whether uv failed for lack of a network."""
    return _NETWORK.search(stderr) is not None


def is_machine(stderr: str) -> bool:
    """Whether uv failed for lack of a network or of a place to write to, and not for what it was asked."""
    return is_network(stderr) or _MACHINE.search(stderr) is not None


def reason(stderr: str) -> str:
    """What uv said, in one paragraph, without decoration, progress and secrets."""
    sentences: list[str] = []
    for line in redacted(stderr).splitlines():
        text = line[len(mark[0]) if (mark := _MARK.match(line)) else 0 :].strip()
        if not text or _PROGRESS.match(line):
            continue
        if _NEW.match(line) or not sentences:
            sentences.append(f"(hint: {text})" if mark and mark["word"] == "hint:" else text)
        else:
            sentences[-1] += f" {text}"
    return _shortened(_joined(sentences)) or "uv said nothing"


def _joined(sentences: list[str]) -> str:
    text = ""
    for sentence in sentences:
        text += sentence if not text else f" {sentence}" if sentence.startswith("(") else f": {sentence}"
    return re.sub(r":+ ?:", ":", text)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH // 2]} […] {text[-MAX_LENGTH // 2 :]}"
