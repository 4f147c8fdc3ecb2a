"""The conclusions from fidelity figures, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialbed_adapter_lab.fidelity import Effect, FrameworkFidelity, ToolSchemas
from trialbed_adapter_lab.fidelity.views._cells import share

LOST: tuple[Effect, ...] = ("missing", "refused")
"""The effects by which a tool is not there for the model."""

CHANGED: tuple[Effect, ...] = ("lost", "added", "changed", "reordered")
"""The effects by which a schema is another one."""


def conclusions(found: Sequence[FrameworkFidelity], profile: str) -> Iterator[str]:
    """Yield sentences on the frameworks of a profile, the reference left out: on tools and calls, and on the prompt.

    Args:
        profile: empty for frameworks of which no other profile was measured.
    """
    beginning = f"{profile}: " if profile else ""
    names = [one.framework.removesuffix(f":{profile}") for one in found]
    schemas = {name: one.schemas for name, one in zip(names, found, strict=True) if one.schemas is not None}
    if schemas:
        yield f"{beginning}{_faithful(schemas)}."
    prompts = {name: one.prompt.prompt_tokens() for name, one in zip(names, found, strict=True) if one.prompt}
    longest = max(prompts, key=lambda name: prompts[name][1], default=None)
    if longest is not None and prompts[longest][1] > 0:
        whole, added = prompts[longest]
        yield f"{beginning}{longest} adds most tokens to the prompt: {share(whole, added)}."


def _faithful(schemas: Mapping[str, ToolSchemas]) -> str:
    """Say how many frameworks change neither a tool nor a call, and which."""
    same = [name for name, part in schemas.items() if _is_faithful(part)]
    if len(schemas) == 1:
        offers, makes = ("offers", "makes") if same else ("does not offer all", "make all")
        (who,) = schemas
        return f"{who} {offers} tools as they are, {'and' if same else 'or'} {makes} calls as the model sent them"
    verbs = ("offers", "makes") if len(same) == 1 else ("offer", "make")
    count = "all" if len(same) == len(schemas) else f"{len(same) or 'none'} of"
    named = f" ({', '.join(same)})" if 0 < len(same) < len(schemas) else ""
    done = f"{verbs[0]} the tools as they are, and {verbs[1]} the calls as the model sent them"
    return f"{count} {len(schemas)} frameworks {done}{named}"


def _is_faithful(part: ToolSchemas) -> bool:
    """Return whether every tool was offered, and every call made, as it was given."""
    changed = part.count(*LOST, *CHANGED, "renamed") or part.others
    return not changed and len(part.calls) == part.calls.count("as sent")
