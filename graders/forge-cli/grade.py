"""forge-cli: a snippet CLI does what its specification says, to the letter.

Commands are given to `run` in one child per check, which shares one state. What
they should answer is worked out here, from the specification alone.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import re
import shlex
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from evalkit.grader import (
    Call,
    Checks,
    Inputs,
    Question,
    Returned,
    Subject,
    expect,
    fail,
    parse_json,
    shorten,
)

checks = Checks(
    {
        "add": 1,
        "add-duplicate": 1,
        "missing-argument": 1,
        "bad-name": 1,
        "unicode-name": 1,
        "get": 1,
        "get-unknown": 1,
        "list-sorted": 1,
        "list-empty": 1,
        "tag-filter": 1,
        "tag-unknown": 1,
        "remove": 1,
        "remove-unknown": 1,
        "search-hit": 1,
        "search-miss": 1,
        "search-case": 1,
        "export-shape": 1,
        "export-empty": 1,
        "import-merge": 1,
        "import-conflict": 1,
        "import-malformed": 1,
        "command-unknown": 1,
        "command-missing": 1,
        "junk": 1,
        "no-dependency": 1,
        "tests-and-comments": 1,
    }
)

RUN = "forge.cli:run"
COMMAND = ("python", "-m", "forge")
SHIPPED_MODULES = ("forge/__init__.py", "forge/__main__.py", "forge/storage.py")
SHIPPED_TESTS = ("tests/test_cli.py", "tests/test_main.py", "tests/test_storage.py")
USAGE = {
    "add": "add NAME TEXT [--tag TAG]...",
    "get": "get NAME",
    "list": "list [--tag TAG]",
    "remove": "remove NAME",
    "search": "search PHRASE",
    "export": "export",
    "import": "import FILE",
}
MISFITS = """\
add
add A
add A --tag T
add A B T
add A B --tag
add A B --tag=T
add A B --tags T
add A B --ta T
add A --text B
add A --tag T -- --tag --tag
add -- A
add 'not a name'
get
get KEPT KEPT
get KEPT --tag T
get --raw KEPT
get 'not a name' KEPT
list KEPT
list ''
list --all
list --tag
list --tag T --tag T
list -- --tag T
remove
remove KEPT A
remove --force KEPT
search
search A B
search --text KEPT
search --tag T KEPT
search --
export A
export ''
export --tag T
import
import a.json b.json
import --pretty a.json
"""
"""Command lines that do not fit; words in capitals are drawn."""
BAD_NAMES = (
    *("", " ", ".", "-a", ".a", "_a", "a b", " a", "a ", "a\n", "\na", "a\tb"),
    *("a/b", "a\\b", "a:b", "a#b", "a+b", "a\0", "x" * 65),
)
N_JUNK = 200
TO_DO = re.compile(r"\b(TODO|FIXME)\b|(?i:^#\W*(todo|fixme)\b)")
SNIPPET_KEYS = ("name", "text", "tags")


class Answer(NamedTuple):
    """What `run` returned."""

    code: int
    stdout: str
    stderr: str


class Step(NamedTuple):
    """One command, and what it has to answer; None where that is another check's."""

    argv: Sequence[str]
    answer: Answer | None


class Snippet(NamedTuple):
    """A snippet, its tags in any order."""

    name: str
    text: str
    tags: tuple[str, ...] = ()

    @property
    def given(self) -> Step:
        """The command that stores it."""
        options = [word for tag in self.tags for word in ("--tag", tag)]
        return given("add", self.name, self.text, *options)

    @property
    def line(self) -> str:
        """How it is listed."""
        return " #".join([self.name, *in_order(self.tags)])

    @property
    def exported(self) -> dict[str, Any]:
        """How it is exported."""
        return {"name": self.name, "text": self.text, "tags": in_order(self.tags)}


# --- asking -----------------------------------------------------------------


def given(*argv: str) -> Step:
    """A command that prepares."""
    return Step(argv, None)


def says(lines: str | Sequence[str], *argv: str) -> Step:
    """A command that succeeds and prints a line, or several."""
    printed = [lines] if isinstance(lines, str) else lines
    return Step(argv, Answer(0, "".join(f"{line}\n" for line in printed), ""))


def refuses(code: int, message: str, *argv: str) -> Step:
    """A command that fails with a message."""
    return Step(argv, Answer(code, "", f"forge: {message}\n"))


def play(subject: Subject, *steps: Step, before: Sequence[Question] = ()) -> None:
    """Give the commands to one new state; expect their answers."""
    answers = ask(subject, [step.argv for step in steps], before=before)
    for step, answer in zip(steps, answers, strict=True):
        if step.answer is not None:
            expect_answer(answer, step)


