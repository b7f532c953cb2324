"""Skill libraries: loaded from a folder, or exported from a commit's git objects.

A library is a folder of `<name>/SKILL.md` with YAML front matter (`name`,
`description`) and whatever other files a skill brings along; `triggers.toml` beside
them holds what their users type.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import msgspec

from evalkit import files, process
from evalkit.errors import InputError
from evalkit.records import Library, Record, Skill

SKILL_FILE = "SKILL.md"
TRIGGERS_FILE = "triggers.toml"
FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n?(.*)\Z", re.DOTALL)
DYNAMIC_SHELL = re.compile(r"!`|^```!", re.MULTILINE)
PLAIN_KEYS = frozenset({"name", "description", "license", "metadata", "version"})
GIT = ("git", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null")
GIT_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LANG": "C.UTF-8",
}
CURE_HISTORY = (
    "use a full clone (no tarball, no shallow clone), or leave the arm out with --arms"
)


class LegacySource(Record, frozen=True):
    """The pinned early library: a commit, the path in it, and what it must hold.

    `tree` is git's id of the folder's tree, by which it is exported; `digest` is
    our own over its files.
    """

    commit: str
    path: str
    tree: str
    digest: str


def load_library(folder: Path, *, name: str, source: str | None = None) -> Library:
    """Load every skill of a folder.

    Raises:
        InputError: A skill has no valid front matter, is not UTF-8, or carries a
            name another one has; a file is a link or too large.
    """
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [path for path in inside if path.is_dir()]
    skills = tuple(_load_skill(path) for path in found)
    if not skills:
        raise InputError(
            folder,
            expected=f"folders with a {SKILL_FILE}",
            found="none",
            cure="name the folder that holds the skills",
        )
    names = [skill.name for skill in skills]
    for path, skill in zip(found, skills, strict=True):
        if names.count(skill.name) > 1:
            raise InputError(
                path / SKILL_FILE,
                expected="a name no other skill has",
                found=repr(skill.name),
                cure="rename one of them",
            )
    lines = "".join(f"{skill.name} {skill.digest}\n" for skill in skills)
    digest = files.sha256(lines.encode())
    phrases = folder / TRIGGERS_FILE
    triggers = files.read_regular(phrases) if phrases.exists() else b""
    return Library(name, source or str(folder), skills, digest, triggers)


def export_library(repository: Path, ref: str, path: str, *, name: str) -> Library:
    """Load a library from a commit's (or a tree's) git objects.

    Args:
        repository: A git work tree.
        ref: Commit, branch, tag or tree id.
        path: Folder of the skills inside it; empty for a tree id.
        name: Name of the library.

    Raises:
        InputError: There is no repository here, or it lacks the object.
    """
    treeish = f"{ref}:{path}" if path else f"{ref}^{{tree}}"
    git = [*GIT, "-C", str(repository)]
    # What a user wrote is resolved first, so that it can never be an option.
    named = [*git, "rev-parse", "--verify", "--end-of-options", treeish]
    try:
        tree = process.output(named, timeout_s=30.0, env=GIT_ENV).decode().strip()
        command = [*git, "archive", "--format=tar", tree]
        archive = process.output(command, timeout_s=60.0, env=GIT_ENV)
    except process.CommandError as error:
        raise InputError(
            f"skill library {name!r}",
            expected=f"the git object {treeish}",
            found=str(error),
            cure=CURE_HISTORY,
        ) from error
    with files.private_folder() as folder:
        files.unpack(archive, folder)
        return load_library(folder, name=name, source=treeish)


def load_legacy(root: Path, *, arm: str) -> Library:
    """Export the early library that `cases/_skills/legacy-source.toml` pins.

    Raises:
        InputError: History is missing, or what it holds has another digest; the
            message names the arm.
    """
    where = root / "cases" / "_skills" / "legacy-source.toml"
    pinned = files.convert(files.read_toml(where), LegacySource, where)
    library = export_library(root, pinned.tree, "", name=f"library of arm {arm}")
    if library.digest != pinned.digest:
        raise InputError(
            f"{where} digest",
            expected=pinned.digest,
            found=library.digest,
            cure="restore the file, or pin the commit anew",
        )
    source = f"{pinned.commit}:{pinned.path}"
    return msgspec.structs.replace(library, source=source)


def open_library(root: Path, source: str | None, *, name: str) -> Library:
    """The library an arm or a plan names.

    Args:
        root: Root whose `cases/_skills` is the built-in library.
        source: None or `current` for the built-in one, `legacy` for the pinned
            early one, else a folder, or `folder@ref` in a git repository.
        name: Name of the arm, for messages.
    """
    if source in (None, "current"):
        return load_library(
            root / "cases" / "_skills", name="built-in", source="built-in"
        )
    if source == "legacy":
        return load_legacy(root, arm=name)
    folder, at, ref = str(source).rpartition("@")
    path = Path(folder if at else ref).expanduser().resolve()
    if not path.is_dir():
        raise InputError(
            f"library {source!r}",
            expected="a folder of skills, or folder@ref",
            found="no such folder",
            cure="name an existing folder",
        )
    if not at:
        return load_library(path, name=path.name, source=path.name)
    command = [*GIT, "-C", str(path), "rev-parse", "--show-toplevel", "--show-prefix"]
    said = process.output(command, timeout_s=30.0, env=GIT_ENV).decode()
    top, prefix = said.splitlines()
    return export_library(Path(top), ref, prefix.rstrip("/"), name=path.name)


def check_injectable(skill: Skill, where: object) -> None:
    """Refuse a skill whose body must not be put into a prompt.

    Raises:
        InputError: It has dynamic shell content, or front matter that declares
            tools, models, hooks or anything beyond a description.
    """
    text = skill.files[SKILL_FILE].decode()
    front, _ = split_front_matter(text, where)
    extra = sorted(set(front) - PLAIN_KEYS)
    if extra or DYNAMIC_SHELL.search(skill.body):
        raise InputError(
            f"{where}: skill {skill.name!r}",
            expected="a plain text to inject",
            found=f"front matter {', '.join(extra)}" if extra else "shell content (!`)",
            cure="use it from the home only, or take that out",
        )


def split_front_matter(text: str, where: object) -> tuple[dict[str, object], str]:
    """Front matter and body of a SKILL.md.

    Raises:
        InputError: There is no front matter, or it is no YAML mapping.
    """
    import yaml

    match = FRONT_MATTER.match(text)
    try:
        front = yaml.safe_load(match[1]) if match else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        front = str(error).replace("\n", " ")
    if match is None or not isinstance(front, dict):
        raise InputError(
            where,
            expected="front matter between two lines of ---, a YAML mapping",
            found=front if isinstance(front, str) else "none",
            cure="start the file with name and description",
        )
    return {str(key): value for key, value in front.items()}, match[2]


def _load_skill(folder: Path) -> Skill:
    where = folder / SKILL_FILE
    entries = files.read_tree(folder)
    contents = {entry.path: entry.data for entry in entries}
    try:
        text = contents[SKILL_FILE].decode()
    except KeyError:
        text = ""
    except UnicodeDecodeError as error:
        raise InputError(
            where, expected="UTF-8 text", found=str(error), cure="save it as UTF-8"
        ) from error
    front, body = split_front_matter(text, where)
    name, description = front.get("name"), front.get("description")
    if not isinstance(name, str) or not isinstance(description, str):
        raise InputError(
            where,
            expected="name and description, both texts",
            found=f"name {name!r}, description {description!r}",
            cure="write both into the front matter",
        )
    if PurePosixPath(name).name != name or name.startswith("."):
        raise InputError(
            where, expected="a plain name", found=repr(name), cure="use letters and -"
        )
    digest = files.digest_entries(entries)
    return Skill(name, description, body.strip() + "\n", contents, digest)
