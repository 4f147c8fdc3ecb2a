"""The process in which llama.cpp serves a model: it ends with its standard input.

A line of JSON on standard input says which model; ``{"url": …}`` on standard output says where it is. All that
llama.cpp has to say goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from aiohttp import web

from trialbed_plugins.models.local._front import make_front


def main() -> None:
    """Serve until the standard input ends."""
    output = os.dup(1)
    os.dup2(2, 1)  # llama.cpp may print
    wanted = json.loads(sys.stdin.buffer.readline())
    server = start(wanted)
    asyncio.run(serve_front(server.listening_address, output))
    # The server's own end waits for the answers under way.
    os._exit(0)


async def serve_front(upstream: str, output: int) -> None:
    """Say on a file descriptor where the front of llama.cpp is, and serve it until the standard input ends."""
    # An abandoned request would hold the only place of the model.
    runner = web.AppRunner(make_front(upstream), access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    os.write(output, json.dumps({"url": f"http://{host}:{port}"}).encode() + b"\n")
    os.close(output)
    await asyncio.to_thread(sys.stdin.buffer.read)


def start(wanted: dict[str, Any]) -> Any:
    """Load a model, and serve it on a free port of this machine.

    Args:
        wanted: ``path`` of the weights, ``template`` (None for the model's own), ``context`` and ``answer`` in
            tokens, ``threads``, and the ``key`` that requests must have.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    params.n_ctx = wanted["context"]
    params.n_predict = wanted["answer"]
    # At temperature 0, equal requests get equal answers only if a token's numbers do not depend on the tokens beside
    # it, which are those that the cache lacks, or another request's. Flash attention, the kernels for repacked weights
    # and those of GPUs add up in another order for one token than for many.
    params.n_parallel = 1
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.no_extra_bufts = True
    params.n_gpu_layers = 0
    params.use_jinja = True
    # Vectors of texts beside answers, which are the same with it.
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    if wanted["template"] is not None:
        params.chat_template = wanted["template"]
    # Answers name it so, and not by the path of its weights.
    params.model_alias = {"local"}
    params.api_keys = [wanted["key"]]
    params.port = 0
    params.ui = False
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
