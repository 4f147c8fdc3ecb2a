"""The program beside the executor ``ray``, played: the query of a trial says how its place ends; no cluster is needed.

It keeps what it is asked in files of its folder: ``orders``, ``made`` and ``servers``. The places of node 1 end when
there is a file ``unplug``. A place that is gone is made again if there is a file ``again``.
"""

BRIDGE = """
import json, os, sys, threading, time

INFO = {"adapter": "a", "adapter_version": "1", "python": "3"}
OUTCOME = {"started_at": "2026-01-01T00:00:00Z", "wall_time": 1.0, "answer": {"final_answer": "yes"}}
ERRORS = {
    "unknown": ("DriverNotFound", "no such framework"),
    "boxed": ("SandboxUnavailable", "no pyseccomp"),
    "full disk": ("OSError", "no space left"),
}

def say(**message):
    print(json.dumps(message), flush=True)

def note(file, text):
    with open(file, "a") as opened:
        opened.write(text + "\\n")

def make(node):
    number = len(made) + 1
    made.append(number)
    note("made", str(number))
    places[number] = (node, [])
    say(opened=number, node=f"10.0.0.8/node-{node}")

def lose(place, reason):
    node, calls = places.pop(place)
    for call in calls:
        say(lost=call, reason=reason)
    say(gone=place, reason=reason)
    if os.path.exists("again"):
        make(node)

def unplug():
    while not os.path.exists("unplug"):
        time.sleep(0.01)
    for place in [place for place, (node, _) in places.items() if node == 1]:
        lose(place, "its plug was pulled")

def describe(place, framework, server):
    node = places[place][0]
    if framework == "fragile" and place == 3:
        return None
    version = str(node) if framework == "odd" else "2" if framework == "renewed" and place > 4 else "1"
    return {"name": framework, "version": version, **INFO}

def answer(call, place, method, arguments):
    places[place][1].append(call)
    if method == "describe":
        found, kind = arguments[0], "FrameworkInfo"
        result = describe(place, *arguments)
    else:
        spec, expected, server = arguments
        note("servers", server)
        found, kind, result = json.loads(spec)["query"], "Outcome", OUTCOME
        framework = json.loads(spec)["key"]["framework"]
        if expected and json.loads(expected)["version"] != (version := describe(place, framework, server)["version"]):
            return say(answered=call, kind="UnfitNode", text=f"{framework}: version 1 and {version}")
    if found == "end the cluster":
        sys.stderr.write("[2026-11-27 03:38:39,003 W 229 229] rpc_client.h:153: no answer of the head.")
        sys.stderr.flush()
        os._exit(1)
    if found == "garbage":
        print("no message", flush=True)
    elif found == "be lost" or result is None:
        lose(place, "out of memory")
    elif found != "wait":
        kind, text = ERRORS.get(found, (kind, json.dumps(result)))
        say(answered=call, kind=kind, text=text)
        places[place][1].remove(call)

order = json.loads(sys.stdin.readline())
note("orders", json.dumps([order, dict(os.environ)]))
say(host="127.0.0.1")
places, made = {}, []
for place in range(order["places"]):
    make((place + 1) % 2)
threading.Thread(target=unplug, daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    if "end" not in asked:
        answer(**asked)
    elif asked["end"] in places:
        lose(asked["end"], "it was ended")
"""
