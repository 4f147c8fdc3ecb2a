"""The conclusions from fidelity figures, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialbed_adapter_lab.fidelity import Effect, FrameworkFidelity, ToolSchemas
from trialbed_adapter_lab.fidelity.views._cells import share

LOST: tuple[Effect, ...] = ("missing", "refused")
"""The effects by which a tool is not there for the model."""

CHANGED: tuple[Effect, ...] = ("lost", "added", "changed", "reordered")
"""The effects by which a schema is another one."""

KINDS = ("tools lost", "tools renamed", "tools added", "schemas changed", "calls not as sent")


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
        if changed := _changes(schemas):
            yield f"{beginning}{changed}."
    prompts = {name: one.prompt.prompt_tokens() for name, one in zip(names, found, strict=True) if one.prompt}
    longest = max(prompts, key=lambda name: prompts[name][1], default=None)
    if longest is not None and prompts[longest][1] > 0:
        whole, added = prompts[longest]
        yield f"{beginning}{longest} adds most tokens to the prompt: {share(whole, added)}."


def _faithful(schemas: Mapping[str, ToolSchemas]) -> str:
    """Say how many frameworks change neither a tool nor a call, and which."""
    same = [name for name, part in schemas.items() if not any(_counts(part).values())]
    if len(schemas) == 1:
        offers, makes = ("offers", "makes") if same else ("does not offer all", "make all")
        (who,) = schemas
        return f"{who} {offers} tools as they are, {'and' if same else 'or'} {makes} calls as the model sent them"
    verbs = ("offers", "makes") if len(same) == 1 else ("offer", "make")
    count = "all" if len(same) == len(schemas) else f"{len(same) or 'none'} of"
    named = f" ({', '.join(same)})" if 0 < len(same) < len(schemas) else ""
    done = f"{verbs[0]} the tools as they are, and {verbs[1]} the calls as the model sent them"
    return f"{count} {len(schemas)} frameworks {done}{named}"


def _changes(schemas: Mapping[str, ToolSchemas]) -> str:
    """Say which frameworks make each kind of change, and how often, the most first; empty where none does."""
    every = {name: _counts(part) for name, part in schemas.items()}
    found = []
    for kind in KINDS:
        counts = sorted(((own[kind], name) for name, own in every.items() if own[kind]), key=lambda one: -one[0])
        if counts:
            found.append(f"{kind}: {', '.join(f'{name} {count}' for count, name in counts)}")
    return "; ".join(found)


def _counts(part: ToolSchemas) -> dict[str, int]:
    """Return the number of tools or calls to which each kind of change happened."""
    counts = (
        part.count(*LOST),
        part.count("renamed"),
        len(part.others),
        part.count(*CHANGED),
        len(part.calls) - part.calls.count("as sent"),
    )
    return dict(zip(KINDS, counts, strict=True))
