"""Where requests go, with which key and through which proxy: checked before anything is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from trialbed.errors import UsageError

KEY = re.compile(r"[\x21-\x7e]+")
"""What a key can hold: anything else is no text for a header."""

PORTS = {"http": 80, "https": 443}


def checked_url(url: str, where: str) -> str:
    """The base URL, without a slash at its end.

    Args:
        where: what names it, for the message.

    Raises:
        UsageError: it is no base URL, or holds what does not belong there; never shows more than the host.
    """
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"{where}: no URL of a host and a port") from None
    if parts.scheme not in PORTS or not host:
        raise UsageError(f"{where}: must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise UsageError(f"{where}: holds a user name or a password for {host}; the key belongs into .env")
    if parts.query or parts.fragment:
        raise UsageError(f"{where}: must end before /chat/completions, without a query or a fragment ({host})")
    return parts.geturl().rstrip("/")


def checked_key(key: str, where: str) -> str:
    """The key, without the space around it.

    Raises:
        UsageError: it is no text for a header; never shows it.
    """
    stripped = key.strip()
    if KEY.fullmatch(stripped) is None:
        raise UsageError(f"{where}: the key is empty or holds characters that no key has (it is not shown)")
    return stripped


@dataclass(frozen=True)
class Proxy:
    """A proxy that the environment asks for.

    Attributes:
        url: without credentials.
        login: user name and password, if it needs them; never recorded.
    """

    url: str
    login: tuple[str, str] | None = None


def proxy_for(url: str) -> Proxy | None:
    """The proxy that ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` name for a URL; none for this machine itself.

    Raises:
        UsageError: the proxy is of a kind that cannot be used.
    """
    target = urlsplit(url)
    found = getproxies_environment().get(target.scheme)
    if not found or _is_loopback(target.hostname or "") or proxy_bypass(_with_port(target)):
        return None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    if parts.scheme not in PORTS or not parts.hostname:
        raise UsageError(
            f"the environment variable {target.scheme.upper()}_PROXY names no HTTP proxy; change it, "
            f"or set NO_PROXY={target.hostname}"
        )
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Proxy(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), login)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _with_port(target: SplitResult) -> str:
    return f"{target.hostname}:{target.port or PORTS[target.scheme]}"