def expect_answer(returned: Returned, step: Step) -> None:
    """Expect that a command returned what it has to answer."""
    answer = answer_of(returned, step.argv)
    expect(answer == step.answer, f"answer to {shorten(step.argv, 120)}", answer)


def ask(
    subject: Subject, argvs: Iterable[Sequence[str]], *, before: Sequence[Question] = ()
) -> tuple[Returned, ...]:
    """Give the commands to one new state, after other calls in the same child."""
    calls = [Call(RUN, list(argv), {"$ref": "state"}) for argv in argvs]
    first = [*before, Call("builtins:dict", save="state")]
    answers = subject.call_many([*first, *calls], timeout_s=30)
    prepared = all(answer.returned for answer in answers[: len(first)])
    expect(prepared, "the files of the check are written")
    return answers[len(first) :]


def answer_of(returned: Returned, argv: Sequence[str]) -> Answer:
    """The three values that a command returned, of their types."""
    if not returned.returned:
        raised = returned.error or f"{returned.mro[:1]} {returned.message}"
        fail(f"{shorten(argv, 120)} did not return", raised)
    match returned.value:
        case [int() as code, str() as stdout, str() as stderr] if type(code) is int:
            return Answer(code, stdout, stderr)
        case other:
            return fail(f"{shorten(argv, 120)} returned no (code, text, text)", other)


def in_order(names: Iterable[str]) -> list[str]:
    """Names or tags in the order of every listing."""
    return sorted(names, key=lambda name: (name.casefold(), name))


def names_of(subject: Subject, n: int) -> list[str]:
    """So many new names, in order."""
    return sorted({subject.random.word() for _ in range(n)})


# --- 1 add, and the rules for arguments -------------------------------------


@checks("add")
def add(subject: Subject) -> None:
    """Snippets of every allowed shape are stored and confirmed."""
    draw = subject.random
    plain, *others = names_of(subject, 6)
    one, two = names_of(subject, 2)
    tagged = Snippet(others[0], "text", (two, one))
    names = ["x" * 64, "7", f"{draw.word()}.{draw.word()}_1-", f"{draw.word()}-._"]
    stored = [Snippet(name, draw.text()) for name in (plain, *names)]
    stored += [Snippet(others[1], f"-{draw.word()}"), Snippet(others[2], "")]
    steps = [says(f"added {s.name}", "add", s.name, s.text) for s in stored]
    around = ("add", "--tag", two, tagged.name, "--tag", one, tagged.text)
    ended = ("add", "--tag", one, "--", others[3], "--tag")
    dashes = Snippet(others[4], "--")
    play(
        subject,
        *steps,
        says(f"added {tagged.name}", *around, "--tag", two),
        says(f"added {others[3]}", *ended),
        says(f"added {dashes.name}", "add", "--", dashes.name, "--"),
        *(says(s.text, "get", s.name) for s in (*stored, tagged, dashes)),
        says("--tag", "get", others[3]),
        says([tagged.line], "list", "--tag", two),
    )


@checks("add-duplicate")
def add_duplicate(subject: Subject) -> None:
    """A name is taken once, in each spelling; what was stored stays."""
    name, tag, other = names_of(subject, 3)
    snippet = Snippet(name, subject.random.text(), (tag,))
    message = f"snippet exists: {name}"
    play(
        subject,
        snippet.given,
        refuses(1, message, "add", name, subject.random.text()),
        refuses(1, message, "add", name, snippet.text, "--tag", other),
        says(snippet.text, "get", name),
        says([snippet.line], "list"),
        says(f"added {name.upper()}", "add", name.upper(), "other"),
        says(snippet.text, "get", name),
        says("other", "get", name.upper()),
    )


@checks("missing-argument")
def missing_argument(subject: Subject) -> None:
    """Arguments that do not fit are answered with the command's line."""
    kept, a, b, tag = names_of(subject, 4)
    drawn = {"KEPT": kept, "A": a, "B": b, "T": tag, "--tag=T": f"--tag={tag}"}
    lines = [shlex.split(line) for line in MISFITS.splitlines()]
    misfits = [[drawn.get(word, word) for word in line] for line in lines]
    play(
        subject,
        given("add", kept, "text"),
        *(refuses(2, f"usage: {USAGE[argv[0]]}", *argv) for argv in misfits),
        says([kept], "list"),
    )


