"""chained-tickets: links work, survive, withstand abuse and are counted, all done whole.

No check makes more than ten links from one address in its service's life, unless
it is about limits: a limit may be there from the first ticket on. Whether tests
bite is asked with mutants that break what the ticket brought, and nothing before.
"""

import ast
import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from evalkit.grader import (
    Checks,
    Failed,
    Get,
    Reply,
    Running,
    Send,
    Service,
    Subject,
    expect,
    fail,
    parse_json,
)

DATA = "kept.links"
hop = Service(("python", "-m", "hop"), env={"PORT": "{port}", "DATA_FILE": DATA})

core = Checks(
    {
        "created": 1,
        "redirected": 1,
        "unknown-is-404": 1,
        "bad-url-is-400": 1,
        "missing-url-is-400": 1,
        "ttl-range-is-400": 1,
        "expired-is-410": 1,
        "deleted-is-404": 1,
        "changelog-and-tests": 1,
        "layers": 1,
    },
    step="core",
    service=hop,
)
persistence = Checks(
    {
        "links-survive": 1,
        "expiry-survives": 1,
        "absent-file-starts-clean": 1,
        "damaged-file-kept-aside": 1,
        "failed-write-loses-nothing": 1,
        "changelog": 1,
        "tests-bite": 1,
    },
    step="persistence",
    service=hop,
)
abuse = Checks(
    {
        "normal-use-works": 1,
        "javascript-is-400": 1,
        "ftp-is-400": 1,
        "long-url-refused": 1,
        "burst-meets-429": 1,
        "other-client-unaffected": 1,
        "changelog": 1,
        "tests-bite": 1,
    },
    step="abuse",
    service=hop,
)
hits = Checks(
    {
        "created": 1,
        "zero-hits": 1,
        "three-hits": 1,
        "still-redirects": 1,
        "unknown-is-404": 1,
        "readme-names-route": 1,
        "changelog": 1,
        "tests-bite": 1,
    },
    step="hits",
    service=hop,
)

CODE = re.compile(r"[A-Za-z0-9_-]{4,32}")
MAX_TTL_S = 2_592_000
MAX_URL = 2048
BURST = 60
ALLOWED = 10
"""Creates in a minute that no client is refused."""
LAYERS = ("hop.routes", "hop.service", "hop.store")
MAX_TRIED = 200
"""Mutants that are looked at to see what they break."""
MAX_BROKEN = 8
"""Of those that break a ticket's work, how many are put to the tests."""
SEARCH_S = 90.0
"""For how long mutants are looked at: a grading has to end, with slow tests too."""
PROBE_S = 8.0
"""For an answer of a mutant, which may have none."""


# --- links ------------------------------------------------------------------


def draw_url(subject: Subject, length: int = 0) -> str:
    """A URL that nobody can know beforehand, exactly so long if a length is given."""
    draw = subject.random
    query = f"q={draw.word()}%20{draw.word()}&n={draw.randrange(10**6)}"
    url = f"https://{draw.word()}.example/{draw.word()}?{query}"
    return url + draw.word(length - len(url)) if length else f"{url}#{draw.word()}"


def posted(url: Any, **options: Any) -> dict[str, Any]:
    """The request that makes a link."""
    return Send("POST", "/links", json={"url": url}, **options)


def post(subject: Subject, body: Any, **options: Any) -> Reply:
    """Post a link's body."""
    return subject.http("POST", "/links", json=body, **options)


def code_of(reply: Reply) -> str:
    """The code in the reply to a create."""
    expect(reply.status == 201, "status of a create", reply)
    body = reply.json
    code = body.get("code") if isinstance(body, dict) else None
    if not isinstance(code, str) or not CODE.fullmatch(code):
        fail("a create has a code", body)
    return code


def create(subject: Subject, url: str = "", **more: Any) -> str:
    """Make a link and return its code."""
    return code_of(post(subject, {"url": url or draw_url(subject), **more}))


def follow(subject: Subject, code: str, **options: Any) -> Reply:
    """Follow a link."""
    return subject.http("GET", f"/{code}", **options)


def expect_redirect(reply: Reply, url: str) -> None:
    """The reply leads to a URL, as it was posted."""
    expect(reply.status == 302, "status of a redirect", reply)
    expect(reply.header("Location") == url, f"Location is {url}", reply.headers)


def expect_status(reply: Reply, status: int, what: str) -> None:
    """The reply has a status."""
    expect(reply.status == status, f"{status} for {what}", reply)


