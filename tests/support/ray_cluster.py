"""Nodes of a Ray cluster on this machine, in a program of their own: ``python ray_cluster.py NODES``.

It reads commands from standard input, and writes one line when each is done: ``add``, ``kill`` (the oldest node),
``replace`` (the head, and all nodes by one), and the end of input ends all. Nobody else may import Ray: it leaves
threads and warnings behind.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_raylet_start_wait_time_s": "90",
}
STORE = 80 << 20
"""Bytes of shared memory, the least that Ray takes: no trial needs any."""

MEMORY = 2 << 30
"""Bytes that a node says it has."""

CPUS = 2

NODE_KEY = "sk-canary-of-the-nodes"
"""A key in the environment in which nodes are started."""

STARTS = 20
"""Times that a node is started until it is up."""


class RayCluster:
    """A cluster that runs.

    Attributes:
        address: for ``--executor-option address=``.
        pid: of the program that started the nodes.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid
        self.address = self._answer()

    def add(self) -> None:
        """Start another node."""
        self._do("add")

    def kill(self) -> None:
        """Kill the oldest node, with all that runs on it."""
        self._do("kill")

    def kill_all(self) -> None:
        """Kill all nodes but the head."""
        self._do("kill all")

    def replace(self) -> None:
        """Kill the head, and start a node, with a head at the same address that knows nothing."""
        self._do("replace")

    def _do(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        assert self._answer() == command

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the cluster has ended with {self._process.wait()}"
        return line.strip()


@contextmanager
def ray_cluster(nodes: int) -> Iterator[RayCluster]:
    """Start a head without room for trials, and nodes with room for two each."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("TRIALBED_", "OPENAI_"))}
    with subprocess.Popen(
        [sys.executable, __file__, str(nodes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**variables, **SETTINGS, "OPENAI_API_KEY": NODE_KEY},
    ) as process:
        try:
            yield RayCluster(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(120)


def _serve(number: int) -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints, too
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": STORE}
    # What is beside the cluster itself: each imports Ray, for seconds of a processor.
    head |= {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head | _ports()))

    def add() -> Any:
        return _patiently(lambda: cluster.add_node(num_cpus=CPUS, memory=MEMORY, object_store_memory=STORE, **_ports()))

    def replace_head() -> None:
        if cluster.head_node is not None:
            cluster.remove_node(cluster.head_node, allow_graceful=False)
        cluster.add_node(gcs_server_port=port, **head, **_ports())

    nodes = [add() for _ in range(number)]
    port = int(cluster.address.rpartition(":")[2])
    print(cluster.address, file=out, flush=True)
    for line in sys.stdin:
        if line == "add\n":
            nodes.append(add())
        elif line == "kill\n":
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
        elif line == "kill all\n":
            while nodes:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
        else:
            _patiently(replace_head)
            nodes = [add()]
        print(line.strip(), file=out, flush=True)
    cluster.shutdown()


def _ports() -> dict[str, int]:
    """Choose the ports of a node's agents: it would wait fifteen seconds for them to say which they have."""
    names = ("metrics_agent_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    with ExitStack() as stack:
        sockets = {name: stack.enter_context(socket.socket()) for name in names}
        for one in sockets.values():
            one.bind(("", 0))
        return {name: one.getsockname()[1] for name, one in sockets.items()}


def _patiently(start: Callable[[], Any]) -> Any:
    """Start something, again if need be: on a busy machine, Ray gives up parts of its own that are slow."""
    for left in reversed(range(STARTS)):
        try:
            return start()
        except Exception:
            if not left:
                raise
    return None


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
