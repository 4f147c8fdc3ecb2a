"""Find secrets in texts in any of their written forms, and mask them.

An endpoint that repeats a key may escape it for JSON, a URL or HTML, encode it in base64 or hexadecimal, or send it in
the pieces of a stream, which only together are the key.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from html.entities import html5
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from trialbed.errors import UsageError
from trialbed.settings import MIN_SECRET, REDACTED, secret_values
from trialbed.wire._json import lenient_json

LAYERS = 4
"""Escapes within escapes that are undone."""

LONGEST_ESCAPE = 12
"""The most characters that one character of a secret may be written in."""

BACKSLASHES = 16
"""Backslashes before one character that are masked with it."""

# Only one backslash, because a run of them must not be read again from every place.
# Each begins with a character of its own: searching for them one by one is four times as fast as for any of them.
_CODED = tuple(map(re.compile, (r"\\(?:u00|x)[2-7]", r"%(?:25)*[2-7][0-9A-Fa-f]", r"&(?:#|[A-Za-z])")))
_CODED_WIDE = tuple(map(re.compile, (r"\\[ux]", r"%[0-9A-Fa-f]{2}", r"&(?:#|[A-Za-z])")))
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_UNFINISHED = re.compile(r"(?:\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|%[0-9A-Fa-f]?|&#?[0-9A-Za-z]{0,8})$")
_EVENT = re.compile(r"^data:", re.MULTILINE)
_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://|//|)[^/?#]*@")

R = TypeVar("R", bound=BaseModel)
Field = tuple[Any, ...]
Mask = Callable[[str], str]


def stars(found: str) -> str:
    """Return a mask as long as the text that it hides, in bytes of UTF-8."""
    # Bytes that are not UTF-8 stand for themselves, as lone surrogates.
    return "*" * len(found.encode("utf-8", "replace"))


def label(_found: str) -> str:
    """Return the mask that says that a secret was here."""
    return REDACTED


@lru_cache(maxsize=64)
def redaction_of(secrets: tuple[str, ...]) -> Redaction:
    """Return the redaction of these secrets, which is cached."""
    return Redaction(secrets)


class Redaction:
    """Masks secrets in texts, JSON values, bodies of HTTP and records.

    Args:
        secrets: the values; shorter than 8 characters are ignored.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({secret for secret in secrets if len(secret) >= MIN_SECRET}, key=lambda s: (-len(s), s))
        whole = {spelling for secret in self._secrets for spelling in (secret, *_encodings(secret))}
        self._whole = sorted(whole, key=lambda spelling: (-len(spelling), spelling))
        plain = dict.fromkeys(spelling for each in self._whole for spelling in (each, _plain(each)))
        self._plain = tuple(spelling for spelling in plain if len(spelling) >= MIN_SECRET)
        self._coded = _CODED if all(secret.isascii() for secret in self._secrets) else _CODED_WIDE

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def finds(self, text: str) -> bool:
        """Return whether a secret is in the text."""
        if not self._secrets:
            return False
        if any(spelling in text for spelling in self._whole):
            return True
        if "\\" in text:
            unescaped = text.replace("\\", "")
            if any(spelling in unescaped for spelling in self._plain):
                return True
        if not any(code.search(text) for code in self._coded):
            return False
        plain = _plain(text)
        return any(spelling in plain for spelling in self._plain)

    def text(self, text: str, mask: Mask = label) -> str:
        """Return the text without secrets; the same object if it holds none."""
        if not self.finds(text):
            return text
        masked = self._pattern.sub(lambda match: mask(match[0]), text)
        # A secret that no pattern finds within its surroundings goes with them.
        return mask(text) if self.finds(masked) else masked

    def value(self, value: Any, mask: Mask = label) -> Any:
        """Return the JSON value without secrets, in texts and in keys of objects."""
        if isinstance(value, str):
            return self.body(value) if _EVENT.search(value) else self.text(value, mask)
        if isinstance(value, dict):
            return {self.value(key, mask): self.value(item, mask) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.value(item, mask) for item in value)
        return value

    def body(self, text: str) -> str:
        """Return the body of a request or an answer without secrets, even if they are split over a stream's events.

        A mask has the length of the text that it hides. An event with a piece of a secret is rewritten.
        """
        masked = self.text(text, stars)
        if not self._secrets or _EVENT.search(masked) is None:
            return masked
        return "\n".join(without_pieces(self, masked.split("\n")))

    def record(self, record: R) -> R:
        """Return the record without secrets; the same object if it holds none."""
        if not self._secrets:
            return record
        text = _json_text(record)
        if not self.finds(text) and "data:" not in text:
            return record
        data = record.model_dump()
        cleaned = self.value(data)
        return record if cleaned == data else type(record).model_validate(cleaned)

    def beginning(self, text: str) -> int:
        """Return the place of a secret that may begin at the text's end and go on, or the text's length without one."""
        if not self.may_go_on(text, 1):
            return len(text)
        starts = self._starts.finditer(text, max(0, len(text) - self._longest))
        return min((match.start() for match in starts if self._continues(text[match.start() :])), default=len(text))

    def may_go_on(self, text: str, least: int) -> bool:
        """Return whether the text may end with the beginning of a secret, at least ``least`` characters of it."""
        tail = text[-self._longest :]
        if _ends_within(tail, self._whole, least):
            return True
        if not any(mark in tail for mark in "\\%&"):
            return False
        finished = _UNFINISHED.sub("", tail)
        return (least == 1 and finished != tail) or _ends_within(_plain(finished), self._plain, least)

    def _continues(self, tail: str) -> bool:
        plain = _plain(_UNFINISHED.sub("", tail))
        return any(spelling.startswith(tail) for spelling in self._whole) or any(
            spelling.startswith(plain) for spelling in self._plain
        )

    @cached_property
    def _longest(self) -> int:
        return LONGEST_ESCAPE * max((len(spelling) for spelling in self._whole), default=0)

    @cached_property
    def _starts(self) -> re.Pattern[str]:
        firsts = "".join({re.escape(spelling[0]) for spelling in self._plain})
        return re.compile(rf"[\\%&{firsts}]")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        letters = ["".join(map(_character_pattern, secret)) for secret in self._secrets]
        return re.compile("|".join([*map(re.escape, self._whole), *letters]))


