"""Build the server from its parts, its routes, and the checks in front of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import trialbed
from trialbed.contracts import Dataset, Simulator
from trialbed.drivers import load_driver
from trialbed.records import Api, ModelEndpoint, Prices
from trialbed.settings import data_dir
from trialbed.wire import RetryWaits
from trialbed.wire.addresses import split_address
from trialbed.wire.redaction import redaction_of
from trialbed_server._clock import Clock, SystemClock
from trialbed_server._http import UNTAGGED, BoundedProtocol, SiteCheck, TokenCheck
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server.control import Control
from trialbed_server.faults import PutIn
from trialbed_server.gateway.circuit import Pace
from trialbed_server.gateway.endpoints import Gateway
from trialbed_server.gateway.upstream import Upstream, Upstreams
from trialbed_server.real import RealBackend
from trialbed_server.response_store import ResponseCache
from trialbed_server.simulators.registry import Simulators
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import TrialRefused, TrialRegistry
from trialbed_server.virtual.endpoint import McpEndpoint, VirtualApi
from trialbed_server.virtual.resolver import Callbacks, Resolver

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess

SWEEP = 30.0
"""Seconds between two looks for trials that have expired."""

FREQUENT = re.compile(r"(?:/t/(?P<trial>[^/]+))?/(?:virtual|v1/(?P<path>.*))")
"""Paths of calls of APIs and of requests to models, in the form of their routes."""

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class Application:
    """The server as an ASGI application.

    It serves the requests that every check admits, and passes calls of APIs and requests to models straight to their
    endpoints, as routing would take longer than many of the answers do.

    Args:
        routed: the routes.

    Attributes:
        virtual, gateway: the endpoints.
        protocol: of its connections.
    """

    protocol = BoundedProtocol

    def __init__(self, options: ServerOptions, routed: Starlette, virtual: VirtualApi, gateway: Gateway) -> None:
        self.routed = routed
        self.virtual = virtual
        self.gateway = gateway
        self._checks = list(_checks(options))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        endpoint: ASGIApp = self.routed
        if scope["type"] == "http":
            if (refusal := next(filter(None, (check(scope) for check in self._checks)), None)) is not None:
                endpoint = refusal
            elif scope["method"] == "POST" and (found := FREQUENT.fullmatch(scope["path"])):
                scope["path_params"] = found.groupdict()
                endpoint = self.virtual if found["path"] is None else self.gateway
        await endpoint(scope, receive, send)


def create_app(options: ServerOptions, *, clock: Clock | None = None) -> Application:
    """Return a server as an ASGI application.

    Raises:
        TrialbedError: the cache, a dataset or a simulator cannot be used; the text says why.
    """
    clock = clock or SystemClock()
    trials = TrialRegistry(trials_only=options.control_token is not None, idle=options.trial_expiry)
    simulators = Simulators(_simulator_access(options), options.simulator_prompt)
    user_model = None if options.user_model is None else _user_model(options, options.user_model)
    faults = None if options.faults is None else PutIn(options.faults, "", clock)
    metrics = Metrics(trials.__len__)
    upstreams = Upstreams(list(_upstreams(options, clock)))
    cache = ResponseCache(options.cache, options.memory)
    keys = (options.upstream_key, options.real_key, *options.upstream_keys.values())
    redaction = redaction_of(tuple(key for key in keys if key))
    real = None if options.real_url is None else RealBackend(options, clock, redaction)
    resolver = Resolver(cache, simulators, real, metrics, options)
    catalog = TargetCatalog(_documented_apis(options, simulators), simulators.get(options.simulator or "template"))
    callbacks = Callbacks(allowed=options.control_token is not None, max_answer=options.max_answer)
    virtual = VirtualApi(resolver, catalog, trials, faults, metrics, callbacks, redaction, options)
    gateway = Gateway(trials, faults, upstreams, clock, metrics, options)
    model_cache = None
    if options.model_cache is not None:
        from trialbed_plugins.recordings import ModelCache  # most servers have none

        model_cache = ModelCache(options.model_cache)
    control = Control(trials, simulators, clock, upstreams, model_cache, options, callbacks, user_model)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(cache)
            stack.push_async_callback(simulators.close)
            if user_model is not None:
                stack.push_async_callback(user_model.close)
            stack.push_async_callback(resolver.close)
            for client in (*upstreams.each, real, callbacks, model_cache):
                if client is not None:
                    await stack.enter_async_context(client)
            stack.callback(asyncio.create_task(_sweep(trials)).cancel)
            yield

    status = {"status": "ok", "version": trialbed.__version__, "upstream": options.upstream}

    async def healthz(request: Request) -> JSONResponse:
        """Show the server's version and endpoint."""
        if getattr(request.app.state, "is_ending", False):
            # It still answers for a moment, but a client that began to use it now would lose it.
            return JSONResponse({**status, "status": "ending"}, 503)
        return JSONResponse(status)

    async def show_metrics(_request: Request) -> Response:
        """Show figures for Prometheus."""
        return Response(metrics.page(), headers={"content-type": metrics.content_type})

    routes = [
        *control.routes(),
        *(Route(f"{prefix}/virtual", virtual, methods=["POST"]) for prefix in ("", "/t/{trial}")),
        *(Route(f"{prefix}/v1/{{path:path}}", gateway, methods=METHODS) for prefix in ("", "/t/{trial}")),
        Route("/t/{trial}/mcp", McpEndpoint(virtual), methods=["POST"]),
        Route("/healthz", healthz),
        Route("/metrics", show_metrics),
    ]
    handlers = {HTTPException: _error, TrialRefused: _no_trial}
    routed = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    if options.pages:
        routed.mount("/pages", load_driver("components", "pages").create_app(data_dir=options.data_dir))
    return Application(options, routed, virtual, gateway)


