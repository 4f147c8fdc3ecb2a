"""Plugins in one file each, named in an option like ``./judge.py:Mine``.

A file gets metadata like an installed distribution's, in a folder at the front of the search path of this process and
its children. So it is found, loaded, isolated and described like any other plugin. The file is copied when the command
begins, and the copy runs.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed.installed import PLUGINS, load_target, offers
from trialbed.suggestions import close_file, closest, did_you_mean
from trialbed.tracebacks import own_line

VARIABLE = "PYTHONPATH"


def put_first(folder: str) -> None:
    """Look in a folder before all others, also in processes that are started from now on."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    os.environ[VARIABLE] = os.pathsep.join([folder, *_others(folder)])


def put_last(folder: str) -> None:
    """Look in a folder after all others, in this process."""
    if folder not in sys.path:
        sys.path.append(folder)


def take_away(folder: str) -> None:
    """Look no longer in a folder, here and in processes that are started from now on."""
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    others = _others(folder)
    if others:
        os.environ[VARIABLE] = os.pathsep.join(others)
    else:
        os.environ.pop(VARIABLE, None)


def _others(folder: str) -> list[str]:
    return [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part and part != folder]


MARK = "0+file."
"""Begins the version of a file, before the first 16 characters of its SHA-256."""

OBJECT = "object"
"""The kind of a function, or an object that answers, in a file: ``--model`` takes it, and it has no contract."""

FOLDER = "plugin-files"
COPY = "content"
LARGEST = 4 * 2**20
"""Bytes of a file."""

ENDING = ".py"

_UNUSUAL = re.compile(r"[^A-Za-z0-9_]+")


class FileMisfit(UsageError):
    """A file cannot be run, or its plugin departs from its contract."""


@dataclass(frozen=True)
class PluginFile:
    """A file that is a plugin, or has one.

    Attributes:
        text: the user's text.
        kind: of driver, or ``plugins``.
        attribute: the name of the class in it; empty if the module is the plugin.
        rest: the text after it, such as a test set.
    """

    text: str
    kind: str
    path: Path
    content: bytes
    attribute: str = ""
    rest: str = ""

    @property
    def name(self) -> str:
        """The plugin's name, like ``judge.Mine``, or the file's if it has no class."""
        return f"{self._stem}.{self.attribute or 'py'}"

    @property
    def version(self) -> str:
        """A version that changes with the file."""
        return f"{MARK}{hashlib.sha256(self.content).hexdigest()[:16]}"

    @property
    def module(self) -> str:
        """The name for importing it."""
        return f"{'' if self._stem[0].isalpha() else '_'}{self._stem}_{self.version.removeprefix(MARK)}"

    @property
    def target(self) -> str:
        """The target of its entry point."""
        return f"{self.module}:{self.attribute}" if self.attribute else self.module

    @property
    def distribution(self) -> str:
        """The name of its distribution."""
        return f"{self._stem}.py-{self.attribute}" if self.attribute else f"{self._stem}.py"

    @property
    def _stem(self) -> str:
        return _UNUSUAL.sub("_", self.path.stem) or "plugin"


def names_file(kind: str, text: str) -> bool:
    """Return whether a text names a plugin in a file, and not an installed one."""
    return text.endswith(ENDING) if kind == PLUGINS else bool(_split(text)[1])


def check_class(kind: str, text: str) -> None:
    """Refuse a file without the class in it, which would be taken for the name of something installed.

    Raises:
        UsageError: the text is such a file; names its classes.
    """
    # The module of a task file is a dataset.
    if kind in (PLUGINS, "datasets") or not text.endswith(ENDING):
        return
    classes = [node.name for node in _tree(_read(kind, text)).body if isinstance(node, ast.ClassDef)]
    names = " or ".join(f"{text}:{name}" for name in classes)
    raise UsageError(f"{text} is a file: {f'name its class, {names}' if classes else 'it has no class'}")


def use_file(kind: str, text: str) -> PluginFile:
    """Make a plugin in a file known to this process and its children.

    Args:
        kind: of driver, or ``plugins``.
        text: ``FILE.py:NAME``, for a dataset also ``FILE.py:NAME:TEST_SET``; ``FILE.py`` for a plugin.

    Raises:
        UsageError: the file cannot be read, or has no such plugin; names the line.
    """
    file = _read(kind, text)
    _check_name(file)
    taken = {offer.target for offer in offers(kind) if offer.name == file.name} - {file.target}
    if taken:
        raise UsageError(f"{text}: another plugin is called {file.name!r}; rename the file")
    folder = str(_installed_folder(file))
    put_first(folder)
    try:
        _check(file)
    except UsageError:
        take_away(folder)
        raise
    return file


