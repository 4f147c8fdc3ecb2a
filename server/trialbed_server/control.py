"""``/control/trials``: opening and closing trials."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from trialbed.errors import DriverError, UsageError
from trialbed.records import TrialRegistration
from trialbed_server._clock import Clock
from trialbed_server.gateway.scripted.model import is_scripted, unknown_policy
from trialbed_server.simulators.registry import Simulators
from trialbed_server.trials import Trial, TrialConflict, TrialGone, TrialRegistry, TrialUnknown
from trialbed_server.virtual.catalog import Catalog

TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


class Control:
    """Opens and closes trials.

    Args:
        upstream: URL of the endpoint that the server forwards to, None for none.
    """

    def __init__(self, trials: TrialRegistry, simulators: Simulators, clock: Clock, upstream: str | None) -> None:
        self._trials = trials
        self._simulators = simulators
        self._clock = clock
        self._upstream = upstream

    def router(self) -> APIRouter:
        """The routes."""
        router = APIRouter(prefix="/control/trials")
        router.add_api_route("", self.open, methods=["POST"], status_code=201, response_model=None)
        router.add_api_route("/{trial}", self.show, methods=["GET"], response_model=None)
        router.add_api_route("/{trial}", self.close, methods=["DELETE"], response_model=None)
        return router

    async def open(self, registration: TrialRegistration) -> Response:
        """Open a trial."""
        if not TOKEN.fullmatch(registration.trial):
            return JSONResponse({"detail": [_bad_token(registration.trial)]}, 422)
        try:
            self._check_model(registration)
            simulator = await self._simulators.load(registration.simulator)
            catalog = Catalog([(api, simulator) for api in registration.apis], simulator)
            self._trials.open(Trial(registration, catalog, self._clock))
        except (UsageError, DriverError) as error:
            return JSONResponse({"error": str(error)}, 400)
        except TrialConflict as error:
            return JSONResponse({"error": str(error)}, 409)
        return JSONResponse({"trial": registration.trial}, 201)

    async def show(self, trial: str) -> Response:
        """Say how an open trial stands."""
        try:
            found = self._trials.find(trial)
        except (TrialUnknown, TrialGone) as error:
            return JSONResponse({"error": str(error)}, 404)
        return JSONResponse({"trial": trial, "waited": found.waited()})

    async def close(self, trial: str) -> Response:
        """Close a trial and hand over its wire log."""
        try:
            closed = self._trials.close(trial)
        except (TrialUnknown, TrialGone) as error:
            return JSONResponse({"error": str(error)}, 404)
        return Response(closed.wire_log().model_dump_json(), media_type="application/json")

    def _check_model(self, registration: TrialRegistration) -> None:
        model, base_url = registration.model, registration.base_url
        if is_scripted(model):
            problem = unknown_policy(model)
        elif self._upstream is None:
            problem = f"model {model!r} needs an upstream endpoint; start the server with `bench serve --base-url URL`"
        elif base_url is not None and base_url.rstrip("/") != self._upstream:
            problem = f"base_url {base_url} is not this server's upstream, {self._upstream}"
        else:
            problem = None
        if problem is not None:
            raise UsageError(problem)


def _bad_token(token: str) -> dict[str, Any]:
    message = f"String should match pattern '{TOKEN.pattern}'"
    return {"type": "string_pattern_mismatch", "loc": ["body", "trial"], "msg": message, "input": token}
