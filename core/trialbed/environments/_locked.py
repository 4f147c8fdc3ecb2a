"""The environment of a lock that was made elsewhere."""

from __future__ import annotations

from trialbed.environments._build import build
from trialbed.environments._frameworks import FrameworkSpec
from trialbed.environments._installed import InstalledEnvironment, folder_name, lock_digest, requirements
from trialbed.environments._requirements import local_path, local_url
from trialbed.environments._store import EnvironmentStore
from trialbed.environments._uv import Uv
from trialbed.errors import EnvironmentFailed
from trialbed.records import Environment
from trialbed.settings import make_folder


async def locked_environment(label: str, lock: str, store: EnvironmentStore) -> Environment:
    """Find the environment of a lock in a store of this machine, or build it there.

    The lock of the environment differs from this one if it was made for another interpreter or platform.

    Args:
        label: of the framework, in a run.

    Raises:
        EnvironmentFailed: it cannot be built here; says why.
    """
    spec, lines = FrameworkSpec.parse(label), requirements(lock)
    installed = InstalledEnvironment.read(store.folder / folder_name(spec.name, lock_digest(lock)))
    if installed is None:
        for line in lines:
            path = local_path(local_url(line) or "")
            if path is not None and not path.exists():
                raise EnvironmentFailed(
                    f"{spec.text}: its lock names {path}, which is not on this machine; install Trialbed and the "
                    "adapter from an index or a URL, so that other machines can build the same environment"
                )
        make_folder(store.folder, "TRIALBED_ENV_DIR", shared=True)
        uv = Uv(store.folder, lambda: None)
        installed = await build(store, uv, spec, lines, on_start=lambda: None, on_wait=lambda: None)
    return installed.environment
