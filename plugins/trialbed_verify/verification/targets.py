"""Configure models at vendors, with their addresses and keys, and prepare their requests.

Everything is checked before anything is sent, and nothing here sends.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import orjson
from yarl import URL

from trialbed.contracts import VENDOR_CONTRACT, ModelAdapter, Vendor
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import DriverBroken, DriverError, TrialbedError, UsageError
from trialbed.settings import REDACTED, is_secret, secret_values, store_file
from trialbed.suggestions import closest
from trialbed.wire import dump_json
from trialbed.wire.addresses import is_loopback
from trialbed.wire.redaction import event_texts, redact
from trialbed_verify.rows import offered_tools
from trialbed_verify.verification.cases import Body
from trialbed_verify.verification.config import VendorEntry, read_config

PORTS = {"http": 80, "https": 443}


def checked_url(url: str, where: str) -> str:
    """The base URL, without a trailing slash; errors show at most its host."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise UsageError(f"{where}: not a valid URL; check the host and the port") from None
    if parts.scheme not in PORTS or not host:
        raise UsageError(f"{where}: a base URL must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise UsageError(f"{where}: contains a user name or password for {host}; put the key into .env instead")
    if parts.query or parts.fragment:
        raise UsageError(f"{where}: a base URL must end before /chat/completions, without query or fragment ({host})")
    return parts.geturl().rstrip("/")


def proxy_for(url: str) -> URL | None:
    """The proxy that ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` select for a URL; never one for a loopback host.

    It may have a user name and a password, which are never recorded.
    """
    target = urlsplit(url)
    found = getproxies_environment().get(target.scheme)
    host = f"{target.hostname}:{target.port or PORTS[target.scheme]}"
    if not found or is_loopback(target.hostname or "") or proxy_bypass(host):
        return None
    with suppress(ValueError):
        proxy = URL(found if "://" in found else f"http://{found}")
        if proxy.scheme in PORTS and proxy.host:
            return proxy
    said = f"the environment variable {target.scheme.upper()}_PROXY does not name an HTTP proxy"
    raise UsageError(f"{said}; change it, or set NO_PROXY={target.hostname}")


@contextmanager
def blaming_driver(fault: str, secrets: Iterable[str] = ()) -> Iterator[None]:
    """Turn an unexpected error in a driver's code into a DriverBroken error without secrets."""
    try:
        yield
    except TrialbedError:
        raise
    except Exception as error:
        raise DriverBroken(f"{fault}: {redact(f'{type(error).__name__}: {error}', secrets)}") from error


def checked_key(key: str, where: str) -> str:
    """The key, stripped; errors do not show it."""
    stripped = key.strip()
    if re.fullmatch(r"[\x21-\x7e]+", stripped) is None:
        raise UsageError(f"{where}: the key is empty or contains characters that a key cannot have (it is not shown)")
    return stripped


def is_secret_header(name: str) -> bool:
    """Return whether a header of this name carries a key or a login."""
    return "authorization" in name.lower() or is_secret(name.replace("-", "_"))


def key_variables(name: str, variable: str = "") -> list[str]:
    """Return the environment variables for a vendor's key, in order of lookup.

    They are such as ``siliconflow``, ``SILICONFLOW`` and ``SILICONFLOW_API_KEY``, and the variable named by its driver.
    """
    upper = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    return list(dict.fromkeys(filter(None, (name, upper, f"{upper}_API_KEY", variable))))


def key_from_file(path: Path, line: int, key: str, name: str) -> str | None:
    """The key in a configuration file; None for a placeholder."""
    if re.fullmatch(r"x+|\.+|\*+|<.*>|your.*", key.strip(), re.IGNORECASE):
        return None
    if would_be_committed(path):
        hint = f"move the key to .env as {name}=…, or add the file to .gitignore"
        raise UsageError(f"{path}, line {line}: contains a key, and git does not ignore this file; {hint}")
    return key


def would_be_committed(path: Path) -> bool:
    """Return whether the file is in a git work tree and not ignored there; symbolic links are followed.

    If git is not installed, or does not trust the owner of the work tree, every file in a work tree counts.
    """
    real = path.resolve()
    if _git(real, "rev-parse", "--is-inside-work-tree") == 0:
        return _git(real, "check-ignore", "-q", real.name) != 0
    return any((folder / ".git").exists() for folder in real.parents)


def _git(path: Path, *arguments: str) -> int | None:
    """Return Git's exit code in the file's folder; None if it could not run or timed out."""
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=10).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None


OVERRIDES = ("temperature", "max_tokens", "stream")
"""Settings that replace a request's own value."""

SUITE = "suite"
"""The key of a test set's line that holds a suite's expectations."""