def expect_error(reply: Reply, status: int, code: str, what: str) -> None:
    """The reply is an error in the form that all errors have."""
    expect_status(reply, status, what)
    body = reply.json
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        fail("an error in the documented form", body)
    expect(error.get("code") == code, f"error code {code}", error)
    message = error.get("message")
    told = isinstance(message, str) and bool(message.strip())
    expect(told, "an error has a message", error)


def expect_refused(subject: Subject, bodies: Iterable[Any], status: int = 400) -> None:
    """None of these bodies makes a link."""
    for body in bodies:
        expect_status(post(subject, body), status, f"{body!r}")


# --- documents, imports, tests ----------------------------------------------


def section(text: str, title: str, path: str) -> str:
    """What stands below a heading, up to the next one that is not deeper."""
    heads = [*re.finditer(r"(?m)^(#{1,6})[ \t]*(.*?)[ \t#]*$", text)]
    for n, head in enumerate(heads):
        if head[2].strip("[]").lower() == title.lower():
            after = (h for h in heads[n + 1 :] if len(h[1]) <= len(head[1]))
            end = next(after, None)
            return text[head.end() : end.start() if end else len(text)]
    return fail(f"{path} has a section {title}")


def expect_entry(subject: Subject, ticket: str) -> None:
    """The changelog has an item for a ticket that says something."""
    path = "CHANGELOG.md"
    unreleased = section(subject.read(path), "Unreleased", path)
    items = re.split(r"(?m)^[ \t]*[-*+][ \t]+", unreleased)[1:]
    own = [item for item in items if re.search(rf"\b{ticket}\b", item)]
    said = [re.findall(r"[^\W\d_]{2,}", item.replace(ticket, "")) for item in own]
    told = any(len(words) >= 3 for words in said)
    expect(told, f"an item under Unreleased tells of {ticket}", items)


def modules_of(subject: Subject) -> dict[str, str]:
    """Paths of the package's modules, by module name."""
    paths = [path for path in subject.list("hop") if path.endswith(".py")]
    return {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for path in paths
        if not re.search(r"(^|/)(tests?|test_\w+|\w+_test|conftest)(/|\.py$)", path)
    }


def imports_of(name: str, path: str, text: str, known: Iterable[str]) -> set[str]:
    """Modules that a module imports: its own package's if known, else as written."""
    modules = set(known)
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            parents = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*parents, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found.add(inner if inner in modules else base)
    return found


def layer_of(module: str) -> str | None:
    """The layer that a module belongs to."""
    return next((la for la in LAYERS if f"{module}.".startswith(f"{la}.")), None)


# --- tests that bite --------------------------------------------------------

Probe = Callable[[Subject, Running], None]
"""Fails where a part of a ticket's work is broken."""
TRACER = """
import os, runpy, sys, threading
seen, root = set(), os.path.join(os.getcwd(), "hop", "")
log = os.open("lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def trace(frame, event, _):
    path = os.path.join(os.getcwd(), frame.f_code.co_filename)
    if not path.startswith(root):
        return None
    place = f"hop/{path.removeprefix(root)}:{frame.f_lineno}\\n"
    if place not in seen:
        seen.add(place)
        os.write(log, place.encode())
    return trace
threading.settrace(trace)
sys.settrace(trace)
runpy.run_module("hop", run_name="__main__", alter_sys=True)
"""
"""Writes down every line of the package that is reached."""


