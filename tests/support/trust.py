"""The certificates that clients trust, which tests need not read: their servers speak plain HTTP.

To read them takes 30 ms of a processor, for every client that a framework or a test makes.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import certifi


def read_no_certificates() -> None:
    """From now on, let clients of this process, and of those forked from it, trust nobody over TLS."""
    ssl.SSLContext.load_verify_locations = _leave  # type: ignore[method-assign]


def _leave(*_: object, **__: object) -> None:
    """Read nothing."""


def one_certificate(file: Path) -> Path:
    """Write a file with one certificate: ``SSL_CERT_FILE`` of programs that are not forked and use no network."""
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    file.write_text(first + end, encoding="utf-8")
    return file
