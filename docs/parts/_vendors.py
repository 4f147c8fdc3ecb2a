"""What vendors can do: outcomes, failures, drivers and faults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from parts._markdown import escaped, table
from trialbed import contracts
from trialbed.drivers import GROUPS
from trialbed_scripted import FAULTS
from trialbed_scripted.faults import FaultKind, atlas
from trialbed_scripted.vendor import ANSWERS
from trialbed_verify.findings import CALL_REASONS, KINDS, OUTCOMES, PROBLEMS
from trialbed_verify.suites import EXPECTATIONS, SUITES

MEASURED = Path(__file__).parents[1] / "reference" / "wire-faults.json"


def outcomes() -> str:
    """How a case of a verification can end."""
    return _words("outcome", OUTCOMES)


def problem_kinds() -> str:
    """Every kind of failure of a verified vendor."""
    return _words("kind", PROBLEMS)


def call_reasons() -> str:
    """Why a call of a verified vendor is wrong."""
    return _words("reason", CALL_REASONS)


def finding_kinds() -> str:
    """Every kind of finding about an answer of a verified vendor."""
    rows = [(f"`{name}`", kind.gate, kind.severity, escaped(kind.meaning)) for name, kind in KINDS.items()]
    return table(("kind", "gate", "severity", "meaning"), rows)


def suites() -> str:
    """The suites that come with Trialbed."""
    rows = [(f"`{name}`", str(one.size), escaped(one.about)) for name, one in SUITES.items()]
    return table(("suite", "cases", "what it measures"), rows)


def expectations() -> str:
    """What a case of a suite can expect."""
    meanings = ((name, (check.__doc__ or "").rstrip(".")) for name, check in EXPECTATIONS.items())
    return table(("key", "meaning"), [(f"`{name}`", escaped(text[:1].lower() + text[1:])) for name, text in meanings])


def vendor_drivers() -> str:
    """Every vendor of ``trialbed-vendors``: where it is, whose key it needs, which names of models it maps."""
    found = [entry for entry in entry_points(group=GROUPS["vendors"]) if entry.value.startswith("trialbed_vendors")]
    return table(
        ("name", "endpoint", "key", "models to which it gives another name"),
        [_vendor(entry.name, entry.load()) for entry in sorted(found, key=lambda entry: entry.name)],
    )


def faults() -> str:
    """Every fault that ``bench serve --faults`` can do."""
    return table(("fault", "what it does", "settings"), [_about(name, about) for name, about in FAULTS.items()])


def wire_faults() -> str:
    """Every row of the wire-fault atlas, with the findings of ``bench verify``."""
    rows = []
    for name, row in atlas().items():
        finds = row["finds"]
        forms = (finds["whole"], finds["stream"]) if isinstance(finds, dict) else (finds, finds)
        words = (", ".join(f"`{kind}`" for kind in kinds) or "nothing" for kinds in forms)
        rows.append((f"`{name}`", escaped(row["report"]), escaped(row["says"]), *words))
    return table(("fault", "report", "what the endpoint does", "verify, whole", "verify, streamed"), rows)


def wire_fault_frameworks() -> str:
    """How the frameworks fare under each row of the atlas, as ``benchmarks/wire_faults.py`` measured it."""
    if not MEASURED.exists():
        return "The frameworks are not measured yet; `benchmarks/wire_faults.py` measures them."
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    titles = [f"{name} {one['version'].partition(' ')[0]}" for name, one in found.items()]
    rows = [(f"`{name}`", *(one["cells"][name] for one in found.values())) for name in atlas()]
    others = [name for name, one in found.items() if one["dialects"] != ["chat_completions"]]
    note = (
        f"\n\nThe gateway translates the answers for {', '.join(others)}, which asks in another dialect."
        if others
        else ""
    )
    return table(("fault", *titles), rows) + note


def fault_answers() -> str:
    """What can be set of the right answers of ``bench serve --faults``."""
    rows = [(f"`{name}`", about.text, _default_of(about.default)) for name, about in ANSWERS.items()]
    return table(("key", "meaning", "default"), rows)


def _words(title: str, words: Mapping[Any, str]) -> str:
    return table((title, "meaning"), [(f"`{word}`", escaped(meaning)) for word, meaning in words.items()])


def _vendor(name: str, driver: type[contracts.Vendor]) -> tuple[str, ...]:
    endpoint = f"`{driver.base_url}`" if driver.base_url else "give its `url`"
    key = f"`{driver.key_variable}`" if driver.key_variable else ""
    renamed = (f"`{model}`" for model, own in driver.models.items() if own != model)
    return f"`{name}`", endpoint, key, ", ".join(renamed)


def _about(name: str, about: FaultKind) -> tuple[str, ...]:
    settings = ", ".join(f"`{key}` ({_default_of(default)})" for key, default in about.settings.items())
    return f"`{name}`", escaped(about.text), settings


def _default_of(value: Any) -> str:
    return f"`{json.dumps(value)}`"
