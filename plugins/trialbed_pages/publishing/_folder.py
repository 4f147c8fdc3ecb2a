"""Write the folder of published results, with pages, figures, numbers and their evidence."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from trialbed.errors import DataError, UsageError
from trialbed.settings import secret_values
from trialbed.views import (
    UNKNOWN,
    Folded,
    Plot,
    Table,
    escape_markdown,
    html_parts,
    markdown,
    printable,
    svg_file,
)
from trialbed_pages.publishing._manifest import (
    NAME,
    NUMBERS,
    PublicationManifest,
    RunSource,
    check_unchanged,
    read_manifest,
    read_published,
)
from trialbed_pages.publishing._numbers import RunNumbers
from trialbed_pages.publishing._page import (
    BRACKETS,
    TASKS,
    Part,
    board_tables,
    figures_of,
    lead_of,
    names_of,
    parts_of,
    title_of,
)
from trialbed_pages.rendering import render
from trialbed_plugins.recordings import MOST

PAGE = "index.html"
TEXT = "results.md"
FIGURES = "figures"
WIDTH = 60
"""Characters of a line of a command, before the value of its last option."""

RESULT = 3
"""Sections of a run that stand before the words about it."""

XZ = b"\xfd7zXZ\x00"
"""The first bytes of a recording."""

PIECE = 2**20
"""Bytes of a recording per search step."""

REPLAYED = (
    " bench reproduce replays the recorded answers: it needs neither the model nor a key, and makes every number again."
)

UNCHECKED = " It does not make the pages about vendors again: of these, it compares the digests alone."

ABOUT = "What this is, and what it can show"


def made_files(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> dict[str, bytes]:
    """Return the files derived only from the numbers and the manifest, which a replay can make again.

    Args:
        manifest: its files are the evidence.
    """
    numbers = [run.model_dump(mode="json") for run in runs]
    found = {
        NUMBERS: json.dumps(numbers, indent=1, ensure_ascii=False) + "\n",
        PAGE: _page(manifest, runs),
        TEXT: _text(manifest, runs),
    }
    for run in runs:
        for kind, plot in figures_of(run).items():
            found[f"{FIGURES}/{run.name}-{kind}.svg"] = svg_file(plot)
    return {name: text.encode("utf-8", "backslashreplace") for name, text in found.items()}


def read_numbers(folder: Path, manifest: PublicationManifest) -> list[RunNumbers]:
    """Read the numbers of a folder with the unchanged published files.

    Raises:
        DataError: they cannot be read, or are of other runs than the manifest's.
    """
    path = folder / NUMBERS
    found = read_published(path, TypeAdapter(list[RunNumbers]))
    if [run.name for run in found] != [run.name for run in manifest.runs]:
        raise DataError(f"{path} has the numbers of other runs than {NAME}")
    return found


def write_publication(
    folder: Path, manifest: PublicationManifest, runs: Sequence[RunNumbers], evidence: Mapping[str, bytes]
) -> PublicationManifest:
    """Write a folder of published results, and return its manifest. Files of an earlier publication are replaced.

    All files are written to a temporary folder first, to keep the earlier ones if that fails.

    Args:
        manifest: without its files.
        evidence: the files that are not made again, by their names.

    Raises:
        DataError: files of the earlier publication were changed.
        UsageError: it cannot be written, has a file of another origin, or a key would be published.
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
    content = {**evidence, **made, NAME: f"{manifest.model_dump_json(indent=1)}\n".encode()}
    _check_keys(content)
    _replace_files(folder, content, () if earlier is None else (NAME, *earlier.files))
    return manifest


def _check_keys(files: Mapping[str, bytes]) -> None:
    """Reject files that contain the value of a key or password in this program's environment."""
    keys = [value.encode("utf-8", "surrogateescape") for value in secret_values()]
    for name, content in files.items():
        if keys and any(key in part for part in _parts(name, content, max(map(len, keys))) for key in keys):
            raise UsageError(
                f"{name} has the value of a variable that holds a key or a password, and is not published: remove it "
                "there, and run it again"
            )


def _parts(name: str, content: bytes, overlap: int) -> Iterator[bytes]:
    """Yield a file, and a recording's content in pieces that overlap.

    Raises:
        UsageError: a recording is larger than the limit; a small file can expand to any size.
    """
    yield content
    if not content.startswith(XZ):
        return
    size, end = 0, b""
    with suppress(lzma.LZMAError, EOFError), lzma.open(BytesIO(content)) as file:
        while part := file.read(PIECE):
            size += len(part)
            if size > MOST:
                raise UsageError(f"{name} has more than {MOST:,} bytes when unpacked, and is not published")
            yield end + part
            end = (end + part)[-overlap:]


def _replace_files(folder: Path, files: Mapping[str, bytes], earlier: Collection[str]) -> None:
    """Replace earlier files of a folder; the last file is replaced after all others."""
    for name in files:
        if name not in earlier and os.path.lexists(folder / name):
            raise UsageError(
                f"{folder / name} already exists and is not part of published results; name another folder"
            )
        if any((folder / above).is_symlink() for above in Path(name).parents if above != Path()):
            raise UsageError(f"{folder / name} is in a folder that is a link; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".publish-") as work:
            write_files(Path(work), files)
            for name in files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(work) / name).replace(folder / name)
        for name in earlier:
            if name not in files:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise _not_written(folder, error) from error


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
        raise _not_written(folder, error) from error


