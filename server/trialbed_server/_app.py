"""Builds the application: its parts and its routes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from pluggy import PluginManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import trialbed
from trialbed.contracts import Dataset, Simulator
from trialbed.drivers import load_driver
from trialbed.errors import DriverBroken, TrialbedError
from trialbed.plugins import plugin_manager
from trialbed.records import Api, ModelEndpoint
from trialbed.settings import data_dir
from trialbed.wire import RetryWaits
from trialbed.wire.redaction import Redaction, redaction_of
from trialbed_server._access import UNTAGGED, AccessCheck, SiteCheck, TokenCheck
from trialbed_server._application import METHODS, Application, document_route
from trialbed_server._clock import Clock, SystemClock
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server._rates import RateCheck
from trialbed_server.cache import ResponseCache
from trialbed_server.control import Control
from trialbed_server.gateway.connection import Connection
from trialbed_server.gateway.endpoints import Gateway
from trialbed_server.gateway.pacing import Pace
from trialbed_server.gateway.spending import Spending
from trialbed_server.gateway.upstream import Upstream
from trialbed_server.gateway.upstreams import Upstreams
from trialbed_server.real import RealBackend
from trialbed_server.simulators.registry import Simulators
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import PutIn, TrialRegistry, Untagged
from trialbed_server.virtual.callbacks import Callbacks
from trialbed_server.virtual.claims import SharedFlight
from trialbed_server.virtual.endpoint import VirtualApi
from trialbed_server.virtual.mcp import McpEndpoint
from trialbed_server.virtual.resolver import Resolver
from trialbed_server.virtual.sources import AnswerSource, CacheSource, FrozenSource, RealSource, SimulatorSource

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess
    from trialbed_plugins.recordings import ModelCache

logger = logging.getLogger(__name__)

SWEEP = 30.0
"""Seconds between two looks for trials that have expired."""

CLAIM_MARGIN = 30.0
"""Seconds that an answer may take to be kept, after it was made."""

READY_TIMEOUT = 5.0
"""Seconds in which the response cache must be read for the server to be ready."""


def create_app(options: ServerOptions, *, clock: Clock | None = None) -> Application:
    """A server as an ASGI application, with the routes of every installed plugin.

    Raises:
        TrialbedError: the cache, a dataset, a simulator or a plugin cannot be used; the text says why.
    """
    clock = clock or SystemClock()
    trials = TrialRegistry(trials_only=options.control_token is not None, idle=options.trial_expiry)
    spending = Spending(options.budget)
    simulators = Simulators(_simulator_access(options, spending), options.simulator_prompts)
    untagged = Untagged(clock, _put_in(options, clock))
    metrics = Metrics(lambda: len(trials), lambda: (untagged.model_requests, untagged.api_requests))
    cache, upstreams = ResponseCache(options.cache, options.memory), _upstreams(options, clock, metrics)
    keys = (options.upstream_key, options.real_key, *options.upstream_keys.values())
    redaction = redaction_of(tuple(key for key in keys if key))
    real = _real_backend(options, clock, redaction)
    resolver = _resolver(options, simulators, cache, real, metrics, clock)
    catalog = TargetCatalog(_documented_apis(options, simulators), simulators.get(options.simulator or "template"))
    callbacks = Callbacks(allowed=options.control_token is not None, max_answer=options.max_answer)
    virtual = VirtualApi(
        resolver,
        catalog,
        trials,
        untagged,
        metrics,
        callbacks=callbacks,
        max_body=options.max_body,
        max_answer=options.max_answer,
        redaction=redaction,
    )
    gateway = Gateway(
        trials,
        untagged,
        upstreams,
        clock,
        metrics,
        max_body=options.max_body,
        silence=options.upstream_timeout,
        spending=spending,
    )
    model_cache = _model_cache(options)
    control = Control(
        trials,
        untagged,
        simulators,
        clock,
        upstreams=upstreams,
        max_body=options.max_body,
        workers=options.workers,
        cache=model_cache,
        spending=spending,
    )
    lifespan = _lifespan(cache, resolver, simulators, (upstreams, real, callbacks, model_cache), trials)
    plugins = plugin_manager(own=False, on_broken=lambda error: logger.error("left out: %s", error))
    extended = bool(plugins.hook.register_routes.get_hookimpls())
    app = _application(options, virtual, control, clock, lifespan, extended=extended)
    _add_trial_routes(app, virtual, gateway)
    mcp = McpEndpoint(virtual, trials, metrics, max_body=options.max_body)
    app.router.routes.append(Route("/t/{trial}/mcp", mcp, methods=["POST"]))
    app.router.routes += control.routes()
    _add_status_routes(app, metrics, options.upstream, cache)
    if options.pages:
        app.mount("/pages", load_driver("components", "pages").create_app(data_dir=options.data_dir))
    _add_plugin_routes(app, plugins)
    return app


def _model_cache(options: ServerOptions) -> ModelCache | None:
    if options.model_cache is None:
        return None
    from trialbed_plugins.recordings import ModelCache  # most servers have none

    return ModelCache(options.model_cache)


def _put_in(options: ServerOptions, clock: Clock) -> PutIn | None:
    return None if options.faults is None else PutIn(options.faults, "", clock)


def _checks(options: ServerOptions, clock: Clock) -> Iterator[AccessCheck]:
    """Yield the checks of every request, in their order."""
    if not options.token:
        # A page does not know the token, where there is one.
        yield SiteCheck(options.host, options.allow_hosts, options.allow_origins)
    if options.rate_limit is not None:
        yield RateCheck(options.rate_limit, clock.monotonic)
    if options.token:
        yield TokenCheck(options.token)
    if options.control_token:
        # Without a trial, requests to the model and the virtual API are refused anyway, or belong to the ambient one.
        yield TokenCheck(options.control_token, UNTAGGED)


def _application(
    options: ServerOptions,
    virtual: VirtualApi,
    control: Control,
    clock: Clock,
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    *,
    extended: bool,
) -> Application:
    kind: type[Application] = Application
    if extended:
        from trialbed_server._extensible import ExtensibleApplication  # its import takes long

        kind = ExtensibleApplication
    app = kind(
        fast_path=("/virtual", virtual),
        control=control.immediate,
        checks=tuple(_checks(options, clock)),
        origins=options.allow_origins,
        max_body=options.max_body,
        token=bool(options.token),
        lifespan=lifespan,
    )
    if not extended:
        app.router.routes.append(document_route(app))
    return app


def _lifespan(
    cache: ResponseCache,
    resolver: Resolver,
    simulators: Simulators,
    clients: Sequence[Upstreams | RealBackend | Callbacks | ModelCache | None],
    trials: TrialRegistry,
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(cache)
            stack.push_async_callback(simulators.close)
            stack.push_async_callback(resolver.close)
            for client in clients:
                if client is not None:
                    await stack.enter_async_context(client)
            sweep = asyncio.create_task(_sweep(trials))
            stack.callback(sweep.cancel)
            yield

    return lifespan


async def _sweep(trials: TrialRegistry) -> None:
    """Free what trials hold whose openers are gone."""
    while True:
        await asyncio.sleep(SWEEP)
        trials.expire()


def _add_trial_routes(app: Starlette, virtual: VirtualApi, gateway: Gateway) -> None:
    for prefix in ("", "/t/{trial}"):
        app.router.routes.append(Route(f"{prefix}/virtual", virtual, methods=["POST"]))
        app.router.routes.append(Route(f"{prefix}/v1/{{path:path}}", gateway, methods=METHODS))


def _real_backend(options: ServerOptions, clock: Clock, redaction: Redaction) -> RealBackend | None:
    if options.real_url is None:
        return None
    return RealBackend(
        options.real_url,
        options.real_key,
        clock,
        timeout=options.real_timeout,
        max_answer=options.max_answer,
        redaction=redaction,
    )


def _resolver(
    options: ServerOptions,
    simulators: Simulators,
    cache: ResponseCache,
    real: RealBackend | None,
    metrics: Metrics,
    clock: Clock,
) -> Resolver:
    """The sources in order: cache, real API, simulator. To refresh the cache, the real API comes first."""
    known = CacheSource(cache, authoritative=options.refresh)
    asked = [] if real is None else [RealSource(real, metrics)]
    flight = None
    if options.is_shared and not (options.refresh or options.read_only):
        flight = SharedFlight(
            cache, known, clock, lasting=options.real_timeout + options.simulator_timeout + CLAIM_MARGIN
        )
    shared = [] if flight is None else [flight]
    first: list[AnswerSource] = [*asked, known] if options.refresh else [known, *shared, *asked]
    simulated = SimulatorSource(simulators, options.simulator_timeout, cache, options.max_answer)
    sources = [*first, FrozenSource(cache), simulated]
    return Resolver(
        cache,
        sources,
        "none" if options.read_only else "all" if options.refresh else "new",
        None if flight is None else flight.release,
        fresh=options.refresh,
    )


def _upstreams(options: ServerOptions, clock: Clock, metrics: Metrics) -> Upstreams:
    keys = {} if options.upstream is None else {options.upstream: options.upstream_key}
    keys |= {url: options.upstream_keys.get(url) for url in options.other_upstreams}
    upstreams = Upstreams([_upstream(url, key, options, clock, metrics) for url, key in keys.items()])
    metrics.circuit = upstreams if keys else None
    return upstreams


def _upstream(url: str, key: str | None, options: ServerOptions, clock: Clock, metrics: Metrics) -> Upstream:
    policy = RetryWaits(options.model_retries, options.endpoint_patience)
    pace = Pace(clock, requests=options.rpm, tokens=options.tpm, patience=options.endpoint_patience)
    return Upstream(Connection(url, key), clock, policy, metrics.upstream_attempt, pace)


def _simulator_access(options: ServerOptions, spending: Spending) -> Callable[[], ModelAccess] | None:
    """Return a function that gives each simulator the model that it may ask, with a budget of its own."""
    url, key = options.upstream, options.upstream_key
    if options.simulator_upstream is not None:
        url, key = options.simulator_upstream, options.simulator_key
    if options.simulator_model is None or url is None:
        return None
    from trialbed.model_access import CompletionCache, ModelAccess, ModelBudget  # most servers have no model

    endpoint = ModelEndpoint(base_url=url, api_key=key or "", model=options.simulator_model, temperature=0.0)
    cache = None if options.completions is None else CompletionCache(options.completions)

    def access() -> ModelAccess:
        budget = ModelBudget(
            options.max_helper_requests,
            prices=options.simulator_prices,
            on_use=spending.use_by_helper,
        )
        return ModelAccess(endpoint, budget=budget, cache=cache)

    return access


def _add_status_routes(app: Starlette, metrics: Metrics, upstream: str | None, cache: ResponseCache) -> None:
    status = {"status": "ok", "version": trialbed.__version__, "upstream": upstream}

    app.state.is_ending = False

    async def healthz(_request: Request) -> JSONResponse:
        if app.state.is_ending:
            # It answers for a moment yet, and those who would begin to use it now would lose it in their work.
            return JSONResponse({**status, "status": "ending"}, 503)
        return JSONResponse(status)

    async def readyz(_request: Request) -> JSONResponse:
        try:
            async with asyncio.timeout(READY_TIMEOUT):
                await cache.check()
        except (TrialbedError, TimeoutError) as error:
            logger.warning("not ready: %s", error)
            return JSONResponse({"status": "not ready", "reason": "the response cache cannot be read"}, 503)
        return JSONResponse({"status": "ready"})

    async def show_metrics(_request: Request) -> Response:
        return Response(metrics.page(), headers={"content-type": metrics.content_type})

    for path, endpoint in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", show_metrics)):
        app.router.routes.append(Route(path, endpoint, methods=["GET"]))


def _add_plugin_routes(app: Starlette, manager: PluginManager) -> None:
    plugins = manager.get_plugins()
    for implementation in manager.hook.register_routes.get_hookimpls():
        others = plugins - {implementation.plugin}
        try:
            manager.subset_hook_caller("register_routes", others)(app=app)
        except Exception as error:
            raise DriverBroken(
                f"plugin {implementation.plugin_name!r} cannot add its routes: {type(error).__name__}: {error}; "
                "uninstall or update its distribution"
            ) from error


def _documented_apis(options: ServerOptions, simulators: Simulators) -> Iterator[tuple[Api, Simulator]]:
    """Every Api with its simulator: the one chosen for the server, else the dataset's own.

    Raises:
        TrialbedError: a dataset or simulator is missing or broken.
    """
    for name in options.datasets:
        dataset = _open_dataset(name, options)
        simulator = simulators.get(options.simulator or dataset.simulator)
        yield from ((api, simulator) for api in dataset.apis())


def _open_dataset(name: str, options: ServerOptions) -> Dataset:
    driver, _, test_set = name.partition(":")
    return cast("Dataset", load_driver("datasets", driver)().open(test_set or None, options.data_dir or data_dir()))