def file_command(text: str) -> str | None:
    """Return ``NAME=COMMAND`` for ``FILE.py:NAME``, a function or an object; None for all else, such as a class.

    Raises:
        UsageError: the file cannot be read.
    """
    if not names_file("frameworks", text):
        return None
    file = _read("frameworks", text)
    for node in _tree(file).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = {getattr(target, "id", None) for target in targets}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if file.attribute in names:
            command = [sys.executable, "-m", "trialbed.live", str(file.path), file.attribute]
            return f"{file.name}={shlex.join(command)}"
    return None


def lacks_parameter(arguments: Sequence[str], name: str) -> bool:
    """Return whether a program that ``file_command`` made is a function without a parameter of this name."""
    if arguments[1:3] != ("-m", "trialbed.live"):
        return False
    file = _read("frameworks", ":".join(arguments[3:]))
    # Of objects, the file does not say what their methods take.
    made = [node for node in _tree(file).body if getattr(node, "name", None) == file.attribute]
    names = {part.arg for node in made for part in ast.walk(node) if isinstance(part, ast.arg)}
    return bool(made) and name not in names


def file_kind(text: str, kinds: Collection[str]) -> str:
    """Return the kind of ``FILE.py:NAME`` by its base class, or ``OBJECT`` for a function or object that answers.

    Args:
        kinds: the possible kinds.

    Raises:
        UsageError: the file cannot be read, cannot be run, or has no such class.
    """
    from trialbed import contracts
    from trialbed.conformity import CONTRACTS

    thing = load_from_file(text)
    bases = thing.__mro__ if isinstance(thing, type) else ()
    kind = next((kind for kind, name in CONTRACTS.items() if getattr(contracts, name) in bases), "")
    if kind in kinds:
        return kind
    if not kind and callable(getattr(thing, "answer", not bases and thing)):
        return OBJECT
    names, file = ", ".join(CONTRACTS[kind] for kind in kinds if kind in CONTRACTS), _read("drivers", text)
    misfit = f"a subclass of none of these contracts of trialbed.contracts: {names}"
    if kind and kind != "frameworks":
        misfit = f"a {CONTRACTS[kind]}, which works only in a package, with an entry point of trialbed.{kind}"
    raise FileMisfit(f"{text} is {misfit}{_line_of(file, file.attribute)}")


def load_from_file(text: str) -> Any:
    """Return what ``FILE.py:NAME`` names, without making a plugin of it.

    Raises:
        UsageError: the file cannot be read, cannot be run, or has no such thing.
    """
    file = _read("drivers", text)
    folder = str(_installed_folder(file))
    put_first(folder)
    try:
        return _load(file)
    except FileMisfit as misfit:
        # A file that cannot be run has more to say than that it lacks the name.
        if isinstance(misfit.__cause__, AttributeError):
            _check_name(file)
        raise
    finally:
        take_away(folder)


def given_files(kinds: tuple[str, ...] = ("datasets", "judges", PLUGINS, "selectors")) -> Mapping[str, str]:
    """Return the plugins of this process that are files, with the first 16 characters of their SHA-256."""
    found = [offer for kind in kinds for offer in offers(kind) if offer.version.startswith(MARK)]
    return {offer.name: offer.version.removeprefix(MARK) for offer in sorted(found, key=lambda offer: offer.name)}


def run_copy(space: dict[str, Any], original: str) -> None:
    """Run the copy of a file in the module that stands for it; called by that module.

    Tracebacks name the file itself, and modules in its folder are found, after all others.

    Args:
        space: of the module.
    """
    copy = Path(space["__file__"]).with_name(COPY)
    put_last(str(Path(original).parent))
    space["__file__"] = original
    # The file decides itself about annotations: it does not inherit this module's own import from __future__.
    code = compile(copy.read_bytes(), original, "exec", dont_inherit=True)
    exec(code, space)  # noqa: S102 - it is the file that the user gave


def _split(text: str) -> tuple[str, str, str]:
    """Return the path, the name and the rest; the name is empty if the text has another form."""
    path, found, more = text.partition(f"{ENDING}:")
    name, colon, rest = more.partition(":")
    return (f"{path}{ENDING}", name, colon + rest) if path and found and name.isidentifier() else (text, "", "")


def _read(kind: str, text: str) -> PluginFile:
    place, name, rest = (text, "", "") if kind == PLUGINS else _split(text)
    path = Path(place).expanduser().absolute()
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{text}: {path} cannot be read: {error.strerror}{close_file(path, ENDING)}") from error
    if len(content) > LARGEST:
        raise UsageError(f"{text}: {path} has more than {LARGEST >> 20} MiB")
    return PluginFile(text, kind, path, content, name, rest)