@checks("bad-name")
def bad_name(subject: Subject) -> None:
    """Names and tags that break the rule are refused wherever they stand."""
    kept, new = names_of(subject, 2)
    steps: list[Step] = []
    for bad in (*BAD_NAMES, f"{subject.random.word()} {subject.random.word()}"):
        steps += [
            refuses(2, f"bad name: {bad}", "add", bad, "text"),
            refuses(2, f"bad name: {bad}", "add", bad, "text", "--tag", "-"),
            refuses(2, f"bad name: {bad}", "get", bad),
            refuses(2, f"bad name: {bad}", "remove", bad),
            refuses(2, f"bad tag: {bad}", "add", new, "text", "--tag", bad),
            refuses(2, f"bad tag: {bad}", "add", kept, "", "--tag", "a", "--tag", bad),
            refuses(2, f"bad tag: {bad}", "list", "--tag", bad),
        ]
    follows = [
        refuses(2, "bad tag: --tag", "add", new, "text", "--tag", "--tag"),
    ]
    play(subject, given("add", kept, "text"), *steps, *follows, says([kept], "list"))


@checks("unicode-name")
def unicode_name(subject: Subject) -> None:
    """Letters and digits of all scripts, one name however it was typed."""
    word, other, tag = names_of(subject, 3)
    typed, stored = f"{word}e\u0301", f"{word}\u00e9"
    tag_typed, tag_stored = f"{tag}o\u0308", f"{tag}\u00f6"
    firsts = ("\u00df", "\u65e5\u672c", "\u0416", "\u0663", "\u00bd")
    scripts = [f"{first}{word}" for first in firsts]
    longest = "\u00e9" * 64
    stranger = [f"{word}\U0001f525", f"{word}\u200b", f"{word}\u20ac", f"\u0301{word}"]
    path = write_json(subject, document_of([Snippet(typed, "text", (tag_typed,))]))
    answers = ask(subject, [("add", stored, ""), ("add", typed, "")])
    twice = answer_of(answers[1], ("add", typed, ""))
    expect(twice.code == 1, "code for a name that exists, typed otherwise", twice)
    play(
        subject,
        Snippet(typed, "text", (tag_typed,)).given,
        says("text", "get", stored),
        says("text", "get", typed),
        says([f"{stored} #{tag_stored}"], "list"),
        says([f"{stored} #{tag_stored}"], "list", "--tag", tag_stored),
        given("import", path),
        says([f"{stored} #{tag_stored}"], "list", "--tag", tag_typed),
        given("add", stored.upper(), "another"),
        says("another", "get", typed.upper()),
        *(says(f"added {name}", "add", name, "text") for name in scripts),
        *(says("text", "get", name) for name in scripts),
        says(f"added {longest}", "add", normalize("NFD", longest), ""),
        refuses(2, f"bad name: {longest}x", "add", f"{longest}x", ""),
        *(refuses(2, f"bad name: {name}", "get", name) for name in stranger),
        *(refuses(2, f"bad tag: {name}", "list", "--tag", name) for name in stranger),
        given("add", other, "", "--tag", tag_stored),
        says(f"removed {stored}", "remove", typed),
        says([f"{other} #{tag_stored}"], "list", "--tag", tag_typed),
    )


# --- 2 get ------------------------------------------------------------------


@checks("get")
def get(subject: Subject) -> None:
    """Texts come back as they are, also through JSON and in another process."""
    draw = subject.random
    word = draw.word()
    texts = [draw.text(60), "", " ", "\n", f"  {word}\n\n", f"a\r\nb\t{word}\r"]
    texts += [f"-{word}", "%s {} {0} \\n \\", "\0\x1b[0m"]
    texts += ["e\u0301 \u00e9 \u65e5 \U0001f525 \u2028"]
    stored = [
        Snippet(name, text, (name,))
        for name, text in zip(names_of(subject, len(texts)), texts, strict=True)
    ]
    play(
        subject,
        *(snippet.given for snippet in stored),
        *(says(snippet.text, "get", snippet.name) for snippet in stored),
    )
    last = stored[0]
    state = {"$ref": "state"}
    kept = subject.call_many(
        [
            Call("builtins:dict", save="state"),
            Call(RUN, list(last.given.argv), state),
            Call("json:dumps", state, save="text"),
            Call("json:loads", {"$ref": "text"}, save="read"),
            Call(RUN, ["get", last.name], {"$ref": "read"}),
        ]
    )[-1]
    expect_answer(kept, says(last.text, "get", last.name))
    env = {"FORGE_FILE": f"{draw.word()}.json"}
    subject.run(*COMMAND, *last.given.argv, env=env)
    done = subject.run(*COMMAND, "get", last.name, env=env)
    told = (done.exit, done.stdout, done.stderr)
    expect(told == (0, f"{last.text}\n", ""), "answer in another process", told)