def _json_text(record: BaseModel) -> str:
    try:
        return record.model_dump_json()
    except ValueError:  # a lone surrogate, or a value that JSON does not have
        return json.dumps(record.model_dump(), default=str)


def _encodings(secret: str) -> Iterator[str]:
    """Yield the secret in base64, at any offset in the encoded text, and in hexadecimal."""
    data = secret.encode("utf-8", "surrogatepass")
    for offset in range(3):
        text = b64encode(b"\0" * offset + data).decode()
        # The last character is the secret's alone if the text ends there.
        for inner in (text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6], text[-(-offset * 8 // 6) :]):
            yield inner.rstrip("=")
            yield inner.rstrip("=").replace("+", "-").replace("/", "_")
    yield data.hex()
    yield data.hex().upper()


def _plain(text: str) -> str:
    """Return the text with its escapes undone, and without backslashes."""
    for _ in range(LAYERS):
        undone = html.unescape(unquote(_ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)))
        if undone == text:
            break
        text = undone
    return text.replace("\\", "")


@lru_cache(maxsize=1)
def _entities() -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for name, character in html5.items():
        if name.endswith(";"):
            names[character].append(name)
    return names


def _character_pattern(character: str) -> str:
    code = ord(character)
    percent = "".join(f"%(?:25)*(?i:{byte:02x})" for byte in character.encode("utf-8", "surrogatepass"))
    names = "|".join(re.escape(name) for name in _entities().get(character, ()))
    entity = rf"#0*{code};?|#[xX]0*(?i:{code:x});?" + (f"|{names}" if names else "")
    ways = [re.escape(character), rf"u(?i:{code:04x})", percent, f"&(?:amp;)*(?:{entity})"]
    if code < 256:
        ways.append(rf"x(?i:{code:02x})")
    return rf"(?:\\{{0,{BACKSLASHES}}}(?:{'|'.join(ways)}))"


def event_texts(value: Any, field: Field = ()) -> Iterator[tuple[Field, Any, Any]]:
    """Yield each text in the JSON value of an event with its field, its holder, and its key there.

    The field is equal for the texts that a client joins: the path, with choices and calls by their ``index``.
    """
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        index = item.get("index") if isinstance(item, dict) and isinstance(value, list) else None
        inner = (*field, key if index is None else ("index", str(index)))
        if isinstance(item, str):
            yield inner, value, key
        else:
            yield from event_texts(item, inner)


def event_value(line: str) -> Any:
    """Return the JSON value of an event's line, or None without a value."""
    if not line.startswith("data:"):
        return None
    value = lenient_json(line[5:])
    return value if isinstance(value, dict | list) else None


def event_line(value: Any, line: str) -> str:
    """Return the line of an event with another value, padded to its former length if possible."""
    text = "data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "backslashreplace").decode()
    ending = line[len(line.rstrip("\r\n")) :]
    room = len(line.encode("utf-8", "surrogatepass")) - len(ending) - len(text.encode())
    return text + " " * room + ending


def _ends_within(text: str, spellings: Iterable[str], least: int) -> bool:
    for spelling in spellings:
        place = text.find(spelling[:least], max(0, len(text) - len(spelling)))
        while place >= 0:
            if spelling.startswith(text[place:]):
                return True
            place = text.find(spelling[:least], place + 1)
    return False


def without_pieces(
    redaction: Redaction, lines: Sequence[str], before: Mapping[Field, str] = MappingProxyType({})
) -> list[str]:
    """Return the lines of a stream without the pieces of secrets that only together are one.

    Args:
        before: the ends of the texts of earlier lines, by field.
    """
    lines = list(lines)
    values = [event_value(line) for line in lines]
    fields: dict[Field, list[tuple[int, Any, Any]]] = defaultdict(list)
    for number, value in enumerate(values):
        for field, holder, key in event_texts(value):
            fields[field].append((number, holder, key))
    changed: set[int] = set()
    for field, pieces in fields.items():
        earlier = before.get(field, "")
        joined = earlier + "".join(holder[key] for _, holder, key in pieces)
        if (earlier or len(pieces) > 1) and redaction.finds(joined):
            masked, place = redaction.text(joined, lambda found: "*" * len(found)), len(earlier)
            for number, holder, key in pieces:
                start, place = place, place + len(holder[key])
                if holder[key] != masked[start:place]:
                    holder[key] = masked[start:place]
                    changed.add(number)
    for number in changed:
        lines[number] = event_line(values[number], lines[number])
    return lines


def redact(text: str, secrets: Iterable[str] | None = None) -> str:
    """Return the text with every secret value replaced in all its escaped and encoded forms.

    Args:
        secrets: the values; by default the secrets of this process's environment.
    """
    return redaction_of(secret_values() if secrets is None else tuple(secrets)).text(text)


def shown_url(url: str) -> str:
    """Return a URL for display, without its user and password and with secrets masked.

    The text need not be a valid URL.
    """
    return redact(_USER.sub(r"\1", url))


def check_url(url: str, option: str, example: str) -> None:
    """Check the address of a server or an endpoint, which is stored and shown.

    Args:
        option: the option that it was given with.
        example: a valid address, for the message.

    Raises:
        UsageError: it is not an http(s) URL, or has a password, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:  # such as an invalid port
        known = False
    if not known:
        raise UsageError(f"{option} {shown_url(url)!r} is not an http(s) URL; give one such as {example}")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            f"{option}: the address of {parts.hostname} is given with a password, a query or a fragment, which would "
            "be stored; give the bare address, and the key in an environment variable"
        )
