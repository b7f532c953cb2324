"""The picture of the explorer in the README, from a run of this root.

    python tests/explorer_picture.py RUN CASE ARM notebooks/transcripts.png

Opens the notebook in JupyterLab, chooses the trial, and shows its checks beside it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import lab
from playwright.sync_api import sync_playwright

from evalkit import process

ROOT = Path(__file__).parent.parent
SIZE = {"width": 1150, "height": 1150}


def main(run: str, case: str, arm: str, out: str) -> None:
    """Make it."""
    with (
        tempfile.TemporaryDirectory() as home,
        lab.serving(Path(home), ROOT) as served,
        sync_playwright() as playwright,
    ):
        chromium = process.find_program("chromium")
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        context = browser.new_context(viewport=SIZE)
        page = lab.opened(context, served, "notebooks/transcripts.ipynb").page
        hide = "window.jupyterapp.commands.execute('application:toggle-left-area')"
        page.evaluate(hide)
        explorer = page.locator(".explorer")
        for name, value in (("run", run), ("case", case), ("arm", arm)):
            explorer.locator(f"[name={name}]").select_option(value)
            explorer.locator(".standing", has_text=value * (name != "run")).wait_for()
        explorer.locator(".row.item").first.wait_for()
        page.locator(".explorer .panes > .scroll").focus()
        page.keyboard.press("c")
        explorer.locator("tr.chosen").wait_for()
        explorer.locator(".strip canvas").wait_for()
        explorer.screenshot(path=out)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