class Bench:
    """Copies of the delivered package that are started to see what is broken."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._package = {path: subject.read(path) for path in subject.list("hop")}
        self._n = 0
        self.fork = True
        self.before: tuple[object, ...] | None = None
        self.since_s = self.until_s = 0.0

    def line_of(self, path: str, text: str) -> str:
        """Where a mutant differs from its module."""
        lines = zip(self._package[path].splitlines(), text.splitlines(), strict=False)
        return next(
            (f"{path}:{n}" for n, (old, new) in enumerate(lines, 1) if old != new), path
        )

    def working(self, probes: Sequence[Probe]) -> list[Probe]:
        """The probes that hold for what was delivered."""
        for self.fork in (True, False):  # a fork is faster, and not for every service
            self.before = None
            failing = self.failing({}, probes)
            if failing == []:
                return [*probes]
        return [
            probe for probe in probes if failing is not None and probe not in failing
        ]

    def lines(self, probes: Sequence[Probe]) -> set[str]:
        """Lines that are reached for these probes, and not for the first ticket's work."""
        folder = self._lay({"traced.py": TRACER})
        traced = msgspec.structs.replace(
            hop, argv=("python", "-m", "traced"), cwd=folder
        )
        try:
            running = self._subject.start(traced)
            first_work(self._subject)
            before = self._subject.read(f"{folder}/lines").split()
            for probe in probes:
                probe(self._subject, running)
            running.stop("KILL")
            return {*self._subject.read(f"{folder}/lines").split()} - {*before}
        except Failed:
            return set()

    def failing(
        self, files: Mapping[str, str], probes: Sequence[Probe]
    ) -> list[Probe] | None:
        """The probes that fail with these files; None if the first ticket's work differs."""
        ready_s = PROBE_S if files else hop.ready_s
        folder = self._lay(files)
        service = msgspec.structs.replace(
            hop, cwd=folder, fork=self.fork, ready_s=ready_s
        )
        failing: list[Probe] = []
        try:
            running = self._subject.start(service)
            self.until_s = self._subject.http("GET", "/", timeout_s=PROBE_S).sent_s
            self.since_s = self.since_s or self.until_s
            done = first_work(self._subject)
        except Failed:
            return None
        if self.before is None:
            self.before = done
        if done != self.before:
            return None
        for probe in probes:
            try:
                probe(self._subject, running)
            except Failed:
                failing.append(probe)
                if files:
                    break
        with contextlib.suppress(Failed):  # one that did not start again
            running.stop("KILL")
        return failing

    def _lay(self, files: Mapping[str, str]) -> str:
        """Write the package with these files into a folder of its own."""
        self._n += 1
        folder = f"probe-{self._n}"
        for path, text in {**self._package, **files}.items():
            self._subject.write(f"{folder}/{path}", text)
        return folder


def expect_bites(subject: Subject, probes: Sequence[Probe]) -> None:
    """Some delivered test notices when what these probe is broken, and only that.

    Mutants of lines that are reached for nothing else are tried before others.
    """
    paths = [*modules_of(subject).values()]
    bench = Bench(subject)
    working = bench.working(probes)
    if not working:  # other checks say so; any fault that is noticed will do
        subject.bites(paths)
        return
    lines = bench.lines(working)

    def bite(*, own: bool) -> None:
        tries = itertools.count()

        def counts(files: Mapping[str, str]) -> bool:
            is_own = any(bench.line_of(*file) in lines for file in files.items())
            late = bench.until_s - bench.since_s > SEARCH_S
            if is_own != own or late or next(tries) >= MAX_TRIED:
                return False
            return bool(bench.failing(files, working))

        subject.bites(paths, counts=counts, limit=MAX_BROKEN)

    try:
        bite(own=True)
    except Failed:
        bite(own=False)


def first_work(subject: Subject) -> tuple[object, ...]:
    """What comes of requests that the first ticket is about."""
    url, word = draw_url(subject), subject.random.word()
    code = code_of(post(subject, {"url": url}, timeout_s=PROBE_S))
    followed = follow(subject, code, timeout_s=PROBE_S)
    deleted = subject.http("DELETE", f"/links/{code}", timeout_s=PROBE_S)
    bodies = (
        {"url": word},
        {"url": f"/{word}"},
        {"url": f"https:///{word}"},
        {"url": f"https://{word}.example/ {word}"},
        {"url": url, "ttl_seconds": 0},
        {"link": url},
        [url],
    )
    refused = [
        follow(subject, code, timeout_s=PROBE_S),
        *(post(subject, b, source="127.0.0.41", timeout_s=PROBE_S) for b in bodies),
    ]
    errors = [re.search(r'"error".*"code": *"(\w+)"', reply.body) for reply in refused]
    return (
        (followed.status, followed.header("Location") == url, deleted.status),
        *(reply.status for reply in refused),
        *(error and error[1] for error in errors),
    )


# --- LNK-1: core ------------------------------------------------------------


@core("created")
def created(subject: Subject) -> None:
    """A link gets a code of its own, and its time of expiry if it has one."""
    url = draw_url(subject)
    first, second = post(subject, {"url": url}), post(subject, {"url": url})
    expect(code_of(first) != code_of(second), "every link has its own code", first)
    kind = first.header("Content-Type") or ""
    expect(kind.lower().startswith("application/json"), "content type is JSON", kind)
    expect(first.json.get("url") == url, f"url is {url}", first)
    stays = "expires_at" in first.json and first.json["expires_at"] is None
    expect(stays, "expires_at of a link that stays is null", first)
    ttls = [subject.random.randrange(1000, 10**6) for _ in range(2)]
    ends = [
        post(subject, {"url": url, "ttl_seconds": ttl}).json.get("expires_at")
        for ttl in ttls
    ]
    if not all(type(end) in (int, float) for end in ends):
        fail("expires_at is a number", ends)
    apart = (ends[1] - ends[0]) - (ttls[1] - ttls[0])
    expect(abs(apart) < 5 and ends[0] > 1e9, "expires_at is when the ttl ends", ends)


