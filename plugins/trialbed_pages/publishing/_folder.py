"""Writes the folder of published results: pages, figures and numbers, and the evidence that they are made of."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trialbed.errors import UsageError
from trialbed.views import UNKNOWN, Table, csv_text, escape_markdown, html_parts, markdown, svg_file
from trialbed_pages.publishing._board import board_tables
from trialbed_pages.publishing._figures import figures_of
from trialbed_pages.publishing._manifest import (
    NAME,
    NUMBERS,
    PublicationManifest,
    RunSource,
    check_unchanged,
    read_manifest,
)
from trialbed_pages.publishing._numbers import RunNumbers
from trialbed_pages.publishing._page import Part, lead_of, losses_of, names_of, parts_of, title_of
from trialbed_pages.rendering import render

PAGE = "index.html"
TEXT = "results.md"
LOSSES = "losses.csv"
FIGURES = "figures"
RESULT = 3
"""Sections of a run that stand before the words about it."""

ABOUT = "What this is, and what it can show"


def made_files(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> dict[str, bytes]:
    """Return the files that follow from the numbers and the manifest alone, so that a replay makes them again.

    Args:
        manifest: its files are those of the evidence.
    """
    numbers = [run.model_dump(mode="json") for run in runs]
    found = {
        NUMBERS: json.dumps(numbers, indent=1, ensure_ascii=False) + "\n",
        LOSSES: csv_text(losses_of(runs)) or "\n",
        PAGE: _page(manifest, runs),
        TEXT: _text(manifest, runs),
    }
    for run in runs:
        for kind, plot in figures_of(run).items():
            found[f"{FIGURES}/{run.name}-{kind}.svg"] = svg_file(plot)
    return {name: text.encode("utf-8", "backslashreplace") for name, text in found.items()}


def read_numbers(folder: Path) -> list[RunNumbers]:
    """Read the numbers of a folder, whose files are the published ones."""
    return [RunNumbers.model_validate(one) for one in json.loads((folder / NUMBERS).read_text(encoding="utf-8"))]


def write_publication(
    folder: Path, manifest: PublicationManifest, runs: Sequence[RunNumbers], evidence: Mapping[str, bytes]
) -> PublicationManifest:
    """Write a folder of published results, and return its manifest. Files of an earlier publication are replaced.

    Args:
        manifest: without its files.
        evidence: the files that are not made again, by their names.

    Raises:
        DataError: the folder has a publication of which files were changed since.
        UsageError: it cannot be written.
    """
    earlier = read_manifest(folder) if (folder / NAME).exists() else None
    if earlier is not None:
        check_unchanged(folder, earlier)
    kept = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(evidence.items())}
    manifest = manifest.model_copy(update={"files": kept})
    made = made_files(manifest, runs)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in made.items()}
    manifest = manifest.model_copy(
        update={"made": tuple(sorted(made)), "files": dict(sorted((kept | digests).items()))}
    )
    for name in earlier.files if earlier is not None else ():
        (folder / name).unlink()
    write_files(folder, {**evidence, **made, NAME: f"{manifest.model_dump_json(indent=1)}\n".encode()})
    return manifest


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder with --output") from error


class Section(NamedTuple):
    """A part of the page; ``file`` is that of a figure, empty for a table."""

    part: Part
    file: str = ""


def _sections(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> Iterator[Section]:
    yield from map(Section, board_tables(runs))
    for run, name in zip(runs, names_of(runs), strict=True):
        figures = figures_of(run)
        files = {id(plot): f"{FIGURES}/{run.name}-{kind}.svg" for kind, plot in figures.items()}
        for place, part in enumerate(parts_of(run, figures, name=name)):
            if place == RESULT and run is runs[0] and manifest.about:
                yield Section(Table(ABOUT, notes=manifest.about))
            yield Section(part, files.get(id(part), ""))
    yield Section(_provenance(manifest.runs))
    yield Section(_files(manifest))


def _page(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> str:
    sections = html_parts("", [section.part for section in _sections(manifest, runs)])
    commands = _commands(manifest.runs)
    shown = {"title": title_of(runs), "lead": _lead(runs), "sections": sections, "commands": commands}
    return render("published.html", "", **shown, names=[*manifest.kept, NUMBERS, LOSSES, TEXT, NAME])


def _text(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> str:
    """The page as Markdown, with the files of its figures."""
    lines = [f"# {escape_markdown(title_of(runs))}\n", *(f"{escape_markdown(line)}\n" for line in _lead(runs))]
    for part, file in _sections(manifest, runs):
        lines.append(f"![{escape_markdown(part.title)}]({file})\n" if not isinstance(part, Table) else markdown([part]))
    lines += ["## To make it again\n", f"```console\n{_commands(manifest.runs)}\n```\n"]
    return "\n".join(lines)


def _lead(runs: Sequence[RunNumbers]) -> list[str]:
    names = names_of(runs)
    return [
        f"{name}: {line}" if name and not place else line
        for run, name in zip(runs, names, strict=True)
        for place, line in enumerate(lead_of(run))
    ]


def _provenance(runs: Sequence[RunSource]) -> Table:
    rows = [
        ("began", *(run.began for run in runs)),
        ("Trialbed", *(run.trialbed for run in runs)),
        ("model", *(run.model for run in runs)),
        ("identity of the model", *(run.identity or UNKNOWN for run in runs)),
        ("dataset", *(run.dataset for run in runs)),
        ("answers of the model", *(f"{run.answers:,}" for run in runs)),
        ("recording", *(run.recording for run in runs)),
    ]
    labels = dict.fromkeys(label for run in runs for label in run.environments)
    rows += [(f"packages of {label}", *(run.environments.get(label, UNKNOWN) for run in runs)) for label in labels]
    notes = [f"{run.name} cannot be made again from these files: {run.cannot}." for run in runs if run.cannot]
    return Table.of("Where the numbers come from", ("", *(run.name for run in runs)), rows, notes)


def _files(manifest: PublicationManifest) -> Table:
    note = f"The digests of all files stand in {NAME}."
    return Table.of("Evidence", ("file", "SHA-256"), list(manifest.kept.items()), [note])


def _commands(runs: Sequence[RunSource]) -> str:
    """The command that makes the numbers again, and those that asked the model."""
    asked = (["bench", "run", "--dataset", run.dataset, "--model", run.model, *run.arguments] for run in runs)
    return "\n".join(["$ bench reproduce .", *(f"$ {shlex.join(command)}" for command in asked)])
