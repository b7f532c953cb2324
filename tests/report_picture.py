"""The picture of a report in the README, from the page of a run.

    python tests/report_picture.py runs/RUN/report.html notebooks/report.png

As much of the page as a window shows when it is opened.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from evalkit import process

SIZE = {"width": 960, "height": 1240}


def main(page: str, out: str) -> None:
    """Make it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=process.find_program("chromium"), args=["--no-sandbox"]
        )
        opened = browser.new_page(viewport=SIZE, device_scale_factor=0.9)
        opened.goto(Path(page).resolve().as_uri())
        opened.screenshot(path=out)
        browser.close()
    Image.open(out).quantize(256).save(out, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
