"""The smallest rig that measures at the wire, as the floor for Trialbed's own cost.

It does what no rig can leave out: a server that answers model requests from a script and tool calls, and logs both; a
process for each trial at a time, with a loop that asks the model and calls the tools; one score; and a store. It checks
nothing, reports nothing and writes no documents.

    python benchmarks/floor.py TRIALS CONCURRENCY STORE
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import sys
import time
import zlib
from typing import Any

import httpx

TABLES = """
pragma journal_mode = wal;
pragma synchronous = normal;
create table trials(name text primary key, query int, answer text, score real, took real);
create table exchanges(trial text, place int, kind text, began real, request blob, response blob);
"""

COMMIT_EVERY = 0.2
"""Seconds of trials that are committed together."""


def main() -> None:
    """Be the rig, or a process that it starts."""
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["work"]:
            asyncio.run(work())
        case [trials, concurrency, store]:
            asyncio.run(run(int(trials), int(concurrency), store))
        case _:
            sys.exit(__doc__)


def serve() -> None:
    """Answer requests of trials; the port is the first line of the output."""
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    opened: dict[str, Any] = {}
    ids = itertools.count()

    async def open_trial(request: Request) -> Response:
        trial = await request.json()
        opened[trial["name"]] = {**trial, "log": []}
        return JSONResponse({}, 201)

    async def close_trial(request: Request) -> Response:
        return JSONResponse(opened.pop(request.path_params["trial"])["log"])

    async def model(request: Request) -> Response:
        body, trial = await request.body(), opened[request.path_params["trial"]]
        asked = json.loads(body)
        turn = sum(message["role"] == "tool" for message in asked["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": trial["answer"]}
        if turn < len(trial["calls"]):
            name, arguments = trial["calls"][turn]
            function = {"name": name, "arguments": json.dumps(arguments)}
            message = {
                "role": "assistant",
                "tool_calls": [{"id": f"{next(ids)}", "type": "function", "function": function}],
            }
        return logged("model", trial, body, {"choices": [{"index": 0, "message": message}], "model": asked["model"]})

    async def tool(request: Request) -> Response:
        body, trial = await request.body(), opened[request.path_params["trial"]]
        return logged("tool", trial, body, {"value": 7, "of": json.loads(body)["arguments"]})

    def logged(kind: str, trial: dict[str, Any], request: bytes, answer: dict[str, Any]) -> Response:
        text = json.dumps(answer)
        trial["log"].append({"kind": kind, "began": time.time(), "request": request.decode(), "response": text})
        return Response(text, media_type="application/json")

    routes = [
        Route("/open", open_trial, methods=["POST"]),
        Route("/close/{trial}", close_trial, methods=["POST"]),
        Route("/t/{trial}/v1/chat/completions", model, methods=["POST"]),
        Route("/t/{trial}/virtual", tool, methods=["POST"]),
    ]
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(Starlette(routes=routes), log_level="error", access_log=False)
    # Not by its number: uvicorn takes such a socket for one without TCP, which then waits between head and body.
    uvicorn.Server(config).run(sockets=[listening])


async def work() -> None:
    """Run each trial that a line of the input asks for, and write its answer as a line."""
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with httpx.AsyncClient(headers={"Authorization": "Bearer none"}) as client:
        while line := await reader.readline():
            print(json.dumps(await answer(client, **json.loads(line))), flush=True)


async def answer(client: httpx.AsyncClient, url: str, task: str, tools: list[Any]) -> str:
    """Ask the model and call its tools until it answers."""
    messages: list[Any] = [{"role": "system", "content": "You use tools."}, {"role": "user", "content": task}]
    while True:
        body = {"model": "scripted", "messages": messages, "temperature": 0.0, "tools": tools}
        message = (await client.post(f"{url}/v1/chat/completions", json=body)).json()["choices"][0]["message"]
        messages.append(message)
        if "tool_calls" not in message:
            return str(message["content"])
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            found = await client.post(f"{url}/virtual", json={"name": name, "arguments": arguments})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": found.text})


async def run(trials: int, concurrency: int, path: str) -> None:
    """Run trials, and print how many were right."""
    store = sqlite3.connect(path)
    store.executescript(TABLES)
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(sys.executable, __file__, "serve", stdout=pipe)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(await server.stdout.readline())}"
    command = [sys.executable, __file__, "work"]
    workers = [
        await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=2**24) for _ in range(concurrency)
    ]
    left, ended = list(range(trials)), list[tuple[Any, ...]]()

    def commit() -> None:
        for name, number, said, score, took, log in ended:
            store.execute("insert into trials values (?, ?, ?, ?, ?)", (name, number, said, score, took))
            store.executemany("insert into exchanges values (?, ?, ?, ?, ?, ?)", rows(name, log))
        ended.clear()
        store.commit()

    async def commit_often() -> None:
        while True:
            await asyncio.sleep(COMMIT_EVERY)
            commit()

    async with httpx.AsyncClient(base_url=url) as control:

        async def lane(worker: asyncio.subprocess.Process) -> None:
            while left:
                ended.append(await run_trial(control, worker, left.pop()))

        committing = asyncio.create_task(commit_often())
        await asyncio.gather(*map(lane, workers))
        committing.cancel()
        commit()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
        await worker.wait()
    server.terminate()
    await server.wait()
    print(json.dumps(store.execute("select count(*), avg(score) from trials").fetchone()))


async def run_trial(
    control: httpx.AsyncClient, worker: asyncio.subprocess.Process, number: int
) -> tuple[str, int, str, float, float, list[Any]]:
    """Run a trial, and score it by its log."""
    from growth import query  # its imports are not for the processes of the floor, which would search them for garbage

    assert worker.stdin is not None
    assert worker.stdout is not None
    task, name, began = query(number), f"{number}-{time.time_ns()}", time.time()
    tools = [
        {
            "type": "function",
            "function": {"name": api["api_name"], "description": api["description"], "parameters": schema(api)},
        }
        for api in task["apis"]
    ]
    calls = [[call["api"]["api_name"], call["arguments"]] for call in task["gold_calls"]]
    opened = {"name": name, "calls": calls, "answer": f"Thing 0 and 1 of place {number} are 7.", "tools": tools}
    (await control.post("/open", json=opened)).raise_for_status()
    line = json.dumps({"url": f"{control.base_url}".rstrip("/") + f"/t/{name}", "task": task["text"], "tools": tools})
    worker.stdin.write(line.encode() + b"\n")
    said = json.loads(await worker.stdout.readline())
    took = time.time() - began
    log = (await control.post(f"/close/{name}")).json()
    made = [json.loads(one["request"]) for one in log if one["kind"] == "tool"]
    return name, number, said, float([[one["name"], one["arguments"]] for one in made] == calls), took, log


def described(api: dict[str, Any]) -> dict[str, str]:
    """Return the name and the description of an API's tool."""
    return {"name": api["api_name"], "description": api["description"]}


def schema(api: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an API's arguments."""
    parameters = [*api["required_parameters"], *api["optional_parameters"]]
    properties = {one["name"]: {"type": "string", "description": one["description"]} for one in parameters}
    return {"type": "object", "properties": properties, "required": [one["name"] for one in api["required_parameters"]]}


def rows(name: str, log: list[Any]) -> list[tuple[Any, ...]]:
    """Return the exchanges of a trial as the store keeps them."""
    texts = [[zlib.compress(one[side].encode(), 1) for side in ("request", "response")] for one in log]
    return [(name, place, one["kind"], one["began"], *texts[place]) for place, one in enumerate(log)]


if __name__ == "__main__":
    main()