def _check_name(file: PluginFile) -> None:
    """Check that the file can be compiled, and either mentions the name or imports all names of a module."""
    tree = _tree(file)
    named = rf"\b{re.escape(file.attribute)}\b|import *\*".encode()
    if not file.attribute or re.search(named, file.content):
        return
    names = [node.name for node in tree.body if hasattr(node, "name")]
    close = did_you_mean(closest(file.attribute, names))
    raise UsageError(f"{file.text}: {file.path} has no {file.attribute!r}{close} It has {', '.join(names) or 'none'}.")


def _tree(file: PluginFile) -> ast.Module:
    try:
        return ast.parse(file.content, str(file.path))
    except (SyntaxError, ValueError) as error:
        raise FileMisfit(f"{file.text}: {_in_words(file, error)}") from error


def _in_words(file: PluginFile, error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else error
    return f"{type(error).__name__}: {text}{own_line(file.module, error)}"


def _check(file: PluginFile) -> None:
    """Load the plugin and check its contract; a framework is loaded only by its worker."""
    if file.kind == "frameworks":
        return
    thing = _load(file)
    if problems := _hook_problems(file, thing) if file.kind == PLUGINS else _driver_problems(file, thing):
        raise FileMisfit(f"{file.text} does not fit its contract: {'; '.join(problems)}")


def _load(file: PluginFile) -> Any:
    try:
        return load_target(file.target)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise FileMisfit(f"{file.text} cannot be loaded: {_in_words(file, error)}") from error


def _driver_problems(file: PluginFile, thing: Any) -> list[str]:
    from trialbed.conformity import driver_problems

    found = [problem.removesuffix("; correct the entry point") for problem in driver_problems(file.kind, thing)]
    where = _line_of(file, file.attribute)
    return [problem if "(File " in problem else problem + where for problem in found]


def _hook_problems(file: PluginFile, module: Any) -> list[str]:
    import pluggy

    from trialbed.plugins import empty_manager

    manager = empty_manager()
    try:
        manager.register(module, file.name)
        manager.check_pending()
    except (pluggy.PluginValidationError, ValueError) as error:
        text = " ".join(str(error).replace(repr(module), file.name).split())
        named = next((name for name in vars(module) if repr(name) in text), "")
        return [text + _line_of(file, named)]
    if not manager.get_hookcallers(module):
        hint = "mark its functions with @trialbed.hookimpl; functions with @scorer are for evaluate(scorers=[…])"
        return [f"it has no hook: {hint}{_line_of(file, '')}"]
    return []


def _line_of(file: PluginFile, name: str) -> str:
    """Return the first line of a class or function in the file, in brackets; line 1 if it is not found."""
    named = (node for node in _tree(file).body if getattr(node, "name", None) == name)
    return f' (File "{file.path}", line {next((node.lineno for node in named), 1)})'


def _installed_folder(file: PluginFile) -> Path:
    """Return the folder with the file's metadata and its copy, which is made if it does not exist yet."""
    from trialbed.files import make_private_folder
    from trialbed.settings import state_dir

    key = hashlib.sha256(f"{file.path}\n{file.kind}\n{file.target}\n{file.version}".encode("utf-8", "replace"))
    folder = (state_dir() / FOLDER / key.hexdigest()[:16]).absolute()
    if folder.is_dir():
        return folder
    try:
        make_private_folder(folder.parent)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
        _write(file, made)
        made.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # another process was quicker
            raise UsageError(f"{folder} cannot be written: {error.strerror}; set TRIALBED_STATE_DIR") from error
        shutil.rmtree(made, ignore_errors=True)
    return folder


def _write(file: PluginFile, folder: Path) -> None:
    name = _UNUSUAL.sub("_", file.distribution)
    metadata = folder / f"{name}-{file.version}.dist-info"
    package = folder / file.module
    metadata.mkdir()
    package.mkdir()
    texts = {
        metadata / "METADATA": f"Metadata-Version: 2.1\nName: {file.distribution}\nVersion: {file.version}\n",
        metadata / "entry_points.txt": f"[trialbed.{file.kind}]\n{file.name} = {file.target}\n",
        metadata / "top_level.txt": f"{file.module}\n",
        package / "__init__.py": f"from {__name__} import run_copy\n\nrun_copy(globals(), {str(file.path)!r})\n",
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    (package / COPY).write_bytes(file.content)
