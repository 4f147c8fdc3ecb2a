"""Take the documentation's pictures again, from the pages that its own examples lead to.

    python docs/pictures.py [NAME...]

Each is a part of a page in Chromium, which must be installed, and lies in ``docs/pictures`` as PNG, light and dark.
``docs/pictures/shown.json`` has the headings that can be seen in it: a test finds headings that no page has any more.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
PLUGINS = DOCS.parent / "plugins"
PAGES = (PLUGINS / "trialbed_pages", PLUGINS / "trialbed_verify", DOCS.parent / "core" / "trialbed" / "records")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTH = 1100
BIN = Path(sys.executable).parent

Take = Callable[[str, str, str, int], None]
"""A function that takes a picture, by its name, the page's address, a place to scroll to, and its height."""


def blocks(page: str, language: str) -> list[str]:
    """The examples of a page in a language."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(folder: Path, command: str, *codes: int) -> None:
    """Run a program of this environment."""
    name, *arguments = shlex.split(command)
    done = subprocess.run([str(BIN / name), *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (codes or (0,)):
        sys.exit(f"{command}: {done.stdout}{done.stderr}")


@contextmanager
def started(folder: Path, command: str) -> Iterator[str]:
    """Start a server, and return the first address in what it prints."""
    name, *arguments = shlex.split(command)
    begun = [str(BIN / name), *arguments]
    with subprocess.Popen(begun, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        lines = server.stdout or ()
        try:
            yield next(found[0] for line in lines if (found := re.search(r"http://[\d.]+:\d+", line)))
        finally:
            server.terminate()


def compare(folder: Path, take: Take) -> None:
    """A call that went wrong in the run of "Choose a framework by Friday"."""
    page = "how-to/choose-a-framework"
    (folder / "orders.json").write_text(blocks(page, "json")[0])
    (folder / "desk.py").write_text(blocks(page, "python")[0])
    (command,) = re.findall(r"^\$ (bench run .*scripted:bad-json)$", "\n".join(blocks(page, "console")), re.M)
    run(folder, command)
    with started(folder, "bench view --port 0") as address:
        trial = "trial?framework=langgraph%3Anative&query=1"
        take("trial", f"{address}/runs/latest/{trial}", "h1", 560)


def test(folder: Path, take: Take) -> None:
    """The page of a trial that failed a test, after the line that handles broken arguments was taken out."""
    run(folder, "bench init openai my-agent")
    agent = folder / "my-agent" / "agent.py"
    agent.write_text(agent.read_text().replace("except ValueError", "except KeyError"))
    run(folder / "my-agent", "pytest -q -k bad-json", 1)
    kept = min((folder / "my-agent" / ".pytest_cache").rglob("*.html"))
    take("test", kept.as_uri(), "h2", 540)


def vendors(folder: Path, take: Take) -> None:
    """The comparison of the three vendors of "Verify vendors"."""
    page = "how-to/verify-vendors"
    config, keys = blocks(page, "yaml")[0], blocks(page, "text")[0]
    (folder / "make_samples.py").write_text(blocks(page, "python")[0])
    (folder / ".env").write_text(keys)
    run(folder, "python make_samples.py")
    with ExitStack() as stack:
        for port in ("8101", "8102", "8103"):
            (served,) = re.findall(rf"^\$ (bench serve --port {port} .+) &$", "\n".join(blocks(page, "console")), re.M)
            address = stack.enter_context(started(folder, served.replace(port, "0", 1)))
            config = config.replace(f"http://127.0.0.1:{port}", address)
        (folder / "config.yaml").write_text(config)
        run(folder, "bench verify samples.jsonl --config config.yaml --trials 3")
    with started(folder, "bench view --port 0 data") as address:
        take("vendors", f"{address}/files", "h1", 600)


def plugin(folder: Path, take: Take) -> None:
    """A trial with the verdict and the score of the plugins in one file."""
    judge, scorer = blocks("how-to/write-a-plugin", "python")[:2]
    (folder / "judge.py").write_text(judge)
    (folder / "scorer.py").write_text(scorer)
    run(folder, "bench run --judge ./judge.py:Short --plugin ./scorer.py --limit 2")
    with started(folder, "bench view --port 0") as address:
        take("plugin", f"{address}/runs/latest/trial?framework=reference&query=1", "h2:text('Scores')", 420)


PARTS = {"trial": compare, "test": test, "vendors": vendors, "plugin": plugin}


def stands(text: str) -> bool:
    """Return whether a heading stands in the code of the pages, and is not made of measurements."""
    files = [file for folder in PAGES for file in folder.rglob("*") if file.suffix in (".py", ".html")]
    return bool(text) and any(text in file.read_text(encoding="utf-8") for file in files)


def taker(page: Page, shown: dict[str, list[str]]) -> Take:
    """What takes pictures with a browser, and notes the headings in them."""

    def take(name: str, address: str, top: str, height: int) -> None:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        page.evaluate("document.querySelectorAll('details.trial').forEach(one => { one.open = true })")
        box = page.locator(top).first.bounding_box()
        clip = {"x": 0, "y": max(0, box["y"] - 12 if box else 0), "width": WIDTH, "height": height}
        for scheme, suffix in (("dark", "-dark"), ("light", "")):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            path = str(PICTURES / f"{name}{suffix}.png")
            page.screenshot(path=path, clip=clip, full_page=True)  # type: ignore[arg-type]
        placed = [
            (heading.inner_text().replace("\N{NO-BREAK SPACE}", " "), heading.bounding_box())
            for heading in page.locator("h1, h2, th").all()
        ]
        inside = [
            text for text, place in placed if place and 0 <= place["y"] - clip["y"] <= height - 20 and stands(text)
        ]
        shown[name] = inside
        sys.stdout.write(f"{name}: {', '.join(inside)}\n")

    return take


def main(names: list[str]) -> None:
    """Take the pictures of some parts, or of all."""
    PICTURES.mkdir(exist_ok=True)
    kept = PICTURES / "shown.json"
    shown = json.loads(kept.read_text()) if kept.exists() else {}
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        sys.exit("no Chromium is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800}, reduced_motion="reduce")
        page.set_default_timeout(0)
        for name in names or PARTS:
            with TemporaryDirectory() as folder:
                PARTS[name](Path(folder), taker(page, shown))
        browser.close()
    kept.write_text(json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