@core("redirected")
def redirected(subject: Subject) -> None:
    """Links lead where they were made to lead, each to its own place, every time."""
    urls = [draw_url(subject) for _ in range(3)]
    codes = [create(subject, url) for url in urls]
    for url, code in [*zip(urls, codes, strict=True)] * 2:
        expect_redirect(follow(subject, code), url)


@core("unknown-is-404")
def unknown_is_404(subject: Subject) -> None:
    """What is unknown is told in the form that all errors have."""
    create(subject)
    word = subject.random.word
    code, path = word(12), f"/{word()}/{word()}/{word()}"
    expect_error(follow(subject, code), 404, "not_found", "an unknown code")
    reply = subject.http("DELETE", f"/links/{code}")
    expect_error(reply, 404, "not_found", "the deletion of an unknown code")
    reply = subject.http("GET", path)
    expect_error(reply, 404, "not_found", "an unknown path")
    reply = post(subject, {"url": word()})
    expect_error(reply, 400, "invalid_request", "a bad url")


@core("bad-url-is-400")
def bad_url_is_400(subject: Subject) -> None:
    """What is no absolute URL, or holds what a header must not, is refused."""
    word = subject.random.word
    create(subject)
    urls = (
        word(),
        f"/{word()}",
        f"//{word()}.example/{word()}",
        f"https:///{word()}",
        f"https://{word()}.example/{word()} {word()}",
        f"https://{word()}.example/\r\nX-{word()}: {word()}",
        f"https://{word()}.example/{word()}\u00e9",
        subject.random.randrange(10**6),
    )
    expect_refused(subject, ({"url": url} for url in urls))


@core("missing-url-is-400")
def missing_url_is_400(subject: Subject) -> None:
    """A body without a url, or that is no object, is refused."""
    create(subject)
    url = draw_url(subject)
    expect_refused(subject, ({}, {"ttl_seconds": 60}, {"link": url}, [url], url))
    for body in ("", f'{{"url": "{url}"', f"url={url}"):
        reply = subject.http("POST", "/links", body=body)
        expect_status(reply, 400, f"the body {body!r}")


@core("ttl-range-is-400")
def ttl_range_is_400(subject: Subject) -> None:
    """A ttl is a whole number in its range; both its ends are in it."""
    url, draw = draw_url(subject), subject.random.randrange
    for ttl in (1, MAX_TTL_S):
        create(subject, url, ttl_seconds=ttl)
    many = MAX_TTL_S + draw(2, 10**6)
    wrong = (0, -draw(1, 10**6), MAX_TTL_S + 1, many, 60.5, "60", True)
    expect_refused(subject, ({"url": url, "ttl_seconds": ttl} for ttl in wrong))


@core("expired-is-410")
def expired_is_410(subject: Subject) -> None:
    """A link works for its time, then it is gone, and others are not."""
    url = draw_url(subject)
    longer, stays = create(subject, url, ttl_seconds=60), create(subject, url)
    made = post(subject, {"url": url, "ttl_seconds": 1})
    code = code_of(made)
    works = follow(subject, code)
    if works.sent_s + works.elapsed_s < made.sent_s + 1:
        expect_redirect(works, url)
    gone = subject.until(Get(f"/{code}"), status=410, within_s=4.0)
    assert isinstance(gone, Reply)
    late_s = gone.sent_s - made.sent_s
    expect(late_s < 3.0, "seconds until a link with a ttl of 1 is gone", late_s)
    for other in (longer, stays):
        expect_redirect(follow(subject, other), url)


@core("deleted-is-404")
def deleted_is_404(subject: Subject) -> None:
    """A deleted link is unknown, another to the same place stays."""
    url = draw_url(subject)
    code, other = create(subject, url), create(subject, url)
    path = f"/links/{code}"
    expect_status(subject.http("DELETE", path), 204, "a deletion")
    expect_status(follow(subject, code), 404, "a deleted link")
    expect_status(subject.http("DELETE", path), 404, "a second deletion")
    expect_redirect(follow(subject, other), url)


