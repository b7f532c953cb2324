"""From an executed notebook to one page that runs nothing and loads nothing.

Two walls: everything put into the page is built anew from an allowlist, here
and under plain `jupyter nbconvert --template evalkit`; and the page's policy
forbids the browser what a mistake might let through. A finished page is looked
over once more before it is kept.
"""

from __future__ import annotations

import base64
import re
from importlib import resources
from pathlib import Path
from typing import Any

from evalkit import files
from evalkit.errors import EvalkitError
from evalkit.jupyter import HTMLExporter, Preprocessor, markdown2html, nbformat
from evalkit.markup import PROGRESS
from evalkit.sanitise import faults, sanitise

TEMPLATE = "evalkit"
_WIDGET = "application/vnd.jupyter.widget-view+json"
_PICTURES = ("image/png", "image/jpeg")
_STAMP = re.compile(r'<p class="evalkit-stamp">.*?</p>', re.DOTALL)


class UnsafePageError(EvalkitError):
    """A page would run a program or load something; it was not written."""

    exit_code = 1


class Clean(Preprocessor):
    """Leaves of a notebook what a page may hold.

    HTML and Markdown are rendered and sanitised; progress and widgets go, and of
    pictures only PNG and JPEG stay. A stamp goes to the head of the page, where it
    takes its room before anything else and stays in sight.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Clean a copy of a notebook."""
        nb = nbformat.from_dict(nb)
        nb.metadata.pop("widgets", None)
        nb.cells = [cell for cell in nb.cells if cell.cell_type != "raw"]
        for cell in nb.cells:
            cell.pop("attachments", None)
            if cell.cell_type == "markdown":
                cell.metadata["evalkit_html"] = sanitise(markdown2html(cell.source))
            else:
                outputs = [_cleaned(output) for output in cell.outputs]
                cell.outputs = [output for output in outputs if output]
        resources["evalkit_stamp"] = _lift_stamps(nb)
        return nb, resources


def export(notebook: Path, page: Path, *, title: str | None = None) -> Path:
    """Write an executed notebook as one self-contained page, without its code.

    Args:
        notebook: An executed notebook, whole or as far as it came.
        page: The HTML file to write; replaced if it is there.
        title: Of the browser's tab; the notebook's first heading by default.

    Returns:
        `page`.

    Raises:
        UnsafePageError: The page would run or load something; nothing is written.
    """
    nb = nbformat.read(notebook, as_version=4)
    exporter = HTMLExporter(
        template_name=TEMPLATE,
        extra_template_basedirs=[str(_templates())],
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    named = {"metadata": {"name": title or _first_heading(nb) or notebook.stem}}
    body, _ = exporter.from_notebook_node(nb, resources=named)
    found = faults(body)
    if found:
        raise UnsafePageError(
            f"{page}: expected a page that runs and loads nothing, found "
            f"{'; '.join(found[:5])}; nothing was written: mend what makes it"
        )
    files.write_atomic(page, body.encode())
    return page


def _templates() -> Path:
    return Path(str(resources.files("evalkit").joinpath("data", "templates")))


def _cleaned(output: Any) -> Any | None:
    """An output as a page may hold it; None where nothing is left to show.

    Of a widget stays the HTML that says what stands in its place.
    """
    if output.output_type not in {"display_data", "execute_result"}:
        return output
    data = output.data
    if PROGRESS in data or (_WIDGET in data and "text/html" not in data):
        return None
    kept = {kind: data[kind] for kind in _PICTURES if _is_base64(data.get(kind))}
    if "text/html" in data:
        kept = {"text/html": sanitise(data["text/html"])}
    elif "text/markdown" in data:
        kept = {"text/html": sanitise(markdown2html(data["text/markdown"]))}
    elif not kept and "text/plain" in data:
        kept = {"text/plain": data["text/plain"]}
    output.data = nbformat.from_dict(kept)
    output.metadata = nbformat.from_dict({})
    return output if kept else None


def _lift_stamps(nb: Any) -> str:
    """Take the stamps out of the outputs, and give each of them once."""
    found: dict[str, None] = {}
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            shown = output.get("data", {}).get("text/html")
            if shown:
                found.update(dict.fromkeys(_STAMP.findall(shown)))
                output.data["text/html"] = _STAMP.sub("", shown)
    return "".join(found)


def _is_base64(text: Any) -> bool:
    try:
        return bool(base64.b64decode("".join(text.split()), validate=True))
    except (AttributeError, ValueError):
        return False


def _first_heading(nb: Any) -> str | None:
    for cell in nb.cells:
        for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
            if line.startswith("# "):
                return line[2:].strip()
    return None