@checks("get-unknown")
def get_unknown(subject: Subject) -> None:
    """A name that was never given to this state is not found."""
    name, unknown = names_of(subject, 2)
    near = [unknown, name[:-1], f"{name}x", name.upper()]
    play(
        subject,
        given("add", name, unknown, "--tag", unknown),
        *(refuses(1, f"no such snippet: {text}", "get", text) for text in near),
    )
    other = {"$ref": "other"}
    answers = subject.call_many(
        [
            Call("builtins:dict", save="state"),
            Call("builtins:dict", save="other"),
            Call(RUN, ["add", name, "text"], {"$ref": "state"}),
            Call(RUN, ["get", name], other),
        ]
    )
    expect_answer(answers[-1], refuses(1, f"no such snippet: {name}", "get", name))


# --- 3 and 4 list -----------------------------------------------------------


@checks("list-sorted")
def list_sorted(subject: Subject) -> None:
    """Snippets and tags are in order without regard to case."""
    draw = subject.random
    pair, *words = names_of(subject, 9)
    names = [pair, pair.upper(), pair.title(), "mast", "MASS", "\u00c9a", "\u00e9b"]
    names += ["Ma\u00df-1"]
    names += [draw.choice([word, word.upper(), word.title()]) for word in words]
    names += [f"{draw.randrange(10**4)}", f"A_{pair}", f"a-{pair}", f"a.{pair}"]
    draw.shuffle(names)
    stored: list[Snippet] = []
    for n, name in enumerate(names):
        tags = draw.sample(names, k=(0, 5, 1)[n % 3])
        stored.append(Snippet(name, draw.text(), tuple(tags)))
    lines = {snippet.name: snippet.line for snippet in stored}
    play(
        subject,
        *(snippet.given for snippet in stored),
        says([lines[name] for name in in_order(lines)], "list"),
    )


@checks("list-empty")
def list_empty(subject: Subject) -> None:
    """Without snippets that is what is said, and nothing is made up by asking."""
    play(subject, says("no snippets", "list"), says("no snippets", "list"))


@checks("tag-filter")
def tag_filter(subject: Subject) -> None:
    """The snippets that have this very tag, and no others."""
    a, b, c, d, e = names_of(subject, 5)
    tag, also = subject.random.word(), subject.random.word()
    stored = [
        Snippet(d, tag, (tag, also)),
        Snippet(b, also, (also, f"{tag}s", f"x{tag}", tag.upper())),
        Snippet(a, also, (tag,)),
        Snippet(tag, tag),
        Snippet(c, "text", (also, tag, f"{tag}-2")),
        Snippet(e, "text", (tag[:-1],)),
    ]
    play(
        subject,
        *(snippet.given for snippet in stored),
        says([stored[n].line for n in (2, 4, 0)], "list", "--tag", tag),
        says([stored[1].line], "list", "--tag", tag.upper()),
        says([stored[1].line], "list", "--tag", f"{tag}s"),
    )


@checks("tag-unknown")
def tag_unknown(subject: Subject) -> None:
    """A tag that no snippet has is an error."""
    name, tag, unknown = names_of(subject, 3)
    near = [unknown, tag[:-1], f"{tag}x", tag.upper(), name]
    refusals = [refuses(1, f"no such tag: {t}", "list", "--tag", t) for t in near]
    added = given("add", name, unknown, "--tag", tag)
    play(subject, refusals[0], added, *refusals)


# --- 5 remove ---------------------------------------------------------------


@checks("remove")
def remove(subject: Subject) -> None:
    """What is removed is gone from everywhere, and its name is free again."""
    gone, kept, tag, only = names_of(subject, 4)
    snippet = Snippet(gone, subject.random.text(), (tag, only))
    other = Snippet(kept, subject.random.text(), (tag,))
    play(
        subject,
        snippet.given,
        other.given,
        says(f"removed {gone}", "remove", gone),
        refuses(1, f"no such snippet: {gone}", "get", gone),
        says([other.line], "list"),
        says([other.line], "list", "--tag", tag),
        refuses(1, f"no such tag: {only}", "list", "--tag", only),
        refuses(1, f"no match: {snippet.text}", "search", snippet.text),
        says(other.text, "get", kept),
        says(f"added {gone}", "add", gone, "again"),
        says("again", "get", gone),
        says([other.line], "list", "--tag", tag),
    )


@checks("remove-unknown")
def remove_unknown(subject: Subject) -> None:
    """What is not there cannot be removed, and nothing else is."""
    name, unknown, gone = names_of(subject, 3)
    near = [unknown, name[:-1], f"{name}x", name.upper(), gone]
    play(
        subject,
        refuses(1, f"no such snippet: {unknown}", "remove", unknown),
        given("add", name, "text", "--tag", unknown),
        given("add", gone, "text"),
        given("remove", gone),
        *(refuses(1, f"no such snippet: {text}", "remove", text) for text in near),
        says("text", "get", name),
    )