def _not_written(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder with --output")


PROVENANCE, EVIDENCE = "Where the numbers come from", "Evidence"


class Section(NamedTuple):
    """A part of the page; ``file`` is the file of a figure, empty for a table."""

    part: Part
    file: str = ""


def _sections(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> Iterator[Section]:
    yield from map(Section, board_tables(runs))
    if manifest.about and not runs:
        yield Section(Table(ABOUT, notes=manifest.about))
    said = set[str]()
    for run, name in zip(runs, names_of(runs), strict=True):
        figures = {kind: _name_figure(plot, name) for kind, plot in figures_of(run).items()}
        files = {id(plot): f"{FIGURES}/{run.name}-{kind}.svg" for kind, plot in figures.items()}
        for place, part in enumerate(parts_of(run, figures, name=name)):
            if place == RESULT and run is runs[0] and manifest.about:
                yield Section(Table(ABOUT, notes=manifest.about))
            yield Section(_without_notes(part, said), files.get(id(part), ""))
    if runs:
        yield Section(_provenance(manifest.runs))
    yield Section(_files(manifest))


def _without_notes(part: Part, said: set[str]) -> Part:
    """Return a section without notes that an earlier one has, and remember its own."""
    if not isinstance(part, Table):
        return part
    # Sentences without a table are results, which may be the same in two runs.
    notes = [note for note in part.notes if note not in said or not (part.rows or note == BRACKETS)]
    said.update(notes)
    return replace(part, notes=notes)


def _name_figure(plot: Plot, name: str) -> Plot:
    """Return a figure with the name of its run, if any, before its title."""
    return replace(plot, title=f"{name}: {plot.title[:1].lower()}{plot.title[1:]}") if name else plot


def _page(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> str:
    sections = html_parts("", [_fold(section.part) for section in _sections(manifest, runs)])
    words = {"title": _title(manifest, runs), "lead": _lead(runs), "how": _how(manifest)}
    names, commands = [*manifest.kept, NUMBERS, TEXT, NAME], "\n".join(_commands(manifest.runs))
    shown = {"sections": sections, "commands": commands, "pages": manifest.pages, "names": names}
    return render("published.html", "", **words, **shown)


def _title(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> str:
    return title_of(runs) if runs else "; ".join(page.title for page in manifest.pages)


def _fold(part: Part) -> Part | Folded:
    """Return a section, folded if few readers need it."""
    if not isinstance(part, Table) or not part.title.endswith((TASKS, PROVENANCE, EVIDENCE)):
        return part
    return Folded(part.title, [replace(part, title="")])


def _text(manifest: PublicationManifest, runs: Sequence[RunNumbers]) -> str:
    """Return the page as Markdown, with the files of its figures."""
    title, *lead = map(escape_markdown, [_title(manifest, runs), *_lead(runs)])
    lines = [f"# {title}\n", *(f"{line}\n" for line in lead)]
    shown = ((page, escape_markdown(", ".join(page.sources))) for page in manifest.pages)
    lines += (f"[{escape_markdown(page.title)}]({page.file}): {sources}\n" for page, sources in shown)
    for part, file in _sections(manifest, runs):
        lines.append(f"![{escape_markdown(part.title)}]({file})\n" if not isinstance(part, Table) else markdown([part]))
    if commands := "\n".join(_commands(manifest.runs)):
        how = escape_markdown(_how(manifest))
        lines += ["## To make it again\n", f"{how}\n", f"```console\n{commands}\n```\n"]
    return "\n".join(lines)


def _fold_command(words: Sequence[str]) -> str:
    """Return a command on several lines if needed, with each option next to its value."""
    lines = ["$"]
    for word in words:
        # A character that is not shown, such as the end of a line, would end the command or the block that it is in.
        quoted = shlex.quote(word) if word.isprintable() else "$'" + json.dumps(word)[1:-1].replace("'", "\\'") + "'"
        if word.startswith("--") and len(lines[-1]) + len(quoted) > WIDTH:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return " \\\n    ".join(lines)


def _lead(runs: Sequence[RunNumbers]) -> list[str]:
    found: list[str] = []
    for run, name in zip(runs, names_of(runs), strict=True):
        first, *more = lead_of(run)
        found += [f"{name}: {first}" if name else first, *(line for line in more if line not in found)]
    return found


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
    return Table.of(PROVENANCE, ("", *(run.name for run in runs)), rows, notes)


def _files(manifest: PublicationManifest) -> Table:
    notes = [
        f"The digests of all files stand in {NAME}.",
        "Files in runs are pages as they were when a run was published, in the words and the rounding of that "
        "Trialbed, with the times of that run. This page and its figures are made by today's.",
    ]
    return Table.of(EVIDENCE, ("file", "SHA-256"), list(manifest.kept.items()), notes)


def _how(manifest: PublicationManifest) -> str:
    again = "" if any(run.cannot for run in manifest.runs) else REPLAYED + (UNCHECKED if manifest.pages else "")
    return f"In this folder, where Trialbed is installed.{again} bench run asks the model again; results may differ."


def _commands(runs: Sequence[RunSource]) -> Iterator[str]:
    """Yield the command that reproduces the numbers, if possible, and the commands of the original runs."""
    if runs and not any(run.cannot for run in runs):
        yield "$ bench reproduce ."
    for run in runs:
        if run.cannot:
            yield f"# {run.name} cannot be made again from these files alone: {printable(run.cannot)}"
        yield _fold_command(["bench", "run", "--dataset", run.dataset, "--model", run.model, *run.arguments])
