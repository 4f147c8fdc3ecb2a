"""An agent that tries to get at what is none of its business; the query says where that is."""

# ruff: noqa: BLE001 - whatever keeps it out is reported

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from trialbed import Answer, BaseAgent

FAST_OPEN = 0x20000000
LIMIT = 3


class Agent(BaseAgent):
    contract = "3"

    @classmethod
    def framework_version(cls):
        return "6.6.6"

    def bind_tools(self, tools, *, server_url):
        pass

    async def answer(self, query):
        places = json.loads(query)
        found = {name: attempted(globals()[name], places) for name in places["attempts"]}
        return Answer(final_answer=json.dumps(found), finish="give_answer")


def attempted(attempt, places):
    try:
        return attempt(places) or "done"
    except BaseException as error:
        return f"refused: {type(error).__name__}: {error}"


def answers_of_mini(places):
    module = importlib.import_module("trialbed_plugins.datasets.mini")
    return str(next(iter(module.MiniDriver().open(None, Path()).queries())).gold_apis)


def files_of_mini(places):
    return next(Path(places["mini"]).rglob("*.json")).read_text()


def dataset(places):
    return Path(places["dataset"]).read_text()


def store(places):
    return Path(places["store"]).read_text()


def overwriting_the_store(places):
    Path(places["store"]).write_text("forged")


def hiding_the_store(places):
    Path(places["store"]).chmod(0o600)


def keys(places):
    return Path(places["env_file"]).read_text()


def environment_of_the_engine(places):
    return Path(f"/proc/{places['engine']}/environ").read_bytes().decode()


def memory_of_the_engine(places):
    with open(f"/proc/{places['engine']}/mem", "rb") as memory:
        return memory.name


def signal_to_the_engine(places):
    os.kill(places["engine"], 0)


def limits_of_the_engine(places):
    import resource

    resource.prlimit(places["engine"], resource.RLIMIT_NOFILE)


def _greeted(connection, address):
    with connection:
        connection.settimeout(LIMIT)
        connection.connect(address)
        return connection.recv(100).decode()


def the_server(places):
    return _greeted(socket.socket(), ("127.0.0.1", places["server"]))


def other_port(places):
    return _greeted(socket.socket(), ("127.0.0.1", places["other"]))


def other_port_by_fast_open(places):
    with socket.socket() as connection:
        connection.settimeout(LIMIT)
        connection.sendto(b"hello", FAST_OPEN, ("127.0.0.1", places["other"]))
        return connection.recv(100).decode()


def other_port_from_a_child(places):
    program = f"import socket; c = socket.create_connection(('127.0.0.1', {places['other']}), 3); print(c.recv(100))"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def ipv6(places):
    return _greeted(socket.socket(socket.AF_INET6), ("::1", places["ipv6"]))


def udp(places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(LIMIT)
        connection.sendto(b"hello", ("127.0.0.1", places["udp"]))
        return connection.recv(100).decode()


def unix_socket(places):
    return _greeted(socket.socket(socket.AF_UNIX), places["unix"])


def unix_socket_by_a_pair(places):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"hello", places["unix_datagrams"])


def abstract_socket(places):
    return _greeted(socket.socket(socket.AF_UNIX), f"\0{places['abstract']}")


def raw_socket(places):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


def its_own_folder(places):
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        folder = Path(os.environ[name])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_text("text")
        (folder / "file").rename(folder / "other")
        (folder / "other").unlink()
    threading.Thread(target=print).start()
    return subprocess.run(["/bin/echo", "fine"], check=True, capture_output=True, text=True).stdout
