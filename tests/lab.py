"""A real JupyterLab with nothing of the operator's, and a browser in front of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import BrowserContext, Page

TOKEN = "0" * 32
START_S = 60


class Lab(NamedTuple):
    """A server: where it listens, and the folder that it shows."""

    url: str
    folder: Path


@contextmanager
def serving(home: Path, folder: Path) -> Generator[Lab]:
    """A server on this machine only; at the end it and its kernels are no more."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    places = {name: str(home / name.lower()) for name in names}
    log = (home / "log").open("wb")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", f"--port={port}", f"--IdentityProvider.token={TOKEN}"),
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.news_url=None",
            f"--LabApp.user_settings_dir={home / 'settings'}",
            f"--LabApp.workspaces_dir={home / 'workspaces'}",
            f"--ServerApp.root_dir={folder}",
        ],
        env={
            **os.environ,
            **places,
            "HOME": str(home),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        },
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _await(url, process)
        yield Lab(url, folder)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    last = time.monotonic() + START_S
    while True:
        assert process.poll() is None
        try:
            with urllib.request.urlopen(f"{url}/api?token={TOKEN}") as answer:
                json.load(answer)
                return
        except OSError:
            assert time.monotonic() < last
            time.sleep(0.1)


class Seen(NamedTuple):
    """A page of Lab, and what it asked of other hosts, said and failed at."""

    page: Page
    asked: list[str]
    faults: list[str]


def opened(context: BrowserContext, lab: Lab, notebook: str) -> Seen:
    """A notebook, opened and run from its first to its last cell."""
    seen = Seen(context.new_page(), [], [])
    page = seen.page

    def note(request) -> None:
        if not request.url.startswith((lab.url, "data:", "blob:")):
            seen.asked.append(request.url)

    context.on("request", note)
    page.on(
        "websocket",
        lambda socket: (
            note(socket)
            if not socket.url.startswith(lab.url.replace("http", "ws"))
            else None
        ),
    )
    page.on("pageerror", lambda error: seen.faults.append(str(error)))
    page.goto(f"{lab.url}/lab/tree/{notebook}?token={TOKEN}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(
        """() => {
        const widget = window.jupyterapp?.shell.currentWidget;
        return widget?.sessionContext?.session?.kernel?.status === 'idle'
    }""",
        timeout=60_000,
    )
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    return seen
