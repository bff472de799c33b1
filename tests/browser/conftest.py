"""One JupyterLab and one browser for all browser tests; a fresh page and fresh kernels for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .lab import JupyterLab, KernelSpec
from .notebook_page import NotebookPage, write_notebook

ROOT = Path(__file__).parents[2]
OTHER_KERNELS = ROOT / ".venvs"
CHROMIUM_FLAGS = [
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

LEFT_OUT = pytest.StashKey[int]()
HOW_TO_GET_ONE = "apt-get install chromium, or name one in KBEVAL_CHROMIUM; CI runs them"

OpenNotebook = Callable[..., NotebookPage]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Everything below this folder drives the browser; a user's machine without one runs the rest, and says so."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker("browser")
    if ours and not os.environ.get("CI") and not has_browser():
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]
        config.stash[LEFT_OUT] = len(ours)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The one line about what was left out."""
    if LEFT_OUT in config.stash:
        terminalreporter.write_line(f"no Chromium here: {config.stash[LEFT_OUT]} browser tests are left out; {HOW_TO_GET_ONE}")


def other_kernels() -> list[KernelSpec]:
    """The further ipykernel versions that the set-up laid down, as ``ipykernel-VERSION``."""
    return [KernelSpec(path.name, path) for path in sorted(OTHER_KERNELS.glob("ipykernel-*"))]


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    """A running JupyterLab."""
    server = JupyterLab(tmp_path_factory.mktemp("lab"), [KernelSpec("python3"), *other_kernels()])
    yield server
    server.stop()


def find_browser() -> str | None:
    """Path of a Chromium on this machine; None means the one that Playwright installed for itself."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("KBEVAL_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def has_browser() -> bool:
    """Whether there is a Chromium of the machine's or of Playwright's own."""
    if find_browser():
        return True
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_browser(), args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, lab: JupyterLab) -> Iterator[Page]:
    """A page of its own; kernels are shut down after the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()
    lab.shutdown_kernels()


@pytest.fixture
def open_notebook(page: Page, lab: JupyterLab) -> OpenNotebook:
    """Writes a notebook of the given cells and opens it: ``open_notebook(name, cells, kernel="python3")``."""

    def open_it(name: str, cells: list[str], kernel: str = "python3") -> NotebookPage:
        write_notebook(lab.notebooks / name, cells, kernel)
        notebook = NotebookPage(page, lab, name)
        notebook.open()
        return notebook

    return open_it
