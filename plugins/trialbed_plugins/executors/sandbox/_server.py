"""The sandboxes by name, and the address at which workers in them find the server."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from trialbed.errors import UsageError
from trialbed.settings import SANDBOXES

_, PROCESS, CONTAINER = SANDBOXES

PRIVILEGED = 1024


@dataclass(frozen=True)
class ServerAddress:
    """The host and the port of the server, as they stand in the URLs of trials."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """The address in a URL."""
        parts = urlsplit(url)
        return cls(parts.hostname or "localhost", parts.port or (443 if parts.scheme == "https" else 80))

    @property
    def is_name(self) -> bool:
        """Return whether the host has to be looked up."""
        try:
            ip_address(self.host)
        except ValueError:
            return True
        return False

    @property
    def is_ipv6(self) -> bool:
        """Return whether the host is an IPv6 address."""
        return ":" in self.host

    def check(self, sandbox: str) -> None:
        """See that workers in this sandbox can reach the server.

        Raises:
            UsageError: they cannot.
        """
        if sandbox == CONTAINER:
            _ = self.loopback
        elif sandbox == PROCESS and self.is_name and self.host != "localhost":
            raise UsageError(
                f"--server-url: with --sandbox process, workers cannot look up {self.host}; give the server's address"
            )

    @property
    def loopback(self) -> str:
        """The address at which a container finds the server.

        Raises:
            UsageError: it has none.
        """
        if self.port < PRIVILEGED:
            raise UsageError(
                f"--server-url: with --sandbox container, the server's port must be {PRIVILEGED} or above, "
                f"not {self.port}"
            )
        if self.is_name:
            return "127.0.0.1"
        if not ip_address(self.host).is_loopback:
            raise UsageError(f"--server-url: with --sandbox container, give the name of the host {self.host}")
        return self.host