# --- 6 search ---------------------------------------------------------------


@checks("search-hit")
def search_hit(subject: Subject) -> None:
    """Names and texts that contain the phrase as it is, listed in order."""
    draw = subject.random
    a, b, c, d, e = names_of(subject, 5)
    word, other = draw.word(6), draw.word(6)
    phrase = f"{word}  {other}"
    stored = [
        Snippet(d, f"first\nx{phrase}x last", (b, a)),
        Snippet(b, f"{phrase}"),
        Snippet(f"{c}{word}", "text", (d,)),
        Snippet(a, f"{other} {word} {other}", ()),
        Snippet(e, f"100% of [{word}].*? (a+b)"),
    ]
    play(
        subject,
        *(snippet.given for snippet in stored),
        says([stored[n].line for n in (1, 0)], "search", phrase),
        *(says([s.line for s in sorted(stored)], "search", p) for p in (word, "")),
        says([stored[2].line], "search", f"{c}{word}"),
        says([stored[2].line], "search", c[1:]),
        says([stored[4].line], "search", "].*? ("),
        says([stored[4].line], "search", "100% "),
        says([stored[0].line], "search", f"\nx{word}"),
        says([stored[3].line], "search", f" {word} "),
    )


@checks("search-miss")
def search_miss(subject: Subject) -> None:
    """A phrase that no name and no text contains; tags do not count."""
    a, b, tag = names_of(subject, 3)
    misses = [
        *(tag, tag.upper(), f"{a} {b}", f"{b} {a}", f" {a}", f"{a[:2]}.*", f"{a[:2]}*"),
        *("%", "\n", f"{a}\n", f"{a}{b}", "#", subject.random.text()),
    ]
    play(
        subject,
        refuses(1, f"no match: {a}", "search", a),
        given("add", a, f"x{b}x", "--tag", tag),
        *(refuses(1, f"no match: {text}", "search", text) for text in misses),
    )


@checks("search-case")
def search_case(subject: Subject) -> None:
    """Neither case matters nor how an accent was typed, in names and in texts."""
    draw = subject.random
    names = names_of(subject, 6)
    *words, last = [draw.word() for _ in range(6)]
    stored = [
        Snippet(names[0], f"x {words[0].upper()} x"),
        Snippet(names[1].upper(), "text"),
        Snippet(names[2], f"{words[2]}stra\u00dfe"),
        Snippet(f"{words[3]}gro\u00df", "text"),
        Snippet(names[4], f"{words[4]} caf\u00c9"),
        Snippet(names[5], f"{last} a\u030angstro\u0308m"),
    ]
    hits = [
        *((0, words[0]), (0, words[0].title()), (1, names[1]), (1, names[1].title())),
        *((2, f"{words[2]}STRASSE"), (2, f"{words[2].upper()}Stra\u00dfe")),
        *((3, f"{words[3]}GROSS"), (3, f"{words[3].upper()}gro\u00df")),
        *((4, f"{words[4]} Cafe\u0301"), (4, f"{words[4].upper()} CAF\u00e9")),
        *((5, f"{last} \u00c5ngstr\u00f6m"), (5, f"{last} \u00e5NGSTRO\u0308M")),
    ]
    play(
        subject,
        *(snippet.given for snippet in stored),
        *(says([stored[n].line], "search", phrase) for n, phrase in hits),
    )


# --- 7 export ---------------------------------------------------------------


def document_of(snippets: Iterable[Snippet], **more: Any) -> dict[str, Any]:
    """An export of these snippets, as they come."""
    return {"version": 1, "snippets": [s.exported for s in snippets], **more}


def expect_export(returned: Returned, snippets: Sequence[Snippet]) -> None:
    """Expect an export of exactly these snippets."""
    code, stdout, stderr = answer_of(returned, ["export"])
    expect((code, stderr) == (0, ""), "code and stderr of an export", (code, stderr))
    expect(stdout.endswith("\n"), "the export ends its line", stdout[-20:])
    document = parse_json(stdout, "the export")
    wanted = document_of(snippets)
    expect(document == wanted, f"export of {shorten(wanted)}", document)
    version = document["version"]
    expect(type(version) is int, "version of an export", version)


