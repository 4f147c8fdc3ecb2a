"""The program beside the executor ``ray``, played: the query of a trial says how its place ends; no cluster is needed.

It keeps what it is asked in files of its folder: ``orders``, ``made``, ``ports`` and ``servers``. A trial that is to
``end when told`` ends when there is a file ``told``. The places of node 1 end when there is a file ``unplug``.
"""

BRIDGE = """
import json, os, socket, sys, threading, time

def say(**message):
    print(json.dumps(message), flush=True)

def send(connection, **message):
    text = json.dumps(message).encode()
    connection.sendall(len(text).to_bytes(4, "big") + text)

def note(file, text):
    with open(file, "a") as opened:
        opened.write(text + "\\n")

class Place(threading.Thread):
    def __init__(self, made, node):
        super().__init__(daemon=True)
        self.made, self.number, self.node, self.reason = made, made["place"], node, "it was ended"
        self.connection = socket.create_connection((made["host"], made["port"]))

    def run(self):
        send(self.connection, token=self.made["token"], address="10.0.0.8", node=f"node-{self.node}-of-the-cluster")
        stream = self.connection.makefile("rb")
        while prefix := stream.read(4):
            asked = json.loads(stream.read(int.from_bytes(prefix, "big")))
            if asked["type"] == "server":
                note("servers", asked["url"])
            elif not (self.describe if asked["type"] == "describe" else self.execute)(asked):
                break
        self.end(self.reason)

    def end(self, reason):
        if places.pop(self.number, None):
            say(type="gone", place=self.number, reason=reason)
            self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, asked, type, **what):
        send(self.connection, type=type, number=asked["number"], **what)
        return True

    def describe(self, asked):
        name = asked["framework"]
        refused = {"error": "DriverNotFound", "message": "no such framework"}
        broken = {"error": "SandboxUnavailable", "message": "no pyseccomp"}
        if name == "fragile" and self.number == 3:
            self.reason = "out of memory"
            return False
        if name in ("unknown", "boxed"):
            return self.answer(asked, "failed", **{"unknown": refused, "boxed": broken}[name])
        version = str(self.node) if name == "odd" else "2" if name == "renewed" and self.number > 4 else "1"
        info = {"name": name, "version": version, "adapter": "a", "adapter_version": "1", "python": "3"}
        return self.answer(asked, "described", info=info)

    def execute(self, asked):
        query = asked["spec"]["query"]
        if query == "end the cluster":
            sys.stderr.write("[2026-11-27 03:38:39,003 W 229 229] rpc_client.h:153: no answer of the head.")
            sys.stderr.flush()
            os._exit(1)
        if query in ("be lost", "lose the head"):
            headless.extend([1] * (query == "lose the head"))
            self.reason = "out of memory"
            return False
        if query == "full disk" or self.number == 1 and query == "full disk there":
            return self.answer(asked, "failed", error="OSError", message="no space left")
        if query == "garbage":
            print("no message", flush=True)
        elif query == "garbage of a place":
            send(self.connection, type="answered")
        elif query == "too long":
            self.connection.sendall(b"\\xff" * 4)
        elif query != "wait":
            while query == "end when told" and not os.path.exists("told"):
                time.sleep(0.01)
            found = {"started_at": "2026-01-01T00:00:00Z", "wall_time": 1.0, "answer": {"final_answer": "yes"}}
            return self.answer(asked, "executed", outcome=found)
        return True

order = json.loads(sys.stdin.readline())
note("orders", json.dumps([order, dict(os.environ)]))
say(type="connected", host="127.0.0.1")
places, number, headless = {}, 0, []

def unplug():
    while not os.path.exists("unplug"):
        time.sleep(0.01)
    for place in [place for place in places.values() if place.node == 1]:
        place.end("its plug was pulled")

threading.Thread(target=unplug, daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    if headless:
        continue
    if asked["type"] == "make":
        note("made", str(asked["place"]))
        note("ports", json.dumps([asked["host"], asked["port"]]))
        number += 1
        places[asked["place"]] = Place(asked, number % 2)
        places[asked["place"]].start()
    elif place := places.get(asked["place"]):
        place.end("its plug was pulled")
"""
