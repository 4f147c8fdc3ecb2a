"""Loads a document from a file or a URL, and finds what kind it is."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlsplit

from trialbed.errors import DataError, UsageError
from trialbed.wire.redaction import shown_url
from trialbed_tools._bodies import PLAIN, PlainBody, UnusableBody
from trialbed_tools._imported import FoundTools
from trialbed_tools.located import LARGEST, Located, parse_document, read_document

SECONDS = 60.0
"""For which a document may be on its way."""

KINDS = (
    "an OpenAPI 3 document (key 'openapi'), or a list of definitions of tools as OpenAI's, Anthropic's or MCP's API, "
    "or LangChain, has them"
)


def find_tools(source: str) -> FoundTools:
    """Return the tools of the document in a file or at a URL.

    Raises:
        UsageError: it is not there, or cannot be got.
        DataError: it is malformed; names the line and the key.
    """
    if is_url(source):
        try:
            urlsplit(source)
        except ValueError as error:
            raise UsageError(f"{source.rpartition('@')[2]}: is no address") from error
        return _tools(parse_document(_fetch(source), shown_url(source)), source)
    if not Path(source).is_file():
        raise UsageError(f"{source}: there is no such file")
    return _tools(read_document(Path(source)), source)


def is_url(source: str) -> bool:
    """Return whether a source is a URL, and not a file."""
    return source.lower().startswith(("http:", "https:"))


def _tools(located: Located, source: str) -> FoundTools:
    from trialbed_tools._definitions import looks_like_definitions, read_definitions
    from trialbed_tools._openapi import read_openapi

    value = located.value
    if isinstance(value, dict) and "openapi" in value:
        return read_openapi(located, source if is_url(source) else "")
    if isinstance(value, dict) and "swagger" in value:
        raise DataError(
            f"{located.place(('swagger',))}: swagger: this is OpenAPI 2; convert it to OpenAPI 3 first, such as with "
            "npx swagger2openapi"
        )
    if looks_like_definitions(value):
        return read_definitions(located)
    raise DataError(f"{located.name}: is not {KINDS}")


def _fetch(url: str) -> str:
    from trialbed.wire._httpx import httpx

    deadline = time.monotonic() + SECONDS
    shown = shown_url(url)
    try:
        with httpx.stream("GET", url, headers=PLAIN, follow_redirects=True, timeout=SECONDS / 2) as answer:
            if answer.status_code != 200:
                raise UsageError(f"{shown}: the server answers {answer.status_code} {answer.reason_phrase}".rstrip())
            body = PlainBody(answer.headers, LARGEST)
            for part in answer.iter_raw():
                body.add(part)
                if time.monotonic() > deadline:
                    raise UsageError(f"{shown}: takes longer than {SECONDS:g} s")
        return body.content().decode("utf-8-sig")
    except UnusableBody as error:
        raise UsageError(f"{shown}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UsageError(f"{shown}: cannot be got: {type(error).__name__}: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{shown}: is not UTF-8: {error.reason}") from error
