"""A distribution of hostile adapters, and trials for them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from support.hostile_agents import install_hostile_agents
from support.warm import warm_programs

from trialbed.records import ApiRef, Limits, ModelEndpoint, ToolSpec, TrialKey, TrialSpec

MakeSpec = Callable[..., TrialSpec]


@pytest.fixture
def hostile_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The adapters, installed for workers only."""
    folder = install_hostile_agents(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture
def quick_start() -> Iterator[None]:
    """Workers that are forked: they start in a third of the time, but have no limits of this process."""
    with warm_programs():
        yield


@pytest.fixture
def make_spec() -> MakeSpec:
    """Specifications of trials that need no server."""
    numbers = iter(range(10**6))

    def make(query: str, framework: str = "hostile", *, timeout: float = 60.0, seed: int = 0) -> TrialSpec:
        number = next(numbers)
        api = ApiRef(category="Weather", tool_name="Weather", api_name="now")
        return TrialSpec(
            trial=f"trial-{number:06}",
            key=TrialKey(framework=framework, query_id=number),
            query=query,
            system_prompt="",
            tools=(ToolSpec(name="Weather_now", description="", parameters={"type": "object"}, api=api),),
            endpoint=ModelEndpoint(base_url="http://127.0.0.1:9/v1", api_key="none", model="none", seed=seed),
            limits=Limits(timeout=timeout),
            server_url="http://127.0.0.1:9/virtual",
        )

    return make


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Every test leaves no process (not even a zombie) and no descriptor behind."""
    own = psutil.Process()
    before = own.num_fds()
    began = time.time()
    yield
    # A database that an earlier test has started starts and ends processes of its own whenever it likes.
    children = [child for child in own.children(recursive=True) if child.create_time() >= began]
    assert [child for child in children if child.name() != "postgres"] == []
    assert own.num_fds() <= before
    assert _started_by_workers(tmp_path) == []


def _started_by_workers(tmp_path: Path) -> list[psutil.Process]:
    """Processes that have this test's folder in their environment, wherever they have got to."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if str(tmp_path) in process.environ().get("PYTHONPATH", ""):
                found.append(process)
    return found
