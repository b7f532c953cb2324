"""sentinel-api: a paste service keeps the security promises of its README.

Whether something leaks is decided by canaries of random content that a check
writes into its own copy; whether text became markup, by parsing the page.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import quote

from evalkit.grader import (
    Checks,
    Get,
    Reply,
    Service,
    Subject,
    expect,
    fail,
)

TOKEN_VARIABLE = "SENTINEL_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
SHIPPED_TOKEN = "ops-7Qm2vT9xLb4KwZ"  # noqa: S105 - the one in the fixture's source
COMMAND = ("python", "-m", "sentinel")
without_token = Service(COMMAND, env={"PORT": "{port}"})
with_token = Service(COMMAND, env={"PORT": "{port}", TOKEN_VARIABLE: "set-for-a-check"})
on_default_port = Service(COMMAND, port=8086)

PREDICTABLE = """
import random, runpy, time
seed = random.Random.seed
random.Random.seed = lambda self, *given, **named: seed(self, 0)
random.seed(0)
random.seed = lambda *given, **named: None
time.time = lambda: 1_000_000_000.0
time.time_ns = lambda: 1_000_000_000_000_000_000
runpy.run_module("sentinel", run_name="__main__", alter_sys=True)
"""
"""Starts the service with every seedable generator at one seed, the clock still."""
predictable = Service(("python", "-c", PREDICTABLE), env=with_token.env)

checks = Checks(
    {
        "admin-token-from-environment": 1,
        "admin-needs-token": 1,
        "dotdot-blocked": 1,
        "double-encoding-blocked": 1,
        "only-public-files": 1,
        "markup-escaped": 1,
        "delete-tokens-unguessable": 1,
        "body-limit": 1,
        "create-read-delete": 1,
        "wrong-token-deletes-nothing": 1,
    },
    service=with_token,
)

SOURCE_SUFFIXES = (
    *(".py", ".pyi", ".sh", ".env", ".toml", ".ini", ".cfg", ".conf"),
    *(".json", ".yaml", ".yml", "Dockerfile", "Makefile"),
)
LIMIT_BYTES = 65_536
MAX_TITLE_CHARACTERS = 200
N_TOKENS = 20
MIN_TOKEN_CHARACTERS = 16


class Posted(NamedTuple):
    """A paste that was accepted."""

    id: str
    token: str

    @property
    def path(self) -> str:
        """Path of the paste."""
        return f"/pastes/{self.id}"


# --- admin ------------------------------------------------------------------


@checks("admin-token-from-environment")
def admin_token_from_environment(subject: Subject) -> None:
    """Only the environment's token opens; without one nothing in the source does."""
    literals = source_literals(subject)
    token = subject.random.text(24).replace(" ", "-")
    for unset in ({}, {TOKEN_VARIABLE: ""}):
        running = subject.start(without_token, env=unset)
        guesses = ["Bearer", "Bearer ", f"Bearer {SHIPPED_TOKEN}"]
        guesses += [f"Bearer {literal}" for literal in literals]
        for guess, status in stats_statuses(subject, guesses):
            expect(status == 401, f"status for {guess!r}, no token set", status)
        running.stop()
    subject.start(without_token, env={TOKEN_VARIABLE: token})
    (_, shipped), (_, right) = stats_statuses(
        subject, [f"Bearer {SHIPPED_TOKEN}", f"Bearer {token}"]
    )
    expect(shipped == 401, "status for the token once shipped", shipped)
    expect(right == 200, "status for the token of the environment", right)


def source_literals(subject: Subject) -> list[str]:
    """Texts in the source that could be tokens; the shipped one must not be there."""
    found: list[str] = []
    for path in subject.list():
        name = path.rpartition("/")[2]
        is_test = path.startswith("tests/") or name.startswith("test_")
        if is_test or not name.endswith(SOURCE_SUFFIXES):
            continue
        text = subject.read(path)
        expect(SHIPPED_TOKEN not in text, "a token is part of the source", path)
        if path.endswith(".py"):
            literals = literals_of(path, text)
            joined = any(SHIPPED_TOKEN in literal for literal in literals)
            expect(not joined, "a token is part of the source", path)
            found += literals
    usable = [text for text in found if text.isascii() and text.isprintable()]
    return list(dict.fromkeys(text for text in usable if 4 <= len(text) <= 128))


