"""The control of trials, on a clock that the test sets."""

from __future__ import annotations

from pathlib import Path

from starlette.types import Receive, Scope, Send
from support.servers import TRIAL, listening, registration, until

from trialbed.engine import ControlClient
from trialbed.records import TrialRegistration
from trialbed_server import ServerOptions, create_app
from trialbed_server._clock import SystemClock


class SetClock(SystemClock):
    """Shows the time that it is set to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


async def test_an_opener_that_lives_keeps_its_trials(tmp_path: Path) -> None:
    clock, renewals = SetClock(), list[str]()
    app = create_app(ServerOptions(cache=str(tmp_path / "responses.db")), clock=clock)

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)
        renewals.extend([scope["path"]] * (scope.get("method") == "PUT"))

    async with listening(counted, lifespan="on") as url, ControlClient(url, lease=0.1) as control:
        await control.open_trial(TrialRegistration.model_validate(registration()))
        for moment in (0.09, 0.18, 0.27):
            clock.now = moment
            seen = len(renewals)
            # The first of them may have been under way already.
            await until(lambda seen=seen: len(renewals) >= seen + 2)
        assert set(renewals) == {f"/control/trials/{TRIAL}"}
        assert (await control.close_trial(TRIAL)).trial == TRIAL
