"""Open, renew and close trials at ``/control``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trialbed.contracts import TrialModel
from trialbed.errors import DriverError, UsageError
from trialbed.models import FoundModel, installed_model
from trialbed.records import TrialOpening, TrialRegistration
from trialbed.wire import finite_float, parse_json
from trialbed_server._clock import Clock
from trialbed_server._http import BodyTooLarge, ClientGone, read_body
from trialbed_server._options import ServerOptions
from trialbed_server.gateway.upstream import Upstreams
from trialbed_server.simulators.registry import Simulators
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import (
    OWN_MODELS,
    UNLIMITED,
    HostedModel,
    Setups,
    TrialConflict,
    TrialRegistry,
    TrialSetup,
)

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess
    from trialbed_plugins.recordings import ModelCache
    from trialbed_server.virtual.resolver import Callbacks

TRIALS = "/control/trials"
SPENDING = "/control/spending"

TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")

PROBLEMS = 20
"""Problems of one registration that are named. The values are not repeated: they may be large."""

SHOWN = 500
"""Characters of an error."""


BAD_TOKEN = {
    "type": "string_pattern_mismatch",
    "loc": ["body", "trial"],
    "msg": f"String should match pattern '{TOKEN.pattern}'",
}


@dataclass(eq=False)
class Control:
    """Open and close trials.

    Attributes:
        upstreams: the endpoints that the server forwards to.
        cache: the model cache, or None.
        user_model: plays users, or None.
        callbacks: asks the programs that play users themselves.
    """

    trials: TrialRegistry
    simulators: Simulators
    clock: Clock
    upstreams: Upstreams
    cache: ModelCache | None
    options: ServerOptions
    callbacks: Callbacks
    user_model: ModelAccess | None = None
    _setups: Setups = field(default_factory=Setups)
    _installed_model: Callable[[str], FoundModel] = field(default_factory=lambda: lru_cache(64)(installed_model))

    def routes(self) -> list[Route]:
        """Return the routes."""
        trial = f"{TRIALS}/{{trial}}"
        return [
            Route(TRIALS, self.open, methods=["POST"]),
            Route(trial, self.close, methods=["DELETE"]),
            Route(trial, self.renew, methods=["PUT"]),
            Route("/control/endpoint", self.endpoint, methods=["GET"]),
            Route("/t/{trial}/waited", self.show_waited, methods=["GET"]),
            Route("/t/{trial}/user", self.next_message, methods=["POST"]),
            Route(SPENDING, self.show_spending, methods=["GET"]),
        ]

    async def endpoint(self, _request: Request) -> Response:
        """Show whether the models' endpoint works."""
        return Response(self.upstreams.status().model_dump_json(), media_type="application/json")

    async def open(self, request: Request) -> Response:
        """Open a trial, and keep its setup under a name if its registration asks for that."""
        asked: TrialRegistration | TrialOpening
        try:
            body = await read_body(request.scope, request.receive, self.options.max_body)
            document = parse_json(body, finite_float)
            like_another = isinstance(document, dict) and "setup" in document
            asked = (TrialOpening if like_another else TrialRegistration).model_validate(document)
        except ClientGone:
            return Response(status_code=400)
        except BodyTooLarge as error:
            return JSONResponse({"error": f"the registration {error}"}, 413)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[:PROBLEMS]
            named = [{**one, "loc": ["body", *(str(part)[:100] for part in one["loc"])]} for one in found]
            return JSONResponse({"detail": named}, 422)
        except ValueError as error:
            return JSONResponse({"detail": [{"type": "json_invalid", "loc": ["body"], "msg": str(error)}]}, 422)
        if not TOKEN.fullmatch(asked.trial):
            return JSONResponse({"detail": [BAD_TOKEN]}, 422)
        try:
            setup = self._setups.find(asked.setup) if isinstance(asked, TrialOpening) else await self._setup(asked)
            if setup is None:
                return JSONResponse({"error": "no setup of this name is kept; send a whole registration"}, 404)
            self.trials.open(setup.trial(asked, self.clock))
        except (UsageError, DriverError) as error:
            return JSONResponse({"error": str(error)[:SHOWN]}, 400)
        except TrialConflict as error:
            return JSONResponse({"error": str(error)}, 409)
        keep = isinstance(asked, TrialRegistration) and asked.keep
        kept = {"setup": self._setups.keep(document, setup)} if keep else {}
        return JSONResponse({"trial": asked.trial, **kept}, 201)

    async def show_waited(self, request: Request) -> Response:
        """Show how long an open trial has waited for repeated requests."""
        return JSONResponse({"waited": self.trials.find(request.path_params["trial"]).waited()})

    async def next_message(self, request: Request) -> Response:
        """Take the agent's answer, and hand out the user's next message."""
        opened = self.trials.find(request.path_params["trial"])
        try:
            body = parse_json(await read_body(request.scope, request.receive, self.options.max_body))
        except ClientGone:
            return Response(status_code=400)
        except (BodyTooLarge, ValueError) as error:
            return JSONResponse({"error": f"the answer: {error}"}, 422)
        answer = body.get("answer") if isinstance(body, dict) else None
        if not opened.take_answer(answer if isinstance(answer, str) else ""):
            return JSONResponse({"text": None})
        from trialbed_server.users import next_reply  # most tasks have one message

        reply = await next_reply(opened, self.user_model, self.callbacks)
        opened.say(reply.text, reply.why)
        return JSONResponse({"text": reply.text})

    async def renew(self, request: Request) -> Response:
        """Keep a trial open because its opener is still there."""
        opened = self.trials.find(request.path_params["trial"])
        opened.renew()
        return JSONResponse({"trial": opened.registration.trial})

    async def close(self, request: Request) -> Response:
        """Close a trial and hand over its wire log."""
        closed = self.trials.close(request.path_params["trial"])
        await closed.end_world()
        return Response(await closed.log(), media_type="application/json")

    async def show_spending(self, _request: Request) -> Response:
        """Show the use that simulators have made of their model, and users of theirs."""
        uses = {"simulator": self.simulators.uses(), "user": [self.user_model.use] if self.user_model else []}
        return JSONResponse({role: [use.model_dump(mode="json") for use in found] for role, found in uses.items()})

    async def _setup(self, registration: TrialRegistration) -> TrialSetup:
        model, base_url = registration.model, registration.base_url
        found = self._installed_model(model)
        is_own = type(found.driver).__module__.startswith(OWN_MODELS)
        first = found.begin(registration) if is_own else await asyncio.to_thread(found.begin, registration)
        if first is None:
            if not self.upstreams.urls:
                raise UsageError(
                    f"model {model!r} needs an upstream endpoint; start the server with `bench serve --base-url URL`"
                )
            if self.upstreams.at(base_url) is None:
                urls = " or ".join(self.upstreams.urls)
                raise UsageError(f"base_url {base_url!r} is not this server's upstream, {urls}")
        if registration.user is not None and registration.user.kind == "model" and self.user_model is None:
            raise UsageError("this server has no model that plays users")
        begin: Callable[[TrialRegistration], TrialModel | None] = found.begin
        if first is not None and not is_own:
            seconds = UNLIMITED if registration.limits is None else registration.limits.timeout
            begin = partial(HostedModel, found.begin, first, seconds)
        simulator = await self.simulators.load(registration.simulator)
        catalog = TargetCatalog([(api, simulator) for api in registration.apis], simulator)
        setup = TrialSetup(registration, catalog, simulator, begin, runs_foreign_code=not is_own)
        if not registration.cached_as:
            return setup
        if self.cache is None:
            raise UsageError("the trial needs a model cache, and this server has none")
        from trialbed_plugins.recordings import CachedModel  # most servers have none

        cache = self.cache
        return replace(setup, model=lambda trial: CachedModel(cache, trial, begin(trial)))
