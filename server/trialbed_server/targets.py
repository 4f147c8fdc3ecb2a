"""The Apis that are known, and who answers for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from trialbed.contracts import Simulator
from trialbed.records import Api, ApiRef
from trialbed_server.response_store import ANY, Origin
from trialbed_server.simulators.frozen import FrozenSimulator
from trialbed_server.standard_names import StandardName, documented_name, requested_name

MAX_UNKNOWN = 4096


@dataclass(frozen=True)
class CallTarget:
    """The Api that a request is about.

    Attributes:
        ref: in the dataset's spelling if it is known, else as sent.
        name: the standardised triple.
        meant: the known Api that has this name in another case, if the Api is unknown.
        origin: of the cached answers that are valid for it, in addition to authoritative ones.
    """

    ref: ApiRef
    name: StandardName
    api: Api | None
    simulator: Simulator
    origin: Origin
    meant: ApiRef | None = None

    @property
    def path(self) -> str:
        """``category/tool_name/api_name``, for messages; empty parts are left out."""
        return "/".join(filter(None, (self.ref.category, *self.ref.pair)))

    @property
    def frozen(self) -> bool:
        """Return whether only the cache answers for it."""
        return isinstance(self.simulator, FrozenSimulator)


class TargetCatalog:
    """Find the target of a request by the exact triple, or else by the standardised one.

    Args:
        apis: the known Apis, each with its simulator; of equal triples the first counts.
        default: answers for every other Api.
    """

    def __init__(self, apis: Iterable[tuple[Api, Simulator]], default: Simulator) -> None:
        self._default = default
        self._exact: dict[tuple[str, str, str], tuple[Api, Simulator]] = {}
        self._standard: dict[StandardName, tuple[Api, Simulator]] = {}
        for api, simulator in apis:
            name = documented_name(api.category, api.tool_name, api.api_name)
            self._exact.setdefault((api.category, api.tool_name, api.api_name), (api, simulator))
            self._standard.setdefault(name, (api, simulator))
        self.target = lru_cache(MAX_UNKNOWN + len(self._exact))(self._target)

    @cached_property
    def _in_any_case(self) -> dict[StandardName, ApiRef]:
        # The first of equal names counts.
        return {_fold(name): api.ref for name, (api, _) in reversed(self._standard.items())}

    def _target(self, category: str, tool_name: str, api_name: str) -> CallTarget:
        name = requested_name(category, tool_name, api_name)
        found = self._exact.get((category, tool_name, api_name)) or self._standard.get(name)
        if found is None:
            ref = ApiRef(category=category, tool_name=tool_name, api_name=api_name)
            folded = _fold(requested_name(category.lower(), tool_name.lower(), api_name.lower()))
            origin = _origin(self._default, None)
            return CallTarget(ref, name, None, self._default, origin, self._in_any_case.get(folded))
        api, simulator = found
        name = documented_name(api.category, api.tool_name, api.api_name)
        return CallTarget(api.ref, name, api, simulator, _origin(simulator, api))


def _fold(name: StandardName) -> StandardName:
    return StandardName(*(part.lower() for part in name))


def _origin(simulator: Simulator, api: Api | None) -> Origin:
    if isinstance(simulator, FrozenSimulator):
        return ANY
    return Origin(simulator.label, simulator.revision(api))
