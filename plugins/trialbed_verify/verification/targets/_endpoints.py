"""Base URLs of endpoints, and the proxies to reach them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from trialbed.errors import UsageError
from trialbed.wire.addresses import is_loopback

PORTS = {"http": 80, "https": 443}


def checked_url(url: str, where: str) -> str:
    """The base URL, without a trailing slash.

    Args:
        where: the option or file that names it, for messages.

    Raises:
        UsageError: it is not a base URL, or holds credentials. The message shows at most the host.
    """
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"{where}: not a valid URL; check the host and the port") from None
    if parts.scheme not in PORTS or not host:
        raise UsageError(f"{where}: a base URL must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise UsageError(f"{where}: contains a user name or password for {host}; put the key into .env instead")
    if parts.query or parts.fragment:
        raise UsageError(f"{where}: a base URL must end before /chat/completions, without query or fragment ({host})")
    return parts.geturl().rstrip("/")


@dataclass(frozen=True)
class Proxy:
    """A proxy from the environment.

    Attributes:
        url: without credentials.
        login: user name and password, if given; never recorded.
    """

    url: str
    login: tuple[str, str] | None = None


def proxy_for(url: str) -> Proxy | None:
    """The proxy that ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` select for a URL; never one for a loopback host.

    Raises:
        UsageError: the proxy is not an HTTP proxy.
    """
    target = urlsplit(url)
    found = getproxies_environment().get(target.scheme)
    if not found or is_loopback(target.hostname or "") or proxy_bypass(_with_port(target)):
        return None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    if parts.scheme not in PORTS or not parts.hostname:
        raise UsageError(
            f"the environment variable {target.scheme.upper()}_PROXY does not name an HTTP proxy; change it, "
            f"or set NO_PROXY={target.hostname}"
        )
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Proxy(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), login)


def _with_port(target: SplitResult) -> str:
    return f"{target.hostname}:{target.port or PORTS[target.scheme]}"
