"""The pages of the results site, from published runs, measurements and the tests' own data."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from parts.markdown import escaped, table
from parts.tables import ARGUMENTS, CELLS, COUNTED, codes, expression, title_of
from trialbed import views
from trialbed_adapter_lab import fidelity, releases
from trialbed_adapter_lab.probe import Theme
from trialbed_adapter_lab.probes import THEMES, probes_of
from trialbed_adapter_lab.report_command import read_report
from trialbed_pages.publishing._folder import made_files, read_numbers
from trialbed_pages.publishing._manifest import read_manifest
from trialbed_scripted.faults import atlas

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
NAMES = {
    "agno": "Agno",
    "autogen": "AutoGen",
    "crewai": "CrewAI",
    "langgraph": "LangGraph",
    "openai-agents": "OpenAI Agents SDK",
}

INDEX = """\
# Results

```console
$ bench reproduce docs/results/small-local-model
```

Comparisons, each with the recorded answers of its model: in a checkout of Trialbed, `bench reproduce` replays them
and makes every number and figure again, without the model and without a key.
[Publish results](../how-to/publish-results.md) says how.

{published}

## Measured tables

They are measured again with new releases of the frameworks.

- [Probes](probes.md): how each framework changes the traffic between model and tools, check by check
- [Faulty models](faulty-models.md): where frameworks with their defaults miss the known values of scripted models
- [Releases](releases.md): what each release of a framework changed
- [Wire faults](wire-faults.md): which frameworks, and `bench verify`, notice faults of endpoints
- [Deliberate defects](deliberate-defects.md): which broken adapters the conformance kit notices
"""

PROBES = """\
# Probes

```console
$ bench fidelity langgraph:native langgraph:controlled crewai:native crewai:controlled --yes --output fidelity.json
```

The same scripted models and tools ran with each framework and with the plain loop. Rows in which every framework
equals the plain loop are only counted, and so are rows of a probe with more than 20 others. To see those of a theme:
`bench fidelity docs/results/fidelity.json --part traffic`. The traffic does not depend on the machine.

## Levels

| level | meaning | if it fails |
| --- | --- | --- |
| `must` | otherwise the framework's figures would be wrong | the adapter does not conform, unless declared |
| `should` | otherwise the framework is measured under other conditions | likewise |
| `may` | good to know; no score depends on it | reported as a finding |

Probes of the level `info` demand nothing and show figures. A probe binds *all* adapters, or conductor-only setups
(*controlled*) alone; for others it is a `may` then.

## Outcomes

| outcome | meaning | conforms |
| --- | --- | --- |
| `passed` | the adapter does what is asked for | yes |
| `failed` | it does not | no |
| `skipped` | it could not be tried; the report says why | yes |
| `finding` | a `may` saw something else | yes |
| `declared` | it does not, and declares this | yes |
| `outdated` | it declares a deviation but passes, or names a check that does not exist | no |
| `error` | the check could not be completed | no |
| `seen` | a figure of an `info` probe | yes |

## Check an adapter

`bench adapter check NAME` runs the same probes on [your adapter](../how-to/write-an-adapter.md) or, with
`--command`, on a program. `--quick` runs fewer than half of the checks, those that find most defects. `--fuzz SECONDS`
draws conversations with mistakes and delays, plays each with the adapter and the plain loop, and prints a breach as a
test for pytest. `deviations` on the adapter's class, or `--known CHECK=REASON`, declare what a framework cannot do;
every report shows them, and the check still runs.

Trials run as in a worker: a fresh agent, `bind_tools`, `answer`, `close`. The model and the tools have their own
thread. An oracle checks every request of every trial: prompt, tools, settings, conversation, calls, and at the end
the answer, claims and tokens. The event loop's clock can be put forward, so a slow model costs no time; adapters
whose `answer` is not `async` skip those checks.

"""

FAULTY = """\
# Faulty models

```console
$ bench run --framework langgraph --model scripted:bad-json --query-id 1
```

