"""The application with its routes and the headers of every answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from fastapi import Depends, FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from pydantic import ValidationError

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed.records import Annotation, TrialKey, TrialResult
from trialbed.report import instructive_trials
from trialbed.settings import data_dir as default_folder
from trialbed.settings import store_file
from trialbed.store import Store, StoredRun, StoreReader, TrialRow, open_store
from trialbed.wire import lenient_json
from trialbed_pages.files import FilePage
from trialbed_pages.rendering import multiline, render, style, trial_parameters
from trialbed_pages.runs import ANSWERS, GridFilter, GridPage, RunCache, TrialPage, listing_page, run_page
from trialbed_pages.runs.grid import PAGE

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""A page may load and run nothing but its own files, even if foreign text got into it as markup."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

STYLE = "pages.css"
SCRIPT = "text/javascript"
STATIC = {"icon.svg": "image/svg+xml", STYLE: "text/css", "pages.js": SCRIPT, "htmx.min.js": SCRIPT}

Page = Annotated[int, Query(ge=1, le=1_000_000)]


def _choice(
    score: str = "",
    text: str = "",
    tag: str = "",
    outcome: str = GridFilter.outcome,
    reason: str = "",
    sort: str = GridFilter.sort,
    page: Page = 1,
) -> GridFilter:
    return GridFilter(score, text, tag, outcome, reason, sort, page)


CHOICE = Depends(_choice)
"""The choice of trials that an address makes."""


def create_app(
    store: str | None = None, data_dir: Path | None = None, files: Sequence[Path] = (), *, writable: bool = False
) -> FastAPI:
    """Return the pages of a store and of result files as an ASGI application.

    Args:
        store: a file or URL, as ``bench run --store`` takes it; it may be made later.
        data_dir: the folder of datasets, for the tasks of queries.
        files: results of ``bench verify``, and folders of such files.
        writable: whether the page of answers takes annotations; otherwise the pages write nothing.
    """
    pages = _Pages(store, RunCache(data_dir or default_folder()), FilePage(files), writable=writable)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        pages.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_api_route("/", pages.listing, response_class=HTMLResponse)
    app.add_api_route("/latest", pages.latest)
    app.add_api_route("/runs/{run_id}", pages.run, response_class=HTMLResponse)
    app.add_api_route("/runs/{run_id}/answers", pages.answers, response_class=HTMLResponse)
    if writable:
        app.add_api_route("/runs/{run_id}/annotation", pages.annotate, methods=["POST"], response_model=None)
    app.add_api_route("/runs/{run_id}/trial", pages.trial, response_class=HTMLResponse)
    app.add_api_route("/runs/{run_id}/body", pages.body, response_class=PlainTextResponse)
    app.add_api_route("/files", pages.vendors, response_class=HTMLResponse)
    app.add_api_route("/static/{name}", _static)
    for kind in (TrialbedError, RequestValidationError, 404):
        app.add_exception_handler(kind, _error_page)
    app.middleware("http")(_with_headers)
    return app


async def _with_headers(request: Request, forward: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await forward(request)
    response.headers.update(HEADERS | dict(response.headers))
    return response


def _error_page(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, DataError) else 400
    text = str(error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        text = f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
    elif getattr(error, "status_code", 0) == 404:
        status, text = 404, "There is no such page."
    return HTMLResponse(render("error.html", _base(request), text=text), status_code=status)


def _base(request: Request) -> str:
    return str(request.scope.get("root_path", "")).rstrip("/")


def _static(name: str) -> Response:
    if name not in STATIC:
        return PlainTextResponse("There is no such file.", status_code=404)
    content = style().encode() if name == STYLE else files("trialbed_pages").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={"Cache-Control": "max-age=3600"})


class _Pages:
    """The routes. Each opens the store itself, so any thread may serve it."""

    def __init__(self, store: str | None, cache: RunCache, files: FilePage, *, writable: bool) -> None:
        self._writable = writable
        self._store = store
        self._cache = cache
        self._files = files
        self._reader: StoreReader | None = None

    def close(self) -> None:
        """Close the store."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self) -> StoreReader:
        if self._reader is None:
            self._reader = open_store(self._store)
        return self._reader

    def listing(
        self,
        request: Request,
        framework: str = "",
        model: str = "",
        dataset: str = "",
        status: str = "",
        tag: str = "",
        page: Page = 1,
    ) -> Any:
        chosen = {"framework": framework, "model": model, "dataset": dataset, "status": status, "tag": tag}
        try:
            reader = self._open()
        except DataError:
            if not self._files:
                raise
            return RedirectResponse(f"{_base(request)}/files")
        return self._render("runs.html", request, page=listing_page(reader, self._cache, chosen, page))

    def latest(self, request: Request) -> Response:
        """Lead to the trial of the newest run that shows best what goes wrong; to the run or the list without one."""
        run = next(iter(self._open().runs(limit=1)), None)
        if run is None:
            return RedirectResponse(f"{_base(request)}/")
        address, rows = f"{_base(request)}/runs/{run.run_id}", list[TrialRow]()
        if run.record.kind != "endpoints":
            rows = instructive_trials(self._cache.of(run).report, most=1)
        keys = [row.key for row in rows]
        trials = (trial_parameters(key.framework, key.query_id, key.repeat) for key in keys)
        return RedirectResponse(next((f"{address}/trial?{named}#fault" for named in trials), address))

    def vendors(self, request: Request) -> str:
        files = self._files.files()
        title, content = self._files.render() if files else ("Vendors", "")
        empty = self._files.empty_files()
        return self._render("files.html", request, files=files, title=title, content=content, empty=empty)

    def _render(self, template: str, request: Request, **values: Any) -> str:
        return render(template, _base(request), has_files=bool(self._files), **values)

    def run(self, request: Request, run_id: str, chosen: GridFilter = CHOICE) -> Any:
        run = self._open().run(run_id)
        if run.run_id != run_id:
            return RedirectResponse(f"{_base(request)}/runs/{run.run_id}")
        if run.record.kind == "endpoints":
            return self._render("verification.html", request, run=run, content=self._cache.verification(run))
        grid = self._grid(run, chosen, PAGE)
        return self._render("run.html", request, run=run, page=run_page(grid.figures), grid=grid)

    def answers(self, request: Request, run_id: str, chosen: GridFilter = CHOICE) -> str:
        run = self._open().run(run_id)
        grid = self._grid(run, chosen, ANSWERS)
        return self._render("answers.html", request, run=run, grid=grid, writable=self._writable)

    def _grid(self, run: StoredRun, chosen: GridFilter, size: int) -> GridPage:
        figures = self._cache.of(run)
        if len(figures.trials) and chosen.score not in ("", *figures.quality, *figures.headline):
            there = ", ".join(figures.quality)
            raise UsageError(f"run {run.run_id} has no score {chosen.score!r} from 0 to 1; it has {there}")
        return GridPage(figures, chosen, size)

    async def annotate(self, request: Request, run_id: str) -> Response:
        """Keep an annotation of a trial, and lead back to the answers."""
        if not _is_own(request):
            return PlainTextResponse("Only these pages themselves may write to the store.", status_code=403)
        form = await _read_form(request)
        await run_in_threadpool(self._keep, run_id, form)
        if "hx-request" in request.headers:
            return Response(status_code=204)
        return RedirectResponse(f"{_base(request)}/runs/{run_id}/answers", status_code=303)

    def _keep(self, run_id: str, form: Mapping[str, str]) -> None:
        run = self._open().run(run_id)
        repeat = form.get("repeat", "0")
        if not repeat.isdecimal() or len(repeat) > 9:
            raise UsageError(f"repeat: {repeat!r:.60} is not a number")
        key = _trial(run, form.get("framework", ""), form.get("query", ""), int(repeat), None).key
        with Store.open(self._store or str(store_file())) as store:
            store.annotate(run.run_id, _annotation_of(key, form))

    def trial(
        self,
        request: Request,
        run_id: str,
        framework: str,
        query: str,
        repeat: int = 0,
        attempt: int | None = None,
        chosen: GridFilter = CHOICE,
    ) -> str:
        run = self._open().run(run_id)
        found, queries = _trial(run, framework, query, repeat, attempt), self._cache.queries(run)
        grid = self._grid(run, chosen, PAGE) if run.record.kind != "endpoints" else None
        page = TrialPage(run, found, queries.get(found.key.query_id) if queries else None)
        return self._render("trial.html", request, run=run, page=page, grid=grid)

    def body(
        self,
        run_id: str,
        framework: str,
        query: str,
        kind: str,
        place: Page,
        repeat: int = 0,
        attempt: int | None = None,
    ) -> str:
        """Return the raw text of a request or an answer, with the keys in it masked."""
        trial = _trial(self._open().run(run_id), framework, query, repeat, attempt)
        calls = trial.wire.model_calls
        if kind not in ("request", "response") or place > len(calls):
            raise DataError("the trial has no such request")
        call = calls[place - 1]
        return multiline(call.request if kind == "request" else call.response)