@checks("export-shape")
def export_shape(subject: Subject) -> None:
    """All snippets in one document, in order, with exactly its keys."""
    draw = subject.random
    texts = ["", f'"{draw.word()}" \\ \n\t\x01', "e\u0301\u65e5\U0001f525"]
    texts += [draw.text(40)]
    words = names_of(subject, 4)
    names = [words[0].upper(), words[1], words[2].title(), f"\u00e9{words[3]}"]
    stored = [
        Snippet(name, text, tuple(draw.sample(names, k=n)))
        for n, (name, text) in enumerate(zip(names, texts, strict=True))
    ]
    shuffled = draw.sample(stored, k=4)
    argvs = [snippet.given.argv for snippet in shuffled]
    returned = ask(subject, [*argvs, ["export"], ["export"]])
    expect_export(returned[-2], stored)
    expect_export(returned[-1], stored)


@checks("export-empty")
def export_empty(subject: Subject) -> None:
    """Without snippets the document has none."""
    expect_export(ask(subject, [["export"]])[0], [])


# --- 8 and 10 import --------------------------------------------------------


def imported(new: int, merged: int, *argv: str) -> Step:
    """An import without conflicts."""
    return says(f"imported: {new} new, {merged} merged, 0 conflicting", *argv)


def write_json(subject: Subject, document: Any) -> str:
    """Write a document; returns the path, with a folder and a blank in it."""
    path = f"{subject.random.word()}/{subject.random.word()} 1.json"
    subject.write(path, json.dumps(document, ensure_ascii=False))
    return path


@checks("import-merge")
def import_merge(subject: Subject) -> None:
    """New snippets are added, known ones get the tags they did not have."""
    draw = subject.random
    a, b, c, d, e = names_of(subject, 5)
    one, two, three = names_of(subject, 3)
    known = Snippet(b, "e\u0301 \u00e9", (one, three))
    plain = Snippet(d, "\n", ())
    kept = Snippet(e, draw.text(), (two,))
    new = Snippet(c, f"--{draw.text()}\n\u65e5", (three, one))
    bare = Snippet(a, "", ())
    items: list[dict[str, Any]] = [s.exported for s in (new, bare, known, plain)]
    items[0] |= {"tags": [three, one, three], "id": 7}
    items[2] |= {"tags": [two, three]}
    items[3] |= {"tags": [two]}
    path = write_json(subject, {"at": "noon", **document_of([]), "snippets": items})
    again = write_json(subject, document_of([bare, new]))
    nothing = write_json(subject, document_of([]))
    result = [
        *(bare, known._replace(tags=(one, two, three)), new),
        *(plain._replace(tags=(two,)), kept),
    ]
    play(
        subject,
        *(snippet.given for snippet in (known, plain, kept)),
        imported(2, 2, "import", path),
        *(says(snippet.text, "get", snippet.name) for snippet in result),
        says([snippet.line for snippet in result], "list"),
        imported(0, 2, "import", again),
        imported(0, 0, "import", nothing),
        says([snippet.line for snippet in result], "list"),
    )


@checks("import-conflict")
def import_conflict(subject: Subject) -> None:
    """Conflicts are told and stay as they were; everything else is imported."""
    a, b, c, d = names_of(subject, 4)
    tag, other = names_of(subject, 2)
    first, last = (Snippet(n, subject.random.text(), (tag,)) for n in (a, d))
    known = Snippet(b, "text", (other,))
    new = Snippet(c, subject.random.text(), (other,))
    coming = [
        *(last._replace(text=f"{last.text} ", tags=(other,)), new),
        *(first._replace(text="", tags=()), known._replace(tags=(tag,))),
    ]
    path = write_json(subject, document_of(coming))
    answer = Answer(
        1,
        "imported: 1 new, 1 merged, 2 conflicting\n",
        f"forge: conflict: {a}\nforge: conflict: {d}\n",
    )
    result = [first, known._replace(tags=(tag, other)), new, last]
    play(
        subject,
        *(snippet.given for snippet in (first, last, known)),
        Step(["import", path], answer),
        *(says(snippet.text, "get", snippet.name) for snippet in result),
        says([snippet.line for snippet in result], "list"),
    )


def malformed_documents(good: Snippet, other: str) -> Iterator[Any]:
    """Documents that are JSON and no export; a good snippet comes first."""
    first = good.exported
    yield from (None, 1, "snippets", [], [first], {}, {"snippets": [first]})
    yield {"version": 1}
    for version in (2, 0, "1", None, True, [1]):
        yield {"version": version, "snippets": [first]}
    for snippets in (None, {}, {other: first}, "", 3):
        yield {"version": 1, "snippets": snippets}
    for item in (None, [], "text", 3, [other, "text", []]):
        yield {"version": 1, "snippets": [first, item]}
    second = Snippet(other, "text", ("tag",)).exported
    for key in SNIPPET_KEYS:
        lacking = {k: v for k, v in second.items() if k != key}
        yield {"version": 1, "snippets": [first, lacking]}
    wrong: dict[str, tuple[Any, ...]] = {
        "name": (None, 7, True, [], [other], {}, "", "a b", "-a", "x" * 65),
        "text": (None, 7, False, ["text"], {}),
        "tags": (None, 7, "tag", {}, {"t": 1}, [7], [None], [[]], ["tag", ""], ["a b"]),
    }
    for key, values in wrong.items():
        for value in values:
            yield {"version": 1, "snippets": [first, {**second, key: value}]}
    yield {"version": 1, "snippets": [first, second, {**second, "text": "another"}]}
    yield {"version": 1, "snippets": [first, second, second]}
    twice = [{**second, "name": f"{other}{end}"} for end in ("\u00e9", "e\u0301")]
    yield {"version": 1, "snippets": [first, *twice]}