def literals_of(path: str, text: str) -> list[str]:
    """All text and bytes literals of a module, in order."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError) as error:
        fail(f"{path} is no Python", str(error))
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts = [v.decode("latin-1") if isinstance(v, bytes) else v for v in values]
    return [value for value in texts if isinstance(value, str)]


def stats_statuses(
    subject: Subject, given: Sequence[str]
) -> list[tuple[str, int | None]]:
    """Each authorization with the status it got, asked 20 at a time."""
    replies: list[Reply] = []
    for n in range(0, len(given), 20):
        batch = given[n : n + 20]
        replies += subject.http_many(
            [Get("/admin/stats", headers={"Authorization": text}) for text in batch]
        )
    statuses = [reply.status for reply in replies]
    return list(zip(given, statuses, strict=True))


@checks("admin-needs-token")
def admin_needs_token(subject: Subject) -> None:
    """401 without a token, 401 with a wrong one, 200 with the right one."""
    token = subject.random.text(24).replace(" ", "-")
    subject.start(with_token, env={TOKEN_VARIABLE: token})
    post(subject, "notes", "text of 18 letters")
    none = subject.http("GET", "/admin/stats")
    expect(none.status == 401, "status without a token", none)
    wrong = [subject.random.word(24), token[:-1], f"{token}x", token.swapcase()]
    given = [f"Bearer {text}" for text in wrong]
    for text, status in stats_statuses(subject, given):
        expect(status == 401, f"status for {text!r}", status)
    headers = {"Authorization": f"Bearer {token}"}
    right = subject.http("GET", "/admin/stats", headers=headers)
    expect(right.status == 200, "status with the token", right)
    expect(right.json == {"pastes": 1, "characters": 18}, "statistics", right.body)


# --- files ------------------------------------------------------------------


@checks("dotdot-blocked")
def dotdot_blocked(subject: Subject) -> None:
    """No way of writing a path leads out of the public folder."""
    inner, name, canary = write_canary(subject)
    ways = (
        f"../{name}",
        f"./../{name}",
        f"{inner}/../../{name}",
        f"....//{name}",
        f"..././{name}",
        f"..%2f{name}",
        f"%2e%2e/{name}",
        f"%2E%2E%2F{name}",
        f".%2e/{name}",
        f"{inner}%2f..%2f..%2f{name}",
        f"/proc/self/cwd/{name}",
        f"%2fproc%2fself%2fcwd%2f{name}",
    )
    refused(subject, ways, canary)


@checks("double-encoding-blocked")
def double_encoding_blocked(subject: Subject) -> None:
    """A path that is encoded more than once leads nowhere either."""
    inner, name, canary = write_canary(subject)
    ways = (
        f"..%252f{name}",
        f"%252e%252e/{name}",
        f"%252e%252e%252f{name}",
        f"%252E%252E%252F{name}",
        f".%252e/{name}",
        f"{inner}%252f..%252f..%252f{name}",
        f"%252fproc%252fself%252fcwd%252f{name}",
        f"%25252e%25252e%25252f{name}",
    )
    refused(subject, ways, canary)


@checks("only-public-files")
def only_public_files(subject: Subject) -> None:
    """Public files are served, those of a folder with a similar name are not.

    What is no file is not found, and the style sheet is still one.
    """
    draw = subject.random
    folder, name, text = draw.word(), f"{draw.word()} {draw.word()}.txt", draw.text(40)
    old, canary = f"{draw.word()}.txt", draw.text(40)
    subject.write(f"files/{folder}/{name}", text)
    subject.write(f"files-old/{old}", canary)
    reply = subject.http("GET", f"/files/{folder}/{quote(name)}")
    expect(reply.status == 200, "status of a public file", reply)
    expect(reply.body == text, "content of a public file", reply.body)
    ways = ("../files-old/", "..%2ffiles-old/", "%2e%2e/files-old/")
    refused(subject, [f"{way}{old}" for way in ways], canary)
    for path in (draw.word(), f"{folder}/{draw.word()}.txt", folder):
        missing = subject.http("GET", f"/files/{path}")
        expect(missing.status == 404, "status of what is no file", missing)
    style = subject.http("GET", "/files/style.css")
    kind = (style.header("Content-Type") or "").lower().replace(" ", "")
    expect(kind == "text/css;charset=utf-8", "content type of the style sheet", kind)


def write_canary(subject: Subject) -> tuple[str, str, str]:
    """Write a file outside the public folder.

    Returns:
        A folder that is public, the outer file's name, and its content.
    """
    draw = subject.random
    inner, name, canary = draw.word(), f"{draw.word()}.txt", draw.text(40)
    subject.write(f"files/{inner}/{draw.word()}.txt", draw.text(40))
    subject.write(name, canary)
    return inner, name, canary


def refused(subject: Subject, ways: Sequence[str], canary: str) -> None:
    """Expect a client error for each way, and nothing of the canary."""
    for way in ways:
        reply = subject.http("GET", f"/files/{way}")
        expect(canary not in reply.body, "a file outside was served", way)
        status = reply.status or 0
        expect(400 <= status < 500, f"status for {way}", reply)


# --- pages ------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser would make of a page: elements, attributes, texts, scripts."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element with its attributes."""
        self.names += [tag, *(name for name, _ in attrs)]
        self.texts += [value for _, value in attrs if value is not None]
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script."""
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        """Note a text."""
        (self.scripts if self._in_script else self.texts).append(data)


@checks("markup-escaped")
def markup_escaped(subject: Subject) -> None:
    """A query and a paste are shown as typed and become no element or attribute."""
    for page_of in (search_page, search_hit_page, paste_page):
        mark, element, attribute = (subject.random.word() for _ in range(3))
        typed = (
            f"""{mark}" data-{attribute}="1' data-{attribute}='1>"""
            f"""</title><x-{element}><script>{element}()</script>& &lt;"""
        )
        reply = page_of(subject, typed)
        expect(reply.status == 200, "status of a page", reply)
        kind = reply.header("Content-Type") or ""
        expect(kind.startswith("text/html"), "content type of a page", kind)
        page = Page(reply.body)
        added = [f"x-{element}", f"data-{attribute}"]
        became = [name for name in page.names if name in added]
        expect(not became, f"markup out of text in {page_of.__name__}", became)
        scripts = [script for script in page.scripts if element in script]
        expect(not scripts, f"script out of text in {page_of.__name__}", scripts)
        shown = any(typed in text for text in page.texts)
        expect(shown, f"text as typed in {page_of.__name__}", reply.body)


def search_page(subject: Subject, typed: str) -> Reply:
    """A page for a query that finds nothing."""
    return subject.http("GET", f"/search?q={quote(typed, safe='')}")


def search_hit_page(subject: Subject, typed: str) -> Reply:
    """A page that lists a paste by its title."""
    word = subject.random.word(12)
    post(subject, f"{word} {typed}", "text")
    return subject.http("GET", f"/search?q={word}")


def paste_page(subject: Subject, typed: str) -> Reply:
    """A page with a paste."""
    paste = post(subject, f"notes {typed}", typed)
    return subject.http("GET", f"/view/{paste.id}")


# --- delete tokens ----------------------------------------------------------


@checks("delete-tokens-unguessable")
def delete_tokens_unguessable(subject: Subject) -> None:
    """Tokens are random in at least 16 places, and others at every start."""
    starts: list[list[str]] = []
    for _ in range(2):
        running = subject.start(predictable)
        pastes = [post(subject, "notes", "text") for _ in range(N_TOKENS)]
        starts.append([paste.token for paste in pastes])
        running.stop()
    for tokens in starts:
        shortest = min(len(token) for token in tokens)
        expect(shortest >= MIN_TOKEN_CHARACTERS, "characters of a token", tokens)
        expect(len({token[0] for token in tokens}) > 1, "tokens start alike", tokens)
        n_random = sum(len({token[n] for token in tokens}) > 1 for n in range(shortest))
        random_enough = n_random >= MIN_TOKEN_CHARACTERS
        expect(random_enough, "places in which tokens differ", n_random)
    first, second = starts
    n_distinct = len({*first, *second})
    expect(n_distinct == 2 * N_TOKENS, "tokens that differ, of 40", n_distinct)
    pairs = list(zip(first, second, strict=True))
    n_same = sum(a == b for one, two in pairs for a, b in zip(one, two, strict=False))
    n_all = sum(len(token) for token in first)
    expect(2 * n_same < n_all, "tokens of one id over two starts", pairs[0])


# --- bodies -----------------------------------------------------------------


@checks("body-limit")
def body_limit(subject: Subject) -> None:
    """A body of the limit is accepted and a larger one is not, however it is sent.

    One that is broken is refused as the client's fault.
    """
    sizes = ((LIMIT_BYTES, 201), (LIMIT_BYTES + 1, 413), (200_000, 413))
    for n_bytes, wanted in sizes:
        for chunked in (False, True):
            body = body_of_size(subject, n_bytes)
            reply = subject.http("POST", "/pastes", body=body, chunked=chunked)
            how = "in chunks" if chunked else "with its length"
            expect(reply.status == wanted, f"status of {n_bytes} bytes {how}", reply)
    body = body_of_size(subject, 200)
    sizeless = f"size\r\n{body}\r\n0\r\n\r\n"
    for broken in ({"Transfer-Encoding": "chunked"}, {"Content-Length": "none"}):
        reply = subject.http("POST", "/pastes", body=sizeless, headers=broken)
        expect(400 <= (reply.status or 0) < 500, f"status with {broken}", reply)


def body_of_size(subject: Subject, n_bytes: int) -> str:
    """A paste of exactly so many bytes."""
    title = subject.random.word()
    empty = json.dumps({"title": title, "text": ""})
    text = subject.random.word(16) * (n_bytes // 16)
    return json.dumps({"title": title, "text": text[: n_bytes - len(empty)]})


# --- pastes -----------------------------------------------------------------


@checks("create-read-delete")
def create_read_delete(subject: Subject) -> None:
    """A paste is created, read, deleted with its token, and then gone.

    What is no paste is refused, and what is not there is not found.
    """
    subject.start(on_default_port)
    health = subject.http("GET", "/health")
    expect((health.status, health.json) == (200, {"ok": True}), "health", health)
    title, text = subject.random.text(12), f"{subject.random.text(60)}\n\u00fc <&>"
    another = post(subject, "another", "text")
    paste = post(subject, title, text)
    expect(
        (another.id, paste.id) == ("1", "2"), "ids from 1 on", (another.id, paste.id)
    )
    keep = {"Connection": "keep-alive"}
    shown = subject.http("GET", paste.path, headers=keep)
    expect(shown.status == 200, "status of a paste", shown)
    wanted = {"id": paste.id, "title": title, "text": text}
    expect(shown.json == wanted, "paste as shown", shown.body)
    deleted = delete(subject, paste, paste.token)
    expect(deleted.status == 204, "status of a deletion", deleted)
    for method in ("GET", "DELETE"):
        gone = subject.http(method, paste.path)
        expect(gone.status == 404, "status of a deleted paste", gone)
    nowhere = f"/{subject.random.word()}/{another.id}"
    token = {"X-Delete-Token": another.token}
    missing = [subject.http("GET", f"/view/{paste.id}")]
    missing += [
        subject.http(method, nowhere, headers=token)
        for method in ("GET", "POST", "DELETE")
    ]
    statuses = [reply.status for reply in missing]
    expect(statuses == [404] * 4, "status of what is not there", statuses)
    refuses_what_is_no_paste(subject)


def refuses_what_is_no_paste(subject: Subject) -> None:
    """Title and text are texts, the title of 1 to 200 characters."""
    letters = subject.random.word(MAX_TITLE_CHARACTERS - 1) + "\u00fc"
    for title in (letters[-1], letters):
        post(subject, title, "")
    bodies = (
        *("", "notes", "[]"),
        *(json.dumps({name: letters}) for name in ("title", "text")),
        *(
            json.dumps({"title": title, "text": "x"})
            for title in ("", f"{letters}x", 1)
        ),
        json.dumps({"title": letters, "text": 1}),
    )
    for body in bodies:
        reply = subject.http("POST", "/pastes", body=body)
        expect(reply.status == 400, f"status of {body!r}", reply)


@checks("wrong-token-deletes-nothing")
def wrong_token_deletes_nothing(subject: Subject) -> None:
    """A deletion without the paste's own token is refused, and the paste stays."""
    text = subject.random.text(60)
    paste, other = post(subject, "notes", text), post(subject, "other", text)
    token = paste.token
    wrong = ("", subject.random.word(24), other.token, paste.id, token[:-1])
    refusals = [delete(subject, paste, given) for given in (*wrong, f"{token}x", None)]
    statuses = [reply.status for reply in refusals]
    expect(statuses == [403] * 7, "status of a deletion with a wrong token", statuses)
    shown = subject.http("GET", paste.path)
    expect(shown.status == 200, "status of the paste afterwards", shown)
    expect(shown.json["text"] == text, "text of the paste afterwards", shown.body)


def post(subject: Subject, title: str, text: str) -> Posted:
    """Post a paste."""
    reply = subject.http("POST", "/pastes", json={"title": title, "text": text})
    expect(reply.status == 201, "status of a posted paste", reply)
    paste = Posted(reply.json["id"], reply.json["delete_token"])
    texts = [type(value) for value in paste] == [str, str] and all(paste)
    expect(texts, "id and delete_token are texts", reply.body)
    return paste


def delete(subject: Subject, paste: Posted, token: str | None) -> Reply:
    """Ask for a paste to be deleted."""
    headers = {} if token is None else {"X-Delete-Token": token}
    return subject.http("DELETE", paste.path, headers=headers)
