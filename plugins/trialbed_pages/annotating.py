"""Takes annotations of trials from the page of answers."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from fastapi import Request
from pydantic import ValidationError

from trialbed.errors import UsageError
from trialbed.records import Annotation, TrialKey

LARGEST = 100_000
"""Bytes of a form."""

FIELDS = ("rating", "note", "correction")


def is_own(request: Request) -> bool:
    """Return whether a request comes from these pages or not from a browser; other sites may only read."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form.

    Raises:
        UsageError: it is too large, or is not a form.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise UsageError(f"a form of more than {LARGEST:,} bytes is not read")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=20)
    except ValueError as error:
        raise UsageError(f"this is not a form: {error}") from error
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}


def annotation_of(key: TrialKey, form: Mapping[str, str]) -> Annotation:
    """Return the annotation of a trial from a form.

    Raises:
        UsageError: the rating is invalid.
    """
    given = {name: form.get(name, "").strip() for name in FIELDS}
    try:
        return Annotation(
            framework=key.framework,
            query_id=key.query_id,
            repeat=key.repeat,
            **given | {"rating": given["rating"] or None},
        )
    except ValidationError as error:
        raise UsageError(f"rating: {given['rating']!r:.60}: write right, wrong or unclear") from error
