"""Error bodies in the forms that clients know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.responses import JSONResponse
    from starlette.types import Send


def openai_error(message: str, status: int, kind: str, *, param: str | None = None) -> dict[str, Any]:
    """The body of an error in OpenAI's form; ``status`` doubles as its code."""
    return {"error": {"message": message, "type": kind, "param": param, "code": str(status)}}


def openai_error_response(message: str, status: int, kind: str = "invalid_request_error") -> JSONResponse:
    """An error as OpenAI's clients read it."""
    from starlette.responses import JSONResponse

    return JSONResponse(openai_error(message, status, kind), status)


async def send_json(body: bytes, status: int, send: Send) -> None:
    """Send a body of ready JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