def malformed_files(good: Snippet) -> Iterator[bytes]:
    """Files that are no JSON in UTF-8."""
    whole = json.dumps(document_of([good]))
    yield from (b"", b"\0", b"{", whole[:-1].encode(), f"{whole}]".encode())
    yield whole.encode("utf-16")
    yield whole.replace("XYZ", "\u00e9").encode("latin-1")
    yield b"[" * 100_000
    yield b'{"version": ' + b"1" * 5_000 + b"}"
    yield b'{"version": 1, "snippets": ' + b'{"a":' * 50_000


@checks("import-malformed")
def import_malformed(subject: Subject) -> None:
    """A file that is no export is refused as a whole."""
    kept, new, other = names_of(subject, 3)
    stored = Snippet(kept, subject.random.text(), ("tag",))
    good = Snippet(new, "XYZ", ("more",))
    # The kept snippet would be merged, and the new one added, before the fault.
    paths = [f"{subject.random.word()}-none.json", ".", "forge", "a\0b", "", "x" * 300]
    folder = subject.random.word()
    before = [Call("os:mkdir", folder)]
    for n, document in enumerate(malformed_documents(good, other)):
        paths.append(f"{folder}/{n}.json")
        before += writing(paths[-1], json.dumps(document).encode())
    merging = document_of([stored._replace(tags=("more",)), good, Snippet("", "")])
    paths.append(f"{folder}/merging.json")
    before += writing(paths[-1], json.dumps(merging).encode())
    for n, content in enumerate(malformed_files(good)):
        paths.append(f"{folder}/file-{n}.json")
        before += writing(paths[-1], content)
    refusals = [refuses(1, f"cannot import: {p}", "import", p) for p in paths]
    argvs = [stored.given.argv, ["export"], *(step.argv for step in refusals)]
    after = [["export"], ["get", new], ["get", other], ["get", kept]]
    answers = ask(subject, [*argvs, *after], before=before)
    for step, returned in zip(refusals, answers[2:], strict=False):
        expect_answer(returned, step)
    exported, now = (answer_of(answers[n], ["export"]) for n in (1, -4))
    expect(exported.code == 0, "code of an export", exported)
    expect(now == exported, "export after malformed imports", now)
    for name, returned in ((new, answers[-3]), (other, answers[-2])):
        got = answer_of(returned, ["get", name])
        expect(got.code == 1, "code for a snippet of a malformed import", got)
    expect_answer(answers[-1], says(stored.text, "get", kept))


def writing(path: str, content: bytes) -> list[Question]:
    """Calls that write a file of any bytes."""
    encoded = {"$bytes": base64.b64encode(content).decode()}
    return [
        Call("pathlib:Path", path, save="path"),
        Call("$path.write_bytes", encoded),
    ]


# --- 11 and 12 commands and junk --------------------------------------------


@checks("command-unknown")
def command_unknown(subject: Subject) -> None:
    """Only the seven are commands, as they are written."""
    name, unknown = names_of(subject, 2)
    commands = [
        *(unknown, name, "", " ", "ad", "ADD", "List", "add ", "ls", "run", "help"),
        *("-h", "--help", "--version", "--", "--tag", "__init__", "import_", "\n"),
    ]
    play(
        subject,
        given("add", name, "text"),
        *(refuses(2, f"unknown command: {text}", text) for text in commands),
        *(refuses(2, f"unknown command: {text}", text, name) for text in commands),
        refuses(2, "unknown command: --tag", "--tag", unknown, "list"),
        says("text", "get", name),
    )


@checks("command-missing")
def command_missing(subject: Subject) -> None:
    """Without arguments that is what is said, by the program as well."""
    play(
        subject,
        refuses(2, "no command"),
        given("add", "a", "text"),
        refuses(2, "no command"),
    )
    done = subject.run(*COMMAND, env={"FORGE_FILE": f"{subject.random.word()}.json"})
    told = (done.exit, done.stdout, done.stderr)
    expect(told == (2, "", "forge: no command\n"), "answer of the program", told)


