"""What the snooping agent of ``tests/functional/sandbox/adversary`` tries to get at."""

from __future__ import annotations

FILES = (
    *("answers_of_mini", "files_of_mini", "dataset", "store", "keys"),
    *("overwriting_the_store", "hiding_the_store"),
)
PROCESSES = ("environment_of_the_engine", "memory_of_the_engine", "signal_to_the_engine", "limits_of_the_engine")
NETWORK = (
    *("other_port", "other_port_from_a_child", "other_port_by_fast_open", "ipv6", "udp"),
    *("unix_socket", "unix_socket_by_a_pair", "abstract_socket"),
)
ALLOWED = ("the_server", "its_own_folder")


def reached(found: dict[str, str]) -> dict[str, str]:
    """What the agent got at, attempt by attempt."""
    return {name: text for name, text in found.items() if not text.startswith("refused")}
