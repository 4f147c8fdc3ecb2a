"""Hold the product's size, and the code that three commands enter, to `budget.toml`. `--write` lowers the budget."""

import ast
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BUDGET = Path(__file__).with_name("budget.toml")
# Adapters without their tests. At commit 146e9b1a, all of them together had 59,367 statements.
PACKAGES = {name: name for name in ("core", "server", "tool_selection")} | {"adapters": "adapters/*/src"}
PACKAGES |= {f"plugins/{path.name}": f"plugins/{path.name}" for path in sorted(ROOT.glob("plugins/trialbed_*"))}
# Which of a few functions are called depends on when threads run and answers arrive.
SLACK = {"functions": 4}
CASE = '{"messages": [{"role": "user", "content": "%d"}], "tools": [{"type": "function", "function": {"name": "say"}}]}'
COMMANDS = {
    "run": "from trialbed.cli import main; assert main(['run', '-f', 'reference', '-n', '1']) == 0",
    "evaluate": "import trialbed as t; t.evaluate([lambda query: 'Paris'], [t.Task('Capital?', expect='Paris')])",
    "verify": "from trialbed.cli import main; assert main(['verify', 'cases', '-m', 'm', '--base-url', URL]) == 0",
}


def count_statements(source: str) -> int:
    """Count lines other than blank ones, comments, docstrings, imports, `__all__`, signatures, class lines, fields."""
    lines, other = source.split("\n"), set[int]()
    for node in ast.walk(ast.parse(source)):
        spans: list[Any] = []  # nodes of which no line counts
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assign(targets=[ast.Name("__all__"), *_]):
                spans = [node]
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                other.add(node.lineno)
            case ast.ClassDef():
                other.update(range(min([node.lineno, *(one.lineno for one in node.decorator_list)]), node.lineno + 1))
                spans = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                parts = [*ast.walk(node.args), node.returns]
                last = max(node.lineno, *(getattr(part, "end_lineno", 0) for part in parts))
                while last < node.body[0].lineno - 1 and not lines[last - 1].rstrip().endswith(":"):
                    last += 1
                other.update(range(min([node.lineno, *(one.lineno for one in node.decorator_list)]), last + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            spans += node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        other.update(line for span in spans for line in range(span.lineno, span.end_lineno + 1))
    return sum(line.strip()[:1] not in ("", "#") and number not in other for number, line in enumerate(lines, 1))


def measure() -> dict[str, dict[str, int]]:
    """Return today's statements by package, files and functions by command."""
    files = {name: [file for top in ROOT.glob(path) for file in top.rglob("*.py")] for name, path in PACKAGES.items()}
    sizes = {name: sum(count_statements(file.read_text("utf-8")) for file in files[name]) for name in PACKAGES}
    found = {"statements": sizes | {"total": sum(sizes.values())}, "files": {}, "functions": {}}
    serve = [sys.executable, "-m", "trialbed", "serve", "--port", "0", "--faults", '{"mix": {"none": 1}}']
    with subprocess.Popen(serve, stdout=subprocess.PIPE, env={}) as vendor:
        url = json.loads(vendor.stdout.readline())["url"] if vendor.stdout else ""
        for name, code in COMMANDS.items():
            with tempfile.TemporaryDirectory() as home:
                Path(home, "cases").write_text("\n".join(CASE % number for number in range(8)), "utf-8")
                program = [sys.executable, f"{ROOT}/.ci/entered.py", code.replace("URL", repr(url))]
                own = {"HOME": home, "TMPDIR": home}
                shown = subprocess.run(program, cwd=home, env=own, stdout=subprocess.PIPE, check=True).stdout
                found["files"][name], found["functions"][name] = json.loads(shown.splitlines()[-1])
        vendor.terminate()
    return found


if __name__ == "__main__":
    now, budget = measure(), tomllib.loads(BUDGET.read_text("utf-8"))
    figures = [(kind, name, budget.get(kind, {}).get(name), now[kind][name]) for kind in now for name in now[kind]]
    if "--write" in sys.argv:
        lines = [f'{kind}."{name}" = {count if old is None else min(old, count)}' for kind, name, old, count in figures]
        BUDGET.write_text("\n".join(["# `python .ci/budget.py --write` lowers these figures.", *lines, ""]), "utf-8")
    elif any(count > (old or 0) + SLACK.get(kind, 0) for kind, _, old, count in figures):
        grown = sorted((count - (old or 0), f"{name}: {old} → {count} {kind}") for kind, name, old, count in figures)
        sys.exit("\n".join(["over budget; the largest growths:", *(line for _, line in grown[:-4:-1])]))
