"""The control of trials, on a clock that the test sets."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from support.servers import listening, registration

from trialbed.engine import ControlClient
from trialbed.records import TrialRegistration
from trialbed_server import ServerOptions, create_app


async def test_what_trials_share_is_sent_once_to_each_server_that_lacks_it(tmp_path: Path) -> None:
    """The server is started again in the midst of it."""
    apps = [create_app(ServerOptions(cache=str(tmp_path / "responses.db"))) for _ in range(2)]
    seen: list[tuple[int, dict[str, Any]]] = []

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        async def read() -> Message:
            message = await receive()
            if scope["path"] == "/control/trials":
                seen.append((current, json.loads(message["body"])))
            return message

        await apps[current](scope, read, send)

    current = 0
    fields = registration(state={"a": [1]}, lease=5)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(apps[1].routed.router.lifespan_context(apps[1].routed))
        url = await stack.enter_async_context(listening(served, lifespan="off"))
        await stack.enter_async_context(apps[0].routed.router.lifespan_context(apps[0].routed))
        control = await stack.enter_async_context(ControlClient(url))

        async def go(trial: str, kind: object, **own: Any) -> None:
            asked = TrialRegistration.model_validate({**fields, "trial": trial, **own})
            await control.open_trial(asked, kind)
            assert (await control.close_trial(trial)).trial == trial

        await go("of-its-own-kind", None)
        await go("first-of-a-kind", 1, seed=1)
        await go("like-the-first-1", 1, seed=2, fault_key="k")
        await go("of-another-kind", "1", simulator="mini")
        current = 1
        await go("like-the-first-2", 1, seed=3)
        await go("like-the-first-3", 1, seed=4)
    whole = [(server, body["trial"], body["keep"]) for server, body in seen if "model" in body]
    assert whole == [
        (0, "of-its-own-kind", False),
        (0, "first-of-a-kind", True),
        (0, "of-another-kind", True),
        (1, "like-the-first-2", True),
    ]
    assert {body["lease"] for _, body in seen if "model" in body} == {5}
    short = [(server, {key: value for key, value in body.items() if key != "setup"}) for server, body in seen]
    assert [found for found in short if "model" not in found[1]] == [
        (0, {"trial": "like-the-first-1", "seed": 2, "fault_key": "k"}),
        (1, {"trial": "like-the-first-2", "seed": 3, "fault_key": ""}),
        (1, {"trial": "like-the-first-3", "seed": 4, "fault_key": ""}),
    ]