@core("changelog-and-tests")
def changelog_and_tests(subject: Subject) -> None:
    """The changelog tells of the ticket, and the tests notice a fault."""
    expect_entry(subject, "LNK-1")
    subject.bites([*modules_of(subject).values()])


@core("layers")
def layers(subject: Subject) -> None:
    """Imports go down one layer at a time, HTTP stays above, and no layer is for show."""
    modules = modules_of(subject)
    for layer in LAYERS:
        expect(layer in modules, f"there is a module {layer}", sorted(modules))
    graph = {
        name: imports_of(name, path, subject.read(path), modules)
        for name, path in modules.items()
    }
    bench = Bench(subject)
    bench.working([])
    for n, layer in enumerate(LAYERS):
        below = LAYERS[n + 1] if n + 1 < len(LAYERS) else None
        own = {name for name in modules if layer_of(name) == layer}
        used = {layer_of(module) for name in own for module in graph[name]}
        beyond = sorted(other for other in used if other not in (None, layer, below))
        expect(not beyond, f"{layer} imports only the layer below", beyond)
        expect(below is None or below in used, f"{layer} imports {below}", sorted(own))
        helpers = reached(own, graph)
        upward = sorted(
            (name, module)
            for name in helpers
            for module in graph[name]
            if layer_of(module)
        )
        expect(not upward, f"what {layer} imports besides imports no layer", upward)
        roots = {module.partition(".")[0] for name in own for module in graph[name]}
        speaks = n > 0 and bool(roots & {"http", "socketserver"})
        expect(not speaks, f"{layer} knows no HTTP", sorted(roots))
        emptied = {modules[name]: "" for name in own}
        needed = bench.failing(emptied, []) is None
        expect(needed, f"links need what is in {layer}", sorted(own))