LARGEST = 2**63 - 1
"""The largest number that a store holds."""


def _trial(run: StoredRun, framework: str, query: str, repeat: int, attempt: int | None) -> TrialResult:
    """Return the trial that an address names.

    Raises:
        UsageError: the address cannot be read.
        DataError: there is no such trial.
    """
    query_id = lenient_json(query, query)
    if not isinstance(query_id, int | str):
        raise UsageError(f"{query:.200} names no task")
    if any(isinstance(number, int) and abs(number) > LARGEST for number in (query_id, repeat, attempt)):
        raise DataError(f"run {run.run_id}: no trial has a number above {LARGEST}")
    if attempt is None:
        return run.trial(framework, query_id, repeat)
    for trial in run.attempts(framework=framework, query_id=query_id, repeat=repeat):
        if trial.attempt == attempt:
            return trial
    raise DataError(f"run {run.run_id}: the trial has no attempt {attempt}")


LONGEST_FORM = 100_000
"""Bytes of a form."""

FIELDS = ("rating", "note", "correction")


def _is_own(request: Request) -> bool:
    """Return whether a request comes from these pages or not from a browser; other sites may only read."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


async def _read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form.

    Raises:
        UsageError: it is too large, or is not a form.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_FORM:
            raise UsageError(f"a form of more than {LONGEST_FORM:,} bytes is not read")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=20)
    except ValueError as error:
        raise UsageError(f"this is not a form: {error}") from error
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}


def _annotation_of(key: TrialKey, form: Mapping[str, str]) -> Annotation:
    """Return the annotation of a trial from a form.

    Raises:
        UsageError: the rating is invalid.
    """
    given = {name: form.get(name, "").strip() for name in FIELDS}
    try:
        return Annotation(**key.model_dump(), **given | {"rating": given["rating"] or None})
    except ValidationError as error:
        raise UsageError(f"rating: {given['rating']!r:.60}: write right, wrong or unclear") from error
