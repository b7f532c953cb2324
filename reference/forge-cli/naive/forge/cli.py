"""The commands."""

import json
import re
from typing import Any

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
USAGE = {
    "add": "add NAME TEXT [--tag TAG]...",
    "get": "get NAME",
    "list": "list [--tag TAG]",
    "remove": "remove NAME",
    "search": "search PHRASE",
    "export": "export",
    "import": "import FILE",
}
N_ARGS = {"add": 2, "get": 1, "list": 0, "remove": 1, "search": 1, "export": 0, "import": 1}


def run(argv: list[str], state: dict[str, Any]) -> tuple[int, str, str]:
    """Carry out one command; see README for all of them.

    Returns:
        The exit code, and what to print on stdout and on stderr.
    """
    if not argv:
        return 2, "", "forge: no command\n"
    command, *args = argv
    if command not in USAGE:
        return 2, "", f"forge: unknown command: {command}\n"
    tags = []
    while "--tag" in args:
        at = args.index("--tag")
        if at + 1 == len(args):
            return 2, "", f"forge: usage: {USAGE[command]}\n"
        tags.append(args[at + 1])
        del args[at : at + 2]
    if len(args) != N_ARGS[command]:
        return 2, "", f"forge: usage: {USAGE[command]}\n"
    if command in ("add", "get", "remove") and not NAME.match(args[0]):
        return 2, "", f"forge: bad name: {args[0]}\n"
    for tag in tags:
        if not NAME.match(tag):
            return 2, "", f"forge: bad tag: {tag}\n"
    if command == "add":
        return add(state, args[0], args[1], tags)
    if command == "get":
        if args[0] not in state:
            return 1, "", f"forge: no such snippet: {args[0]}\n"
        return 0, state[args[0]]["text"] + "\n", ""
    if command == "list":
        return list_snippets(state, tags)
    if command == "remove":
        if args[0] not in state:
            return 1, "", f"forge: no such snippet: {args[0]}\n"
        del state[args[0]]
        return 0, f"removed {args[0]}\n", ""
    if command == "search":
        return search(state, args[0])
    if command == "export":
        snippets = [{"name": name, **state[name]} for name in sorted(state)]
        return 0, json.dumps({"version": 1, "snippets": snippets}) + "\n", ""
    return import_snippets(state, args[0])


def line(name: str, state: dict[str, Any]) -> str:
    return name + "".join(f" #{tag}" for tag in state[name]["tags"]) + "\n"


def add(
    state: dict[str, Any], name: str, text: str, tags: list[str]
) -> tuple[int, str, str]:
    if name in state:
        return 1, "", f"forge: snippet exists: {name}\n"
    state[name] = {"text": text, "tags": sorted(set(tags))}
    return 0, f"added {name}\n", ""


def list_snippets(state: dict[str, Any], tags: list[str]) -> tuple[int, str, str]:
    if not state:
        return 0, "no snippets\n", ""
    found = [n for n in sorted(state) if all(tag in state[n]["tags"] for tag in tags)]
    if not found:
        return 1, "", f"forge: no such tag: {tags[0]}\n"
    return 0, "".join(line(name, state) for name in found), ""


def search(state: dict[str, Any], phrase: str) -> tuple[int, str, str]:
    wanted = phrase.lower()
    found = [
        name
        for name in sorted(state)
        if wanted in name.lower() or wanted in state[name]["text"].lower()
    ]
    if not found:
        return 1, "", f"forge: no match: {phrase}\n"
    return 0, "".join(line(name, state) for name in found), ""


def import_snippets(state: dict[str, Any], file: str) -> tuple[int, str, str]:
    new = merged = 0
    conflicts = []
    try:
        with open(file, encoding="utf-8") as f:
            document = json.load(f)
        if document["version"] != 1:
            raise ValueError("version")
        for snippet in document["snippets"]:
            name, text, tags = snippet["name"], snippet["text"], snippet["tags"]
            if not NAME.match(name):
                raise ValueError("name")
            if name not in state:
                state[name] = {"text": text, "tags": sorted(set(tags))}
                new += 1
            elif state[name]["text"] == text:
                state[name]["tags"] = sorted({*state[name]["tags"], *tags})
                merged += 1
            else:
                conflicts.append(name)
    except Exception:
        return 1, "", f"forge: cannot import: {file}\n"
    return (
        1 if conflicts else 0,
        f"imported: {new} new, {merged} merged, {len(conflicts)} conflicting\n",
        "".join(f"forge: conflict: {name}\n" for name in conflicts),
    )