def reached(start: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
    """Modules of no layer that are imported, by others of no layer or from `start`."""
    found: set[str] = set()
    waiting = [*start]
    while waiting:
        for module in graph[waiting.pop()]:
            if module in graph and layer_of(module) is None and module not in found:
                found.add(module)
                waiting.append(module)
    return found


# --- LNK-2: persistence -----------------------------------------------------


@persistence("links-survive")
def links_survive(subject: Subject) -> None:
    """Links and deletions that were acknowledged outlast a killed process."""
    running = subject.start()
    urls = [draw_url(subject) for _ in range(3)]
    codes = [create(subject, url) for url in urls]
    deleted = create(subject)
    running.restart(signal="KILL")
    expect_status(subject.http("DELETE", f"/links/{deleted}"), 204, "a deletion")
    url = draw_url(subject)
    links = [*zip(urls, codes, strict=True), (url, create(subject, url))]
    running.restart(signal="KILL")
    for url, code in links:
        expect_redirect(follow(subject, code), url)
    expect_status(follow(subject, deleted), 404, "a deleted link after a restart")


@persistence("expiry-survives")
def expiry_survives(subject: Subject) -> None:
    """A link expires when it would have without a restart, and stays expired.

    The restart comes a second after the link was made: a clock that starts again
    with the service is that much late.
    """
    running = subject.start()
    url = draw_url(subject)
    early, longer = create(subject, url, ttl_seconds=1), create(subject, url)
    made = post(subject, {"url": url, "ttl_seconds": 3})
    code = code_of(made)
    subject.until(Get(f"/{early}"), status=410, within_s=4.0)
    running.restart()
    first = follow(subject, early)
    expect_status(first, 410, "a link that had expired before")
    gone = subject.until(Get(f"/{code}"), status=410, within_s=4.0)
    assert isinstance(gone, Reply)
    in_time = gone.sent_s < max(made.sent_s + 3.9, first.sent_s + 1)
    late_s = gone.sent_s - made.sent_s
    expect(in_time, "seconds until a link with a ttl of 3 is gone", late_s)
    expect_redirect(follow(subject, longer), url)


@persistence("absent-file-starts-clean")
def absent_file_starts_clean(subject: Subject) -> None:
    """A file that is not there holds no links, one that is there those put into it."""
    running = subject.start()
    url = draw_url(subject)
    code = create(subject, url)
    running.restart(env={"DATA_FILE": f"{subject.random.word()}.links"})
    expect_status(follow(subject, code), 404, "a link of another file")
    create(subject)
    running.restart(env={"DATA_FILE": DATA})
    expect_redirect(follow(subject, code), url)


@persistence("damaged-file-kept-aside")
def damaged_file_kept_aside(subject: Subject) -> None:
    """A file that holds something else is moved aside, and the service works."""
    word = subject.random.word
    lines = "".join(f"{word()} {word()}\n" for _ in range(5)).encode()
    other = f'[{subject.random.randrange(10**6)}, "{word()}"]'.encode()
    damaged = {
        f"{word()}.links": data for data in (lines, other, b"\xff\xfe\x80" + lines)
    }
    write_bytes(subject, damaged)
    url = draw_url(subject)
    started = [
        (subject.start(env={"DATA_FILE": name}), create(subject, url))
        for name in damaged
    ]
    running, code = started[-1]
    running.restart()
    expect_redirect(follow(subject, code), url)
    for name, data in damaged.items():
        beside = {path: found for path, _, found in beside_of(subject, name)}
        kept = any(path != name and beside[path] == data for path in beside)
        expect(kept, f"{data[:20]!r} is kept beside {name}", beside)


def write_bytes(subject: Subject, files: Mapping[str, bytes]) -> None:
    """Write files of any bytes."""
    script = (
        "import sys; [open(n, 'wb').write(bytes.fromhex(data))"
        " for n, data in zip(sys.argv[1::2], sys.argv[2::2])]"
    )
    pairs = [(name, data.hex()) for name, data in files.items()]
    ran = subject.run("python", "-c", script, *itertools.chain(*pairs))
    expect(ran.exit == 0, "damaged files were written", ran)


def beside_of(subject: Subject, name: str) -> list[tuple[str, int, bytes]]:
    """Name, size and first bytes of all files whose names begin with this one."""
    script = (
        "import json, os, sys; print(json.dumps([(n, os.path.getsize(n),"
        " open(n, 'rb').read(1000).hex())"
        " for n in os.listdir() if n.startswith(sys.argv[1]) and os.path.isfile(n)]))"
    )
    ran = subject.run("python", "-c", script, name)
    expect(ran.exit == 0, "the files were listed", ran)
    found = parse_json(ran.stdout, "the list of files")
    return [(path, size, bytes.fromhex(data)) for path, size, data in found]


@persistence("failed-write-loses-nothing")
def failed_write_loses_nothing(subject: Subject) -> None:
    """With room for half of the file only, no acknowledged link is lost.

    The service is free to refuse the link posted then, or not to start at all.
    """
    running = subject.start()
    urls = [draw_url(subject, 1900) for _ in range(80)]
    made = [
        code_of(post(subject, {"url": url}, source=f"127.0.1.{1 + n // ALLOWED}"))
        for n, url in enumerate(urls)
    ]
    links = [*zip(urls, made, strict=True)]
    size = max((size for _, size, _ in beside_of(subject, DATA)), default=0)
    expect(size > 1900, "bytes of the data file", size)
    url = draw_url(subject, 1900)
    try:
        running.restart(limits={"fsize": size // 2})
        reply = post(subject, {"url": url}, source="127.0.1.99")
    except Failed:
        reply = None
    if reply is not None and reply.status == 201:
        links.append((url, code_of(reply)))
    running.restart(limits={})
    replies = subject.http_many([Get(f"/{code}") for _, code in links])
    for (url, _), reply in zip(links, replies, strict=True):
        expect_redirect(reply, url)


@persistence("changelog")
def persistence_changelog(subject: Subject) -> None:
    """The changelog tells of the ticket."""
    expect_entry(subject, "LNK-2")


@persistence("tests-bite")
def persistence_tests_bite(subject: Subject) -> None:
    """The tests notice when links are lost, or when a damaged file is not survived."""
    expect_bites(subject, [probe_survival, probe_damage])


def probe_survival(subject: Subject, running: Running) -> None:
    """A link and a deletion outlast a restart."""
    url = draw_url(subject)
    code, deleted = create(subject, url), create(subject)
    subject.http("DELETE", f"/links/{deleted}")
    running.restart(signal="KILL")
    expect_redirect(follow(subject, code, timeout_s=PROBE_S), url)
    expect_status(follow(subject, deleted, timeout_s=PROBE_S), 404, "a deleted link")


def probe_damage(subject: Subject, running: Running) -> None:
    """The service starts where its file is damaged."""
    folder = f"damage-{running.number}"
    name = f"{folder}/{DATA}"
    damaged = f"{subject.random.word()}\n{subject.random.word()}\n"
    subject.write(name, damaged)
    running.restart(signal="KILL", env={"DATA_FILE": f"../{name}"})
    create(subject)
    kept = [path for path in subject.list(folder) if subject.read(path) == damaged]
    expect(bool(kept), "the damaged file is kept", kept)


# --- LNK-3: abuse -----------------------------------------------------------


@abuse("normal-use-works")
def normal_use_works(subject: Subject) -> None:
    """Links are made as before, and redirects are not limited."""
    url = draw_url(subject)
    code = create(subject, url)
    for _ in range(2):
        for reply in subject.http_many([Get(f"/{code}") for _ in range(50)]):
            expect_redirect(reply, url)
    plain = url.replace("https://", "http://")
    expect_redirect(follow(subject, create(subject, plain)), plain)


@abuse("javascript-is-400")
def javascript_is_400(subject: Subject) -> None:
    """No script is accepted, however its scheme is written."""
    create(subject)
    word = subject.random.word
    urls = (
        f"javascript:{word()}(1)",
        f"javascript://{word()}.example/%0a{word()}(1)",
        f"JavaScript://{word()}.example/%0a{word()}(1)",
    )
    expect_refused(subject, ({"url": url} for url in urls))


@abuse("ftp-is-400")
def ftp_is_400(subject: Subject) -> None:
    """No scheme but those of the web is accepted."""
    create(subject)
    word = subject.random.word
    schemes = ("ftp", subject.random.choice(("sftp", "gopher", "ws")), word(5))
    expect_refused(
        subject, ({"url": f"{scheme}://{word()}.example/a"} for scheme in schemes)
    )


@abuse("long-url-refused")
def long_url_refused(subject: Subject) -> None:
    """A URL may be 2048 characters long."""
    create(subject, draw_url(subject, MAX_URL))
    for length in (10_000, MAX_URL + 1):
        reply = post(subject, {"url": draw_url(subject, length)})
        refused = reply.status in (400, 413, 414, 422)
        expect(refused, f"a URL of {length} characters is refused", reply)


@abuse("burst-meets-429")
def burst_meets_429(subject: Subject) -> None:
    """Sixty creates at once meet a 429 whatever their headers say, ten do not."""
    for reply in subject.http_many(
        [posted(draw_url(subject), source="127.0.0.11") for _ in range(ALLOWED)]
    ):
        code_of(reply)
    limited = [reply for reply in burst(subject, "127.0.0.12") if reply.status == 429]
    expect(bool(limited), "some of sixty creates at once are refused", len(limited))
    for reply in limited:
        expect_error(reply, 429, "rate_limited", "a create too many")


def burst(subject: Subject, source: str) -> tuple[Reply, ...]:
    """Sixty creates at once by one client that claims to be many."""
    draw = subject.random.randrange
    creates = [
        posted(
            draw_url(subject),
            source=source,
            headers={"X-Forwarded-For": f"10.{draw(256)}.{draw(256)}.{n + 1}"},
        )
        for n in range(BURST)
    ]
    return subject.http_many(creates)


@abuse("other-client-unaffected")
def other_client_unaffected(subject: Subject) -> None:
    """While one client makes too many links, another makes a few."""
    for reply in burst(subject, "127.0.0.21"):
        answered = reply.status in (201, 429)
        expect(answered, "a burst is answered with 201 or 429", reply)
    for _ in range(3):
        code_of(post(subject, {"url": draw_url(subject)}, source="127.0.0.22"))


@abuse("changelog")
def abuse_changelog(subject: Subject) -> None:
    """The changelog tells of the ticket."""
    expect_entry(subject, "LNK-3")


@abuse("tests-bite")
def abuse_tests_bite(subject: Subject) -> None:
    """The tests notice when what is to be refused is not, or the reverse."""
    expect_bites(subject, [probe_urls, probe_limit, probe_allowed])


def probe_urls(subject: Subject, _running: Running) -> None:
    """What is no short web address is refused."""
    urls = ("javascript://a.example/", "ftp://a.example/", draw_url(subject, 10_000))
    for url in urls:
        reply = post(subject, {"url": url}, source="127.0.0.31", timeout_s=PROBE_S)
        refused = reply.status is not None and 400 <= reply.status < 500
        expect(refused, f"{url} is refused", reply)


def probe_limit(subject: Subject, _running: Running) -> None:
    """A burst meets a 429."""
    replies = burst(subject, "127.0.0.32")
    expect(any(reply.status == 429 for reply in replies), "a burst is limited")


def probe_allowed(subject: Subject, _running: Running) -> None:
    """Ten creates are not limited, nor redirects."""
    for _ in range(ALLOWED):
        reply = post(subject, {"url": draw_url(subject)}, source="127.0.0.33")
        expect_status(follow(subject, code_of(reply)), 302, "a link")


# --- LNK-4: hits ------------------------------------------------------------


def expect_hits(subject: Subject, code: str, n: int, timeout_s: float = 10.0) -> None:
    """The statistics of a link show so many hits."""
    reply = subject.http("GET", f"/stats/{code}", timeout_s=timeout_s)
    expect_status(reply, 200, "the statistics of a link")
    body = reply.json
    right = isinstance(body, dict) and body.get("code") == code
    expect(right, f"the statistics name {code}", body)
    counted = body.get("hits")
    expect(type(counted) is int and counted == n, f"hits are {n}", body)


@hits("created")
def hits_created(subject: Subject) -> None:
    """Links are made as before, with a ttl or without."""
    url = draw_url(subject)
    reply = post(subject, {"url": url})
    code_of(reply)
    expect(reply.json.get("url") == url, f"url is {url}", reply)
    create(subject, url, ttl_seconds=60)
    expect_refused(subject, [{"url": "javascript:alert(1)"}, {}])


@hits("zero-hits")
def zero_hits(subject: Subject) -> None:
    """A link that nobody followed has no hits, however often one asks."""
    code = create(subject)
    for _ in range(3):
        expect_hits(subject, code, 0)


@hits("three-hits")
def three_hits(subject: Subject) -> None:
    """Every redirect counts, for its own link alone, in a burst too."""
    code, other = create(subject), create(subject)
    for _ in range(3):
        follow(subject, code)
    follow(subject, other)
    expect_hits(subject, code, 3)
    expect_hits(subject, other, 1)
    many = [Get(f"/{other}") for _ in range(subject.random.randrange(50, 60))]
    n = sum(reply.status == 302 for reply in subject.http_many(many))
    expect_hits(subject, other, 1 + n)
    expect_hits(subject, code, 3)


@hits("still-redirects")
def still_redirects(subject: Subject) -> None:
    """Links lead where they did, whether their hits were asked for or not."""
    urls = [draw_url(subject) for _ in range(2)]
    codes = [create(subject, url) for url in urls]
    for _ in range(2):
        for url, code in zip(urls, codes, strict=True):
            expect_redirect(follow(subject, code), url)
        subject.http("GET", f"/stats/{codes[0]}")


@hits("unknown-is-404")
def hits_unknown_is_404(subject: Subject) -> None:
    """An unknown code has no statistics, nor has a deleted one."""
    deleted = create(subject)
    expect_status(subject.http("DELETE", f"/links/{deleted}"), 204, "a deletion")
    for code in (subject.random.word(12), deleted):
        reply = subject.http("GET", f"/stats/{code}")
        expect_error(reply, 404, "not_found", "the statistics of an unknown code")


@hits("readme-names-route")
def readme_names_route(subject: Subject) -> None:
    """The README lists the route, and it is the one that is served."""
    listed = section(subject.read("README.md"), "Routes", "README.md")
    route = r"\bGET\b[\s`*|]{1,9}/stats/(?:<\w+>|\{\w+\}|:\w+|&lt;\w+&gt;)"
    named = re.search(route, listed.replace("\\", "")) is not None
    expect(named, "the README's routes name GET /stats/<code>", listed)
    reply = subject.http("GET", f"/stats/{create(subject)}")
    expect_status(reply, 200, "the route that the README lists")


@hits("changelog")
def hits_changelog(subject: Subject) -> None:
    """The changelog tells of the ticket."""
    expect_entry(subject, "LNK-4")


@hits("tests-bite")
def hits_tests_bite(subject: Subject) -> None:
    """The tests notice when hits are counted wrong, or told for what is unknown."""
    expect_bites(subject, [probe_hits])


def probe_hits(subject: Subject, _running: Running) -> None:
    """Hits begin at zero and count redirects; an unknown code has none."""
    code = create(subject)
    expect_hits(subject, code, 0, PROBE_S)
    for _ in range(2):
        follow(subject, code, timeout_s=PROBE_S)
    expect_hits(subject, code, 2, PROBE_S)
    reply = subject.http("GET", f"/stats/{subject.random.word(12)}", timeout_s=PROBE_S)
    expect_status(reply, 404, "the statistics of an unknown code")
