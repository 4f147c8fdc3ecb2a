"""Stands for llama.cpp where there is none: answers with what it was told to load; refuses what asks for that."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

llama_pooling_type = SimpleNamespace(LLAMA_POOLING_TYPE_MEAN="mean")
llama_flash_attn_type = SimpleNamespace(LLAMA_FLASH_ATTN_TYPE_DISABLED="disabled")
CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}


class CommonParams:
    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.cpuparams, self.cpuparams_batch = SimpleNamespace(n_threads=0), SimpleNamespace(n_threads=0)
        self.chat_template = ""
        self.api_keys: list[str] = []
        self.n_parallel = self.n_ctx = 0


class Server:
    def __init__(self, params: CommonParams) -> None:
        sys.stdout.write("llama.cpp says this on standard output\n")
        sys.stdout.flush()
        if "broken" in params.model.path:
            sys.exit("the weights are broken")
        loaded = {
            "path": params.model.path,
            "context": params.n_ctx,
            "answer": params.n_predict,
            "template": params.chat_template,
        }

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                known = self.headers["authorization"] == f"Bearer {params.api_keys[0]}"
                message = {"role": "assistant", "content": json.dumps(loaded), "tool_calls": [CALL]}
                body = json.dumps(
                    {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
                ).encode()
                self.send_response(200 if known else 401)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{http.server_address[1]}"
