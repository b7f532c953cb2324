"""Executing and exporting: what fails is kept, and a page runs and loads nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import pytest
import synthetic
from conftest import REPOSITORY
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from evalkit import executing, process, publish, registration, saving
from evalkit import export as exporting
from evalkit.conclusions import Analysis
from evalkit.errors import InputError, NotebookError
from evalkit.export import UnsafePageError, export
from evalkit.jupyter import papermill_io
from evalkit.sanitise import faults, sanitise

PAYLOADS = [
    "<script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "<svg/onload=\"document.title='ran'\">",
    '<iframe srcdoc="<script>1</script>"></iframe>',
    '<a href="javascript:alert(1)">read</a>',
    '<link rel="stylesheet" href="http://example.invalid/x.css">',
    '<style>@import "http://example.invalid/x.css";</style>',
    '<p style="background:url(http://example.invalid/x)">text</p>',
    '<svg><use href="http://example.invalid/x.svg#a"/></svg>',
    '<meta http-equiv="refresh" content="0;url=http://example.invalid">',
    "<math><mtext><style><img src=x onerror=alert(1)>",
    "</main></body><form action='http://example.invalid'><button>",
    "<svg><title><img src=x onerror=alert(1)></title></svg>",
    "<template><script>alert(1)</script></template>",
    "<!--><script>alert(1)</script>-->",
]


def notebook(folder: Path, *cells) -> Path:
    nb = new_notebook(cells=list(cells))
    nb.metadata = {
        "kernelspec": {"name": "python3", "display_name": "x", "language": "python"}
    }
    path = folder / "made.ipynb"
    nbformat.write(nb, path)
    return path


def shown(kind: str, data: object):
    return new_code_cell("", outputs=[new_output("display_data", {kind: data})])


def execute(folder: Path, *sources: str) -> Path:
    parameters = new_code_cell("x: int = 1  # a", metadata={"tags": ["parameters"]})
    source = notebook(folder, parameters, *map(new_code_cell, sources))
    return executing._execute(source, folder / "done.ipynb", {"x": 2}, folder)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_sanitised_payload_runs_and_loads_nothing(payload):
    assert faults(payload)
    assert faults(sanitise(payload)) == []


@pytest.mark.parametrize(
    "opened",
    ["<style>", "<!--", "<script>", "<textarea>", "<title>", "<![CDATA[", "<?", "<xmp>",
     "<plaintext>", "<iframe>", "<noscript>", "<select>", "<svg><desc>"],
)  # fmt: skip
def test_text_behind_something_unclosed_is_still_there(opened):
    assert "hours of work" in sanitise(f"{opened}hours of work")
    assert "hours of work" in sanitise(f"<p>a</p>{opened}hours of work</p>")


def test_a_style_sheet_is_left_out_and_what_stands_around_it_is_not():
    assert sanitise("a<STYLE>b{}</style >c<style>d") == "ac&lt;style&gt;d"
    assert sanitise("a<!-- b -->c<!-- d") == "ac&lt;!-- d"


def test_nothing_unclosed_reaches_beyond_its_output():
    assert sanitise("<div><table><tr><td>1") == (
        "<div><table><tr><td>1</td></tr></table></div>"
    )
    assert sanitise("</div></main>text") == "text"


PAGES = "transcripts/alpha.full.r1/index.html"
ELSEWHERE = [
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "JaVaScRiPt:alert(1)//transcripts/a.b.r1/index.html",
    "data:text/html,transcripts/a.b.r1/index.html",
    "http://example.invalid/transcripts/a.b.r1/index.html",
    "//example.invalid/transcripts/a.b.r1/index.html",
    "/transcripts/a.b.r1/index.html",
    "\\\\example.invalid\\transcripts/a.b.r1/index.html",
    "../transcripts/a.b.r1/index.html",
    "transcripts/../index.html",
    "transcripts/..%2fa.b.r1/index.html",
    "transcripts/%2e%2e/index.html",
    "transcripts/&#46;&#46;/index.html",
    "transcripts/a..b.r1/index.html",
    "transcripts/.a.b/index.html",
    "transcripts/a.b.r1/../../x/index.html",
    "transcripts//example.invalid/index.html",
    "transcripts/a.b.r1/index.html?q=1",
    "transcripts/a.b.r1/index.html#x",
    "transcripts/a.b.r1/index.html\n",
    " transcripts/a.b.r1/index.html",
    "transcripts/a\t.b.r1/index.html",
    "transcripts/\u0430.b.r1/index.html",
    "transcripts/a.b.r1/page-1.html",
    "./transcripts/a.b.r1/index.html",
    "",
]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_a_link_leads_nowhere_but_to_the_pages_of_a_trial(address):
    link = f'<a href="{address}">read</a>'
    assert faults(link)
    assert sanitise(link) == "<a>read</a>"


def test_a_link_to_the_pages_of_a_trial_is_one_that_is_clicked():
    link = f'<a href="{PAGES}">read</a>'
    assert sanitise(link) == link
    assert faults(link) == []
    for loading in (
        f'<img src="{PAGES}">',
        f'<svg><use href="{PAGES}"></use></svg>',
        f'<svg><use xlink:href="{PAGES}"></use></svg>',
        f'<link rel="stylesheet" href="{PAGES}">',
        f'<area href="{PAGES}" ping="{PAGES}">',
        f'<p style="background: url({PAGES})">',
    ):
        assert faults(loading)
        assert faults(sanitise(loading)) == []


def test_what_is_allowed_passes_unchanged():
    kept = (
        '<p class="a">1 &lt; 2</p><svg viewBox="0 0 1 1"><path d="M0 0"></path></svg>'
    )
    assert sanitise(kept) == kept


@pytest.mark.parametrize("payload", PAYLOADS)
def test_an_exported_page_is_safe_whatever_a_notebook_holds(tmp_path, payload):
    source = notebook(
        tmp_path,
        new_markdown_cell(f"# Title\n\n{payload}"),
        shown("text/html", payload),
        shown("text/markdown", payload),
        shown("text/plain", payload),
        shown("text/latex", payload),
        shown("image/svg+xml", payload),
        shown("application/javascript", payload),
        new_code_cell("", outputs=[new_output("stream", name="stdout", text=payload)]),
        new_markdown_cell("the end"),
    )
    page = export(source, tmp_path / "page.html").read_text()
    assert faults(page) == []
    assert "the end" in page


def test_a_page_has_its_policy_before_anything_else(tmp_path):
    page = export(notebook(tmp_path, new_markdown_cell("# T")), tmp_path / "p.html")
    head = re.search(r"<head>\s*<meta ([^>]*)>", page.read_text())
    assert head
    assert "Content-Security-Policy" in head[1]
    assert "default-src 'none'" in head[1]


def test_code_progress_and_widgets_are_left_out(tmp_path):
    source = notebook(
        tmp_path,
        new_code_cell("secret_name = 1"),
        shown("application/x-evalkit-progress+json", {"n_done": 1}),
        shown("application/vnd.jupyter.widget-view+json", {"model_id": "m"}),
    )
    nb = nbformat.read(source, 4)
    nb.metadata["widgets"] = {
        "application/vnd.jupyter.widget-state+json": {"state": {}}
    }
    nbformat.write(nb, source)
    page = export(source, tmp_path / "page.html").read_text()
    for word in ("secret_name", "n_done", "model_id", "widget-state"):
        assert word not in page


def test_the_title_is_the_first_heading(tmp_path):
    page = export(notebook(tmp_path, new_markdown_cell("# A < B")), tmp_path / "p.html")
    assert "<title>A &lt; B</title>" in page.read_text()


def test_a_page_that_would_load_something_is_not_written(tmp_path, monkeypatch):
    """Where the first wall is taken away, the last look refuses the page."""
    monkeypatch.setattr(exporting, "sanitise", lambda source: source)
    source = notebook(tmp_path, shown("text/html", PAYLOADS[0]))
    with pytest.raises(UnsafePageError, match="script"):
        export(source, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_plain_nbconvert_with_the_template_is_as_safe(tmp_path):
    source = notebook(tmp_path, *(shown("text/html", text) for text in PAYLOADS))
    command = ["-m", "jupyter", "nbconvert", "--to", "html", "--template", "evalkit"]
    templates = REPOSITORY / "evalkit" / "data" / "templates"
    extra = f"--TemplateExporter.extra_template_basedirs={templates}"
    subprocess.run(
        [sys.executable, *command, "--no-input", extra, str(source)],
        check=True,
        capture_output=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert faults(source.with_suffix(".html").read_text()) == []


def test_a_notebook_runs_in_the_kernel_of_this_interpreter(tmp_path, monkeypatch):
    """A kernel of the same name that stands elsewhere is not taken."""
    fake = tmp_path / "data" / "kernels" / "python3"
    fake.mkdir(parents=True)
    spec = {"argv": ["false"], "display_name": "other", "language": "python"}
    (fake / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    done = execute(tmp_path, "import sys; print(sys.executable, x)")
    assert f"{sys.executable} 2" in nbformat.read(done, 4).cells[-1].outputs[0].text


def test_a_kernel_opens_no_port(tmp_path):
    source = (
        "import json\nfrom ipykernel.connect import get_connection_info\n"
        "print(json.loads(get_connection_info())['transport'])"
    )
    done = nbformat.read(execute(tmp_path, source), 4)
    assert done.cells[-1].outputs[0].text == "ipc\n"


def test_a_failed_cell_is_named_and_the_notebook_kept(tmp_path):
    with pytest.raises(NotebookError, match=r"cell 4 .*ValueError: no such") as raised:
        execute(tmp_path, "print('before')", "raise ValueError('no such')", "1")
    assert str(tmp_path / "done.ipynb") in str(raised.value)
    assert "before" in (tmp_path / "done.ipynb").read_text()


def test_a_failed_cell_ends_with_the_code_of_what_it_raised(tmp_path):
    source = "from evalkit.errors import DriftError\nraise DriftError('moved')"
    with pytest.raises(NotebookError) as raised:
        execute(tmp_path, source)
    assert raised.value.exit_code == 3


def test_a_dead_kernel_leaves_a_notebook_that_says_so(tmp_path):
    with pytest.raises(NotebookError, match="the kernel died in cell 4"):
        execute(tmp_path, "print('before')", "import os; os._exit(3)", "print('after')")
    nb = nbformat.read(tmp_path / "done.ipynb", 4)
    assert "kernel died in cell 4" in nb.cells[0].source
    assert "before" in nb.cells[3].outputs[0].text
    page = export(tmp_path / "done.ipynb", tmp_path / "done.html").read_text()
    assert "kernel died" in page


def test_what_has_ended_is_on_disk_while_a_silent_cell_is_at_work(tmp_path):
    """So a kill takes little, of whatever comes next."""
    waiting = (
        "import pathlib, time\n"
        "until = time.monotonic() + 30\n"
        "while time.monotonic() < until:\n"
        "    told = pathlib.Path('done.ipynb').read_text()\n"
        "    if f'6 times 7 is {6 * 7}' in told and told.endswith('}'):\n"
        "        break\n"
        "    time.sleep(0.05)\n"
        "else:\n"
        "    raise TimeoutError(told)"
    )
    done = execute(tmp_path, "print(f'6 times 7 is {6 * 7}')", waiting)
    assert nbformat.read(done, 4).metadata.papermill.exception is None


def test_a_disk_that_takes_no_more_leaves_the_notebook_whole_as_it_was(tmp_path):
    output = tmp_path / "done.ipynb"
    with pytest.raises(FileNotFoundError):
        executing._execute(tmp_path / "none.ipynb", output, {}, tmp_path)
    papermill_io.write("whole", str(output))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            papermill_io.write("x" * 60_000, str(output))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["done.ipynb"]
    assert output.read_text() == "whole"


def test_a_notebook_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="nowhere"):
        executing.source_of("nowhere")


# --- the report --------------------------------------------------------------

HOSTILE = "<img src=x onerror=alert(1)>"


def scored(key):
    better = key.arm != "baseline" or key.repeat == 1
    names = ("core", "edge", "docs") if better else ("edge",)
    made = synthetic.step(
        *names,
        tokens=3000 if key.arm == "full" else 1000 + key.repeat,
        wall_s=10.0 + key.repeat,
        picked="skill-a" if key.arm == "auto" else None,
    )
    return synthetic.result(key, made, simulated=True)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tmp_path_factory.mktemp("report")
    (root / "runs").mkdir()
    sealed = synthetic.register(cases=("alpha", HOSTILE), simulated=True)
    run = registration.write_registration(root, sealed)
    synthetic.run(run, sealed, scored)
    return publish.publish_report(run)


def test_a_report_stands_alone_and_is_safe(published):
    page = published.read_text()
    assert faults(page) == []
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert str(published.parent) not in page


def test_a_report_tells_its_story_in_headings(published):
    heads = re.findall(r"<h[12][^>]*>(.*?)<", published.read_text())
    assert heads == [
        "What changed, and at what price",
        "The answer",
        "Can it be trusted?",
        "Who took part?",
        "What was expected?",
        "Main result",
        "Case by case",
        "Again and again",
        "Which checks made the difference?",
        "Price",
        "Time",
        "Routing and treatment",
        "How fragile is it?",
        "Sealed facts and limits",
    ]


def test_a_simulated_run_says_so_and_claims_nothing(published):
    page = published.read_text()
    assert "SIMULATED" in page
    assert "synthetic-only" in page


def test_every_figure_of_a_report_has_words(published):
    page = published.read_text()
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    assert len(figures) == 12
    for figure in figures:
        assert re.search(r"<title id=\"[^\"]+\">[^<]+</title>", figure)
        assert re.search(r"<desc id=\"[^\"]+\">[^<]+</desc>", figure)
        assert "<figcaption>" in figure


def test_ids_of_a_page_are_unique(published):
    ids = re.findall(r"<[a-zA-Z][^>]*\sid=\"([^\"]+)\"", published.read_text())
    assert sorted(set(ids)) == sorted(ids)


def test_analysis_json_is_the_analysis(published):
    import msgspec

    data = (published.parent / "analysis.json").read_bytes()
    found = msgspec.json.decode(data, type=Analysis)
    assert (found.simulated, found.status) == (True, "synthetic-only")
    assert found.run == published.parent.name


def test_a_run_that_has_not_begun_has_a_report(tmp_path):
    (tmp_path / "runs").mkdir()
    sealed = synthetic.register(simulated=False)
    run = registration.write_registration(tmp_path, sealed)
    page = publish.publish_report(run).read_text()
    assert "There is nothing to draw" in page
    assert '<p class="evalkit-stamp">' not in page


@pytest.mark.needs_browser
def test_a_browser_runs_and_loads_nothing_of_a_page(tmp_path):
    """The policy holds where sanitising is taken away."""
    cells = [shown("text/html", text) for text in PAYLOADS[:3]]
    page = export(notebook(tmp_path, *cells), tmp_path / "page.html")
    raw = page.read_text().replace("</main>", "".join(PAYLOADS[:3]) + "</main>")
    page.write_text(raw)
    flags = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--dump-dom",
    )  # fmt: skip
    program = process.find_program("chromium")
    assert program
    data = f"--user-data-dir={tmp_path / 'browser'}"
    done = subprocess.run(
        [program, *flags, data, page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "<title>ran</title>" not in done.stdout
    assert "onerror" in done.stdout


def test_a_loop_that_goes_on_writes_nothing_beside_the_end(tmp_path):
    """As where a caller's thread has a loop of its own, so that saving has another."""
    output = tmp_path / "n.ipynb"
    saving.save_whole(output)
    nb = new_notebook(cells=[new_markdown_cell("text") for _ in range(50)])
    nb.metadata.papermill = nbformat.from_dict({})
    for cell in nb.cells:
        cell.metadata.papermill = nbformat.from_dict({})
    loop = asyncio.new_event_loop()
    going = threading.Thread(target=loop.run_forever)
    going.start()
    try:
        for _ in range(20):
            saved = saving.Saved(nb, output_path=str(output), progress_bar=False)
            saved.notebook_start()
            for _ in range(5):
                loop.call_soon_threadsafe(saved.write_due)
            saved.notebook_complete()
            kept = output.stat()
            idle = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop)
            idle.result(60)
            assert output.stat() == kept
    finally:
        loop.call_soon_threadsafe(loop.stop)
        going.join()
        loop.close()