def _checks(options: ServerOptions) -> Iterator[Callable[[Scope], Response | None]]:
    if not options.token:
        # With a token, pages are kept out by not knowing it.
        yield SiteCheck(options.host, options.allow_hosts).refusal
    if options.token:
        yield TokenCheck(options.token).refusal
    if options.control_token:
        # Without a trial, requests to the model and the virtual API are refused anyway, or belong to the ambient one.
        yield TokenCheck(options.control_token, UNTAGGED).refusal


async def _sweep(trials: TrialRegistry) -> None:
    """Close expired trials from time to time."""
    while True:
        await asyncio.sleep(SWEEP)
        trials.expire()


def _upstreams(options: ServerOptions, clock: Clock) -> Iterator[Upstream]:
    keys = {} if options.upstream is None else {options.upstream: options.upstream_key}
    keys |= {url: options.upstream_keys.get(url) for url in options.other_upstreams}
    policy = RetryWaits(options.model_retries, options.endpoint_patience)
    for url, key in keys.items():
        pace = Pace(clock, requests=options.rpm, tokens=options.tpm, patience=options.endpoint_patience)
        yield Upstream(url, key, clock, policy, pace)


def _simulator_access(options: ServerOptions) -> Callable[[], ModelAccess] | None:
    """Return a function that gives each simulator the model that it may ask, each with its own budget."""
    url, key = options.upstream, options.upstream_key
    if options.simulator_upstream is not None:
        url, key = options.simulator_upstream, options.simulator_key
    if options.simulator_model is None or url is None:
        return None
    endpoint = ModelEndpoint(base_url=url, api_key=key or "", model=options.simulator_model, temperature=0.0)
    return _model_access(options, endpoint, options.simulator_prices)


def _user_model(options: ServerOptions, model: str) -> ModelAccess:
    """Return the access to the model that plays users."""
    name, url = split_address(model)
    key = options.upstream_key if url == options.upstream else options.upstream_keys.get(url or "")
    endpoint = ModelEndpoint(base_url=url or "", api_key=key or "", model=name, temperature=0.0)
    return _model_access(options, endpoint, options.user_prices)()


def _model_access(options: ServerOptions, endpoint: ModelEndpoint, prices: Prices | None) -> Callable[[], ModelAccess]:
    from trialbed.model_access import CompletionCache, ModelAccess, ModelBudget  # most servers have no model

    cache = None if options.completions is None else CompletionCache(options.completions)
    return lambda: ModelAccess(endpoint, budget=ModelBudget(options.max_helper_requests, prices=prices), cache=cache)


def _documented_apis(options: ServerOptions, simulators: Simulators) -> Iterator[tuple[Api, Simulator]]:
    """Return every Api with its simulator, which is the server's choice or else the dataset's own.

    Raises:
        TrialbedError: a dataset or simulator is missing or broken.
    """
    for name in options.datasets:
        driver, _, test_set = name.partition(":")
        opened = load_driver("datasets", driver)().open(test_set or None, options.data_dir or data_dir())
        dataset = cast("Dataset", opened)
        simulator = simulators.get(options.simulator or dataset.simulator)
        yield from ((api, simulator) for api in dataset.apis())


async def _error(_request: Request, error: Exception) -> Response:
    found = cast("HTTPException", error)
    return JSONResponse({"detail": found.detail}, found.status_code, found.headers)


async def _no_trial(_request: Request, error: Exception) -> Response:
    """Answer a request about a trial that is not open."""
    return JSONResponse({"error": str(error)}, 404)