Frameworks with their defaults (`:native`), tuned, and in other protocols, played with every [scripted
model](../reference/scripted-models.md). These are the only cells in which the outcome differs from the [known
values](../reference/scripted-models.md#right-values). The test suite plays every policy with every setup and compares
each field. If several rows have the same setup and policy, the last one whose condition holds counts. *n* is the
number of expected calls, *l* the step limit.

Some frameworks offer a strict schema, which requires optional arguments, so that the model makes them up. A call that
gives *g* arguments, of a tool with *o* more optional ones, is then correct by *g / (g + o)*. *A(k)* is the sum of
these shares over the first *k* expected calls, *m* the greatest of them, *q* the number of the task in `mini`.

"""

TALKS = """\

## A failed trial

Its status is Error. Scores [that count failed trials](../reference/scores.md#all-scores) are 0, and it has no others.

## Conversations

The tests play `given-early` of `desk` with all policies but `extra` in every setup, and the other conversations with
one or two.

"""

RELEASES = """\
# Releases

```console
$ bench releases langgraph --most 8 --profile native --profile controlled --yes -o langgraph.json
```

What each release of a framework changed in its tools, prompts, and treatment of faulty models and endpoints. Eight
releases spread over the adapter's range were measured, then those between two that differ, until each change had its
own release (of CrewAI, changes of 1.15.24 may be of 1.15.23, and those of 1.15.30 of any since 1.15.25). Each
environment had the newest packages that fit, so a change can be another package's; packages that differ are below the
table. A framework's own issue is named if one was found. No times are compared.

These figures are of an earlier kit, whose rows have other names than today's [probes](probes.md). The OpenAI Agents
SDK 0.17.4 to 0.18.0 ends every trial with an exception, since it allows a newer `openai` than it can use; CrewAI's
defaults need 1.15.3.

"""

WIRE = """\
# Wire faults

```console
$ bench serve --port 8080 --faults lmstudio-830
```

The wire-fault atlas has public bug reports about model endpoints, each as a fault that you can play. `--faults atlas`
serves every row below its own path, and `bench faults list` names them. A row is built after its report: the bytes
are ours, and the project may have fixed it since. The rows are data: `plugins/trialbed_scripted/faults/atlas.toml`.

## What bench verify says

The kinds are [findings](../reference/verification.md#findings) and [problems](../reference/verification.md#problems);
a test asserts each cell. "Nothing" means that the specification allows the bytes, or that a fault of streams meets a
whole answer.

{verify}

## Which frameworks survive

One task with one tool per cell, with the framework's defaults and without repetition of failed requests: it shows
what happened once.

| cell | meaning |
| --- | --- |
| survives | the correct call was made, and an answer came |
| says so | the trial failed, and the failure names the model or the endpoint |
| fails | the trial failed otherwise: an exception of the framework, or a limit |
| loses it | an answer came without the correct call, and no failure was reported |
| not met | the fault is one of streams, and the framework asks for none |
| not measured | the framework also fails without the fault, at two calls in one answer |

{frameworks}
"""

DEFECTS = """\
# Deliberate defects

```console
$ cd tests && python -m support.mutants
```

The conformance kit, tested itself: each row is the plain loop as an adapter with one defect. Most defects were
written from what agent frameworks do, before the checks were read; 20 passed an earlier kit. A failure is a check of
the levels *must* and *should*; defects that only a *may* reports count as reported. The tests run every defect
against the check that heads its report, and eight drawn ones against the whole kit.

"""


def index_page() -> str:
    """Return the first page of the results, with each comparison and its outcome, and the measured tables."""
    return INDEX.format(published="\n\n".join(map(_result, _published())))


def findings() -> str:
    """Return the title and the outcome of each published result, for the first page of the repository."""
    return "\n\n".join(map(_finding, _published()))


@cache
def published_files(folder: Path) -> dict[str, bytes]:
    """Return the pages and figures of a folder of published results."""
    manifest = read_manifest(folder)
    evidence = manifest.model_copy(update={"files": manifest.kept, "made": ()})
    return made_files(evidence, read_numbers(folder, manifest))


def probes_page() -> str:
    """Return the table of fidelity, and every probe."""
    report = read_report(fidelity.FidelityReport, RESULTS / "fidelity.json", "bench fidelity")
    checks = "\n\n".join(map(_theme, THEMES))
    return f"{PROBES}{views.markdown(fidelity.report_tables(report))}\n## Checks\n\n{checks}\n"


def faulty_models_page() -> str:
    """Return the cells of the truth table that setups do not share."""
    return f"{FAULTY}{_cells()}\n{TALKS}{_conversation_cells()}\n"


def releases_page() -> str:
    """Return every measured framework with its releases, and the changes in each."""
    reports = [
        read_report(releases.ReleasesReport, path, "bench releases")
        for path in sorted((RESULTS / "releases").glob("*.json"))
    ]
    return RELEASES + "\n".join(map(_framework, reports))


def wire_faults_page() -> str:
    """Return the wire-fault atlas with what verification finds and what frameworks do."""
    rows = []
    for name, row in atlas().items():
        finds = row["finds"]
        forms = (finds["whole"], finds["stream"]) if isinstance(finds, dict) else (finds, finds)
        words = (", ".join(f"`{kind}`" for kind in kinds) or "nothing" for kinds in forms)
        rows.append((f"`{name}`", escaped(row["report"]), escaped(row["says"]), *words))
    titles = ("fault", "report", "what the endpoint does", "verify, whole", "verify, streamed")
    return WIRE.format(verify=table(titles, rows), frameworks=_wire_frameworks())


def defects_page() -> str:
    """Return every deliberate defect, by the check that heads its report, and the shares that are noticed."""
    defects = json.loads((ROOT / "tests/support/mutants/record.json").read_bytes())
    failed = [one for one in defects if one["failed"]]
    found = sum(not one["failed"] and bool(one["found"]) for one in defects)
    named = sum(one["named"] for one in failed)
    shares = (
        f"For {len(failed)} of {len(defects)} a check fails ({len(failed) / len(defects):.1%}), and the first failure "
        f"names the cause of {named} ({named / len(defects):.1%}). {found} more are reported by findings alone, and "
        f"{len(defects) - len(failed) - found} are not reported."
    )
    rows = []
    for defect in defects:
        reporting = [f"`{check}`" for check in defect["failed"]] + [f"`{check}` (finding)" for check in defect["found"]]
        first, *others = reporting or ["**nothing**"]
        rows.append((escaped(defect["cause"]), first, "yes" if defect["named"] else "**no**", str(len(others))))
    titles = ("defect", "reported first", "names the cause", "further checks")
    return f"{DEFECTS}{shares}\n\n{table(titles, rows)}\n"


def _published() -> list[Path]:
    return [path.parent for path in sorted(RESULTS.glob("*/published.json"))]


def _beginning(folder: Path) -> list[str]:
    text = published_files(folder)["results.md"].decode()
    return text.partition("\n![")[0].partition("\n## ")[0].strip().split("\n\n")


def _result(folder: Path) -> str:
    title, *lead = _beginning(folder)
    name = folder.name
    links = f"[All figures, tables and sources]({name}/results.md), or [the same as one page]({name}/index.html)."
    return "\n\n".join([f"## {title.removeprefix('# ')}", *lead, f"`bench reproduce docs/results/{name}`: {links}"])


def _finding(folder: Path) -> str:
    title, outcome, *_ = _beginning(folder)
    return f"**[{title.removeprefix('# ')}](docs/results/{folder.name}).** {outcome}"


def _theme(theme: Theme) -> str:
    title = theme.title.rstrip(".")
    rows = [
        (
            f'<a id="{check.name}"></a>`{check.name}`',
            check.level,
            check.binds,
            *map(escaped, (check.summary, check.reason, check.hint)),
        )
        for check in probes_of(theme)
    ]
    return f"### {title}\n\n" + table(("check", "level", "binds", "what is checked", "why", "hint"), rows)


def _cells() -> str:
    rows = []
    for cell in CELLS["cells"]:
        profiles = "every `native`" if cell["profiles"] == ["program"] else codes(cell["profiles"])
        policies = codes(cell["policies"]) + (f", if {expression(cell['when'])}" if "when" in cell else "")
        fails = cell.get("end") == "failed"
        own = {**({} if fails or "end" not in cell else CELLS["ends"][cell["end"]]), **cell}
        right = {**CELLS["fields"], **CELLS["right"][cell["policies"][0]]}
        ended = cell["happens"] + (" ([failed](#a-failed-trial))" if fails else "")
        figures = [
            f"{title_of(name)} {expression(own[name])}"
            for name in (*COUNTED, *ARGUMENTS)
            if own.get(name, "any") not in ("any", right[name])
        ]
        rows.append((profiles, policies, ended, "; ".join(figures), cell["cause"]))
    lists = "; ".join(f"*{name}* is {', '.join(map(str, queries))}" for name, queries in CELLS["queries"].items())
    titles = ("setup", "policy", "what happens instead", "what differs", "cause")
    return f"{table(titles, rows)}\n\nOf the tasks of `mini`, {lists}."


def _conversation_cells() -> str:
    talks = CELLS["conversations"]
    rows = []
    for cell in talks["cells"]:
        figures = [f"{title_of(name)} {cell[name]}" for name in talks["fields"] if name in cell]
        failed = f" (`{cell['error']}`)" if "error" in cell else ""
        played = (codes(cell["profiles"]), codes(cell["tasks"]), codes(cell["policies"]))
        rows.append((*played, cell["happens"] + failed, "; ".join(figures) or "no scores", cell["cause"]))
    return table(("setup", "task", "policy", "what happens instead", "what differs", "cause"), rows)


def _framework(report: releases.ReleasesReport) -> str:
    overview, *changes = releases.report_tables(report)
    parts = [f"## {NAMES.get(report.framework, report.framework)}\n", views.markdown([overview], level=3)]
    for release, tables in groupby(changes, key=lambda one: one.title.partition(",")[0]):
        parts += [views.markdown([one], level=3) for one in tables]
        parts += _issues(report.framework, release)
    return "\n".join(parts)


def _issues(framework: str, release: str) -> Iterator[str]:
    """Yield the framework's own issues about a release's changes."""
    for issue in tomllib.loads((RESULTS / "releases" / "issues.toml").read_text(encoding="utf-8"))["issue"]:
        if (issue["framework"], issue["release"]) == (framework, release):
            yield f"* {issue['what']}: [{issue['title']}]({issue['url']})\n"


def _wire_frameworks() -> str:
    found = json.loads((RESULTS / "wire-faults.json").read_text(encoding="utf-8"))
    titles = [f"{name} {one['version'].partition(' ')[0]}" for name, one in found.items()]
    rows = [(f"`{name}`", *(one["cells"][name] for one in found.values())) for name in atlas()]
    others = [name for name, one in found.items() if one["dialects"] != ["chat_completions"]]
    note = f"\n\nThe gateway translates the answers for {', '.join(others)}, in another protocol." if others else ""
    return table(("fault", *titles), rows) + note