@checks("junk")
def junk(subject: Subject) -> None:
    """Whatever the arguments are, `run` answers, and the snippets stay usable."""
    kept, new = (subject.random.word(12) for _ in range(2))
    text = subject.random.text()
    subject.write("deep.json", "[" * 100_000)
    subject.write("cut.json", '{"version": 1, "snippets": [')
    lists = [junk_list(subject.random) for _ in range(N_JUNK)]
    after = [says(text, "get", kept), says(f"added {new}", "add", new, text)]
    after.append(says(text, "get", new))
    argvs = [["add", kept, text], *lists, *(step.argv for step in after)]
    answers = ask(subject, argvs)
    for argv, returned in zip(lists, answers[1:], strict=False):
        code, stdout, stderr = answer_of(returned, argv)
        shown = shorten(argv, 120)
        seen = (code, stdout, stderr)
        expect(code in (0, 1, 2), f"code for {shown}", seen)
        told = stderr.startswith("forge: ") and stderr.endswith("\n")
        expect(told or code == 0, f"message for {shown}", seen)
        silent = stderr if code == 0 else stdout
        expect(silent == "", f"nothing on the other stream for {shown}", seen)
    for step, returned in zip(after, answers[-len(after) :], strict=True):
        expect_answer(returned, step)


JUNK_WORDS = [
    *("", " ", "a", "b", "-", "--", "---", "--tag", "--tag=a", "--help", "-h", "-1"),
    *("\0", "\n", "\r\n", "\x1b[2J", "\u202e", "\ufeff", "\U0001f525", "\u0301"),
    *("%s", "%n", "{", "{}", "{0}", "{0.__class__}", "${HOME}", "~", "*", "[", "("),
    *("deep.json", "cut.json", "README.md", ".", "..", "/", "none/none", "forge"),
    *("state", "__class__", "null", "x" * 300, "y" * 2_000, "\u00df" * 64, *USAGE),
]


def junk_list(draw: Inputs) -> list[str]:
    """Arguments that nobody would give; half of them are as many as fit."""
    command = draw.choice(list(USAGE))
    n_fitting = USAGE[command].split(" [")[0].count(" ")
    n_words = draw.choice([n_fitting, draw.randrange(6)])
    words = [draw.choice(JUNK_WORDS) for _ in range(n_words)]
    for n in range(n_words):
        if draw.randrange(4) == 0:
            points = [draw.randrange(0x20, 0xD800) for _ in range(draw.randrange(1, 9))]
            words[n] = "".join(map(chr, points))
    return [command, *words] if draw.randrange(5) else words


# --- the repository ---------------------------------------------------------


def modules(subject: Subject) -> dict[str, str]:
    """All Python files, by path; hidden folders are tools' own."""
    paths = [path for path in subject.list() if path.endswith(".py")]
    return {path: subject.read(path) for path in paths if not path.startswith(".")}


@checks("no-dependency")
def no_dependency(subject: Subject) -> None:
    """Nothing is imported or declared that is neither Python's nor the project's."""
    project = tomllib.loads(subject.read("pyproject.toml"))["project"]
    declared = project.get("dependencies", [])
    expect(declared == [], "dependencies in pyproject.toml", declared)
    texts = modules(subject)
    own = {part.removesuffix(".py") for path in texts for part in path.split("/")}
    for path, text in texts.items():
        foreign = imports_of(path, text) - own - sys.stdlib_module_names
        expect(not foreign, f"imports of {path}", sorted(foreign))


def imports_of(path: str, text: str) -> set[str]:
    """Top-level names of what a module imports."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError) as error:
        fail(f"{path} is no Python", str(error))
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    sources = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [node.module or "" for node in sources if node.level == 0]
    return {name.partition(".")[0] for name in names}


@checks("tests-and-comments")
def tests_and_comments(subject: Subject) -> None:
    """No comment tells of work to do, and new tests bite on the new code."""
    texts = modules(subject)
    for path, text in texts.items():
        left = [comment for comment in comments_of(path, text) if TO_DO.search(comment)]
        expect(not left, f"comments in {path}", left)
    shipped = {path: subject.original(path) for path in SHIPPED_MODULES}
    code = [path for path in texts if not path.startswith("tests/")]
    own = [path for path in code if shipped.get(path) != texts[path]]
    subject.bites(own, shipped=SHIPPED_TESTS)


def comments_of(path: str, text: str) -> list[str]:
    """The comments of a module; what stands in texts is none."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError) as error:
        fail(f"{path} is no Python", str(error))
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