@dataclass(frozen=True)
class RequestSettings:
    """Settings that apply to every request.

    Attributes:
        model, model_id: its unified name, and the vendor's; None for the vendor's own mapping.
        temperature, max_tokens, stream: replace the line's own; None leaves it.
        streams_unsaid: whether to request a stream if neither the line nor ``stream`` specifies it.
        extra_body: merged in last, top level only.
        tokenizer: name or folder, for raw completions; None for chat completions.
    """

    model: str
    model_id: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    extra_body: Body = field(default_factory=dict)
    tokenizer: str | None = None
    stream: bool | None = None
    streams_unsaid: bool = False
    trust_tokenizer_code: bool = False

    @property
    def raw(self) -> bool:
        """Return whether raw completions are requested."""
        return self.tokenizer is not None


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request ready to be sent.

    Attributes:
        request, sent: the body without ``extra_body``, for the results file, and the body on the wire.
        digest: MD5 of ``request`` as the K2-style tools compute it.
        tools: the tools in the request, for checking calls.
    """

    request: Body
    sent: Body
    body: bytes
    digest: str
    tools: list[Any]

    @property
    def stream(self) -> bool:
        """Return whether the answer will be streamed."""
        return bool(self.sent.get("stream"))


def request_hash(request: Body) -> str:
    """Return the MD5 (hex) of the prepared request with sorted keys, the ``hash`` of K2-style result rows."""
    texts = {key: _tools(value) if key == "tools" else _text(value) for key, value in sorted(request.items())}
    text = f"{{{', '.join(f'{_text(key)}: {value}' for key, value in texts.items())}}}"
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


_text = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def _tools(tools: Any) -> str:
    """Return the text of tools. It is cached, because many requests have the same long one."""
    try:
        compact = orjson.dumps(tools)
    except TypeError:
        return _text(tools)
    # An infinite number is written as null there.
    return _text(tools) if b"null" in compact else _text_of(compact)


@lru_cache(maxsize=64)
def _text_of(tools: bytes) -> str:
    return _text(json.loads(tools))


def _with_usage(options: Any) -> Body:
    return {"include_usage": True, **(options if isinstance(options, dict) else {})}


@dataclass(frozen=True, eq=False)
class Target:
    """A model at a vendor, and the files for its results.

    Attributes:
        name: the vendor's, as shown in results and tables.
        driver_name, adapter_name: names of the drivers, for the configuration's digest.
        api_key: never recorded; empty if ``headers`` hold the vendor's own key.
        is_baseline: whether the model's other vendors are compared with this one.
        is_repeated: whether it is a baseline with other vendors; it then gets two trials by default.
        trials, concurrency: of this target; None to use the options.
        headers: further ones for every request; they replace the driver's.
        prices: ``input`` and ``output``, per million tokens.
    """

    name: str
    vendor: Vendor
    driver_name: str
    adapter: ModelAdapter
    adapter_name: str
    settings: RequestSettings
    api_key: str
    output: Path
    summary: Path
    is_baseline: bool = False
    is_repeated: bool = False
    proxy: URL | None = None
    trials: int | None = None
    concurrency: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.adapter.trust_tokenizer_code = self.settings.trust_tokenizer_code

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the key, the environment's secrets, and secret headers and fields, which must not be recorded."""
        found = [self.api_key, *secret_values()]
        for name, value in self.headers.items():
            if is_secret_header(name):
                # The key alone, too, of a header such as "Token KEY".
                found += (value, *value.split()[-1:])
        for path, holder, key in event_texts(self.settings.extra_body):
            name = next(part for part in reversed(path) if isinstance(part, str))
            if is_secret(name.replace("-", "_")):
                found.append(holder[key])
        return tuple(found)

    @property
    def url(self) -> str:
        """Return the URL for requests."""
        return f"{self.vendor.url}{'' if self.settings.raw else '/chat'}/completions"

    def prepare(self, body: Body) -> PreparedRequest:
        """Prepare the request for a line of the test set, without changing the line."""
        settings = self.settings
        # A suite's expectations are for the results, not for the vendor.
        request = {key: value for key, value in body.items() if key != SUITE}
        if isinstance(request.get("messages"), list):
            request["messages"] = self.adapter.transform(request["messages"])
        request["model"] = settings.model_id or self.vendor.model_id(settings.model)
        request |= {name: value for name in OVERRIDES if (value := getattr(settings, name)) is not None}
        if settings.streams_unsaid and request.get("stream") is None:
            request["stream"] = True
        tools = request.get("tools")
        if settings.tokenizer is not None:
            prompt = self.adapter.prompt(request.get("messages") or [], tools, settings.tokenizer)
            request = {key: value for key, value in request.items() if key not in ("messages", "tools")}
            request["prompt"] = prompt
        elif request.get("stream"):
            request["stream_options"] = _with_usage(request.get("stream_options"))
        request = self.vendor.prepare(request, settings.model)
        sent = {**request, **settings.extra_body}
        if sent.get("stream") and not request.get("stream"):
            sent["stream_options"] = _with_usage(sent.get("stream_options"))
        # A raw completion is sent without its tools, which are in the prompt.
        offered = offered_tools({"tools": tools, **sent})
        return PreparedRequest(request, sent, dump_json(sent), request_hash(request), offered)

    def configuration(self) -> dict[str, Any]:
        """Everything that answers of this target depend on, without secrets."""
        settings, vendor = self.settings, self.vendor
        found: dict[str, Any] = {"model": settings.model}
        found |= {"model_id": settings.model_id or vendor.model_id(settings.model)}
        found |= {"base_url": vendor.url, "vendor": self.driver_name, "provider": vendor.provider}
        found["model_adapter"] = self.adapter_name
        found |= {name: getattr(settings, name) for name in (*OVERRIDES, "extra_body", "tokenizer")}
        headers = {name: REDACTED if is_secret_header(name) else text for name, text in sorted(self.headers.items())}
        found |= {"streams_unsaid": True} if settings.streams_unsaid else {}
        # Only if present, to keep the configuration of earlier results.
        return found | ({"headers": headers} if headers else {})

    def digest(self) -> str:
        """SHA-256 of the configuration, hex; answers are reused only under the same one."""
        text = json.dumps(self.configuration(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class VerifyOptions:
    """Options for sending the cases.

    Attributes:
        trials: number of times that every case is sent to every target; None for two to a baseline and one to others.
        vendor_concurrency, request_concurrency: targets served at a time, and requests in flight at one of them.
        incremental: continue the last verification into the same files, finished or not, if its answers have the
            same test set and configuration.
        fresh: discard the unfinished verification that the command would continue.
        store: the file or database URL that stores the verification.
    """

    trials: int | None = None
    vendor_concurrency: int = 1
    request_concurrency: int = 5
    timeout: float = 600.0
    retries: int = 3
    incremental: bool = False
    fresh: bool = False
    store: str = field(default_factory=store_file)
    tags: tuple[str, ...] = ()
    note: str | None = None

    def trials_of(self, target: Target) -> int:
        """Return the number of times that every case is sent to a target."""
        return target.trials or self.trials or 1 + target.is_repeated

    def concurrency_at(self, target: Target) -> int:
        """Return the number of requests that may be in flight at a target."""
        return target.concurrency or self.request_concurrency


GENERIC = "generic"


def endpoint_target(
    base_url: str, api_key: str, settings: RequestSettings, model_type: str | None, output: Path, summary: Path
) -> Target:
    """Make the target of one endpoint, given by its URL."""
    adapter_name, adapter = load_adapter(model_type, settings.model)
    vendor = Vendor(base_url=checked_url(base_url, "--base-url"))
    return Target(
        # Without the path, which may hold a key.
        name=urlsplit(vendor.url).netloc,
        vendor=vendor,
        driver_name="",
        adapter=adapter,
        adapter_name=adapter_name,
        settings=settings,
        api_key=checked_key(api_key, "--api-key"),
        output=output,
        summary=summary,
        proxy=proxy_for(vendor.url),
    )


def config_targets(path: Path, settings: RequestSettings, model_type: str | None, folder: Path) -> list[Target]:
    """Make the targets of a configuration file, with their results in ``folder``.

    Vendors are ranked by their times too, which only streams have: requests that do not say it ask for one.
    """
    entries = read_config(path)
    vendors = Counter(entry.model for entry in entries)
    # A baseline that others are compared with is sent every case twice.
    return [
        _target(path, entry, settings, model_type, folder, is_repeated=entry.is_baseline and vendors[entry.model] > 1)
        for entry in entries
    ]


def _target(
    path: Path,
    entry: VendorEntry,
    settings: RequestSettings,
    model_type: str | None,
    folder: Path,
    *,
    is_repeated: bool,
) -> Target:
    adapter_name, adapter = load_adapter(model_type, entry.model)
    driver_name, vendor = _vendor(entry)
    provider = (entry.provider or "").strip("/")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", "_".join(filter(None, (entry.model, entry.name, provider))))
    # The entry's own settings replace the settings for all targets.
    own: dict[str, Any] = {name: value for name in OVERRIDES if (value := getattr(entry, name)) is not None}
    own |= {"model": entry.model, "model_id": entry.model_id, "extra_body": {**settings.extra_body, **entry.extra_body}}
    secret = next((name for name, value in entry.headers.items() if value and is_secret_header(name)), None)
    if secret and would_be_committed(path):
        where = f"{path}, line {entry.lines['headers']}: headers: {secret}"
        raise UsageError(f"{where} contains a key, and git does not ignore this file; add it to .gitignore")
    return Target(
        name=f"{provider} ({entry.name})" if provider else entry.name,
        vendor=vendor,
        driver_name=driver_name,
        adapter=adapter,
        adapter_name=adapter_name,
        settings=replace(settings, streams_unsaid=True, **own),
        api_key=_key(path, entry, vendor),
        output=folder / f"{stem}_results.jsonl",
        summary=folder / f"{stem}_summary.json",
        proxy=proxy_for(vendor.url),
        headers=entry.headers,
        prices={str(name): price for name, price in entry.prices.items()},
        is_repeated=is_repeated,
        **{name: getattr(entry, name) for name in ("is_baseline", "trials", "concurrency")},
    )


def _vendor(entry: VendorEntry) -> tuple[str, Vendor]:
    """Return the installed driver of the vendor, or a plain endpoint at the entry's URL."""
    known = entry.name in {driver.name for driver in list_drivers("vendors")}
    kind, driver = load_vendor(entry.name) if known else Vendor, f"{entry.where}: the driver of {entry.name}"
    with blaming_driver(f"{driver} failed for {entry.model}"):
        vendor = kind(base_url=entry.url, provider=entry.provider)
        name = entry.model_id or vendor.model_id(entry.model)
    if not isinstance(name, str):
        raise DriverBroken(f"{driver} does not map {entry.model} to a string")
    if not vendor.url:
        hint = " (it publishes none)" if known else ", or install the vendor drivers, trialbed-vendors"
        raise UsageError(f"{entry.where}: the address of {entry.name} is not known; add its `url`{hint}")
    vendor.url = checked_url(vendor.url, f"{entry.where}: the url of {entry.name}")
    return (entry.name if known else ""), vendor


def _key(path: Path, entry: VendorEntry, vendor: Vendor) -> str:
    names = key_variables(entry.name, vendor.key_variable)
    key = next((value for name in names if (value := os.environ.get(name))), None)
    if key is None and entry.api_key:
        key = key_from_file(path, entry.lines["api_key"], entry.api_key, entry.name)
    if key is None and any(map(is_secret_header, entry.headers)):
        return ""
    if key is None:
        hint = f"put it into .env under one of these names: {', '.join(names)}"
        raise UsageError(f"{entry.where}: no key found for {entry.name}; {hint}")
    return checked_key(key, f"{entry.where}: {entry.name}")


def load_vendor(name: str) -> type[Vendor]:
    """Load a vendor driver by name."""
    return cast("type[Vendor]", load_driver("vendors", name, VENDOR_CONTRACT))


def load_adapter(name: str | None, model: str) -> tuple[str, ModelAdapter]:
    """Load a model adapter by name, or the adapter that recognises the model if the name is None."""
    if name is None:
        others = (driver.name for driver in list_drivers("model_adapters") if driver.name != GENERIC)
        name = next((other for other in others if _adapter(other).recognises(model)), GENERIC)
    return name, _adapter(name)()


def _adapter(name: str) -> type[ModelAdapter]:
    return cast("type[ModelAdapter]", load_driver("model_adapters", name, VENDOR_CONTRACT))


def unified_models() -> dict[str, dict[str, str]]:
    """Unified name -> vendor -> the vendor's own name, of every vendor driver that can be loaded."""
    found: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(info.name for info in list_drivers("vendors")):
        try:
            models = load_vendor(name).models
        except DriverError:
            # `bench plugins` says why; a vendor that is used is loaded again, and its failure is an error there.
            continue
        for model, own in models.items():
            found.setdefault(model, {})[name] = own
    return {model: dict(sorted(vendors.items())) for model, vendors in sorted(found.items())}


def doubtful_models(targets: Sequence[Target]) -> Iterator[str]:
    """Return the doubts about the targets' names of models, one sentence each."""
    named = [target for target in targets if target.driver_name and target.settings.model_id is None]
    unknown = [one for one in named if one.vendor.models and one.settings.model not in one.vendor.models]
    folded = {name.lower(): name for name in unified_models()} if unknown else {}
    for target in unknown:
        model = target.settings.model
        meant = folded.get(closest(model.lower(), folded, cutoff=0.75) or "", model)
        hint = f"did you mean {meant!r} (--list-models)? Otherwise " if meant != model else ""
        if hint or any(own != name for name, own in target.vendor.models.items()):
            # A driver that renames nothing is a maker's, whose names may be newer than the driver.
            said = f"{target.name}: its driver has no name for {model!r}, which is sent unchanged"
            yield f"{said}; {hint}give the vendor's own name as `model_id`"
