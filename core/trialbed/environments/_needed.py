"""The environments of the frameworks that a caller names in Python."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.environments._frameworks import FrameworkSpec, check_name, install_command, runs_here
from trialbed.environments._provision import BuildSteps, provide
from trialbed.environments._store import BuildRequest, EnvironmentStore
from trialbed.errors import EnvironmentFailed
from trialbed.records import Environment
from trialbed.settings import make_folder


async def needed_environments(labels: Sequence[str], store: EnvironmentStore, *, build: bool) -> dict[str, Environment]:
    """Return the environments of the frameworks that cannot run in this interpreter.

    Raises:
        EnvironmentFailed: one has none yet and is not to be built, or cannot be built; says what to do.
    """
    specs = {label: FrameworkSpec.parse(label) for label in labels if not runs_here(label)}
    requests = [BuildRequest(spec) for spec in {spec.text: spec for spec in specs.values()}.values()]
    found = {request.framework.text: store.find(request) for request in requests}
    installed = {framework: environment for framework, environment in found.items() if environment is not None}
    missing = [request for request in requests if request.framework.text not in installed]
    for request in missing:
        spec = request.framework
        check_name(spec)
        if not build:
            raise EnvironmentFailed(
                f"{spec.text} is not installed here: build an environment for it with `bench env add {spec.text}` "
                f"(evaluate does so with build=True), or install it next to Trialbed: "
                f"`{install_command(spec.name, *spec.pins)}`"
            )
    if missing:
        make_folder(store.folder, "TRIALBED_ENV_DIR", shared=True)
        installed |= await provide(store, missing, BuildSteps())
    return {label: installed[spec.text].environment for label, spec in specs.items()}
