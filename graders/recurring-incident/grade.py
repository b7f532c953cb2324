"""recurring-incident: money moves once, by one mechanism, tested and written down.

What moved is read from the bank's statement and the ledger. Which module holds the
mechanism is found by faults: one whose statement mutants let a retry pay again.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalkit.grader import (
    Call,
    Checks,
    Failed,
    Question,
    Returned,
    Subject,
    expect,
    fail,
    mutants_of,
    parse_json,
)

REFUNDS, PAYOUTS = "payments/refunds.py", "payments/payouts.py"
FUNCTIONS = {
    "refund": "payments.refunds:refund",
    "payout": "payments.payouts:payout",
}
MODULES = {"refund": REFUNDS, "payout": PAYOUTS}
NOT_OURS = ("payments/ledger.py", "payments/gateway.py")
SHIPPED_TESTS = (
    *("tests/__init__.py", "tests/support.py", "tests/test_payouts.py"),
    *("tests/test_refunds.py", "tests/test_report.py"),
)
SECTIONS = ("Applies to", "Trigger", "Mechanism", "Procedure")
MAX_PATHS = 6
MIN_ITEMS = 3
INCIDENTS = {"INC-227", "INC-241"}
SAME_FAMILY = {"INC-201"}
"""Refunds paid twice as well: a note may be about it too."""

N_OVERLAPPING = 8
N_CONCURRENT = 20
MAX_TRIED = 200
MAX_HUNG = 8
HANGS_S = 2.5

refunds = Checks(
    {
        "refund-once-in-process": 20,
        "refund-once-across-restart": 20,
        "refund-test-bites": 30,
        "runbook": 20,
        "mechanism-in-shared-module": 10,
    },
    step="refunds",
)
payouts = Checks(
    {
        "payout-once-when-concurrent": 40,
        "payout-reuses-mechanism": 30,
        "payout-test-bites": 20,
        "runbook-covers-payouts": 10,
    },
    step="payouts",
)
handoff = Checks(
    {
        "note-exists": 20,
        "note-paths-exist": 30,
        "note-names-mechanism-and-procedure": 30,
        "note-covers-both-incidents": 20,
    },
    step="handoff",
)


# --- money ------------------------------------------------------------------


class Payment(NamedTuple):
    """What a caller asked for."""

    kind: str
    party: str
    cents: int
    request_id: str

    @property
    def call(self) -> Question:
        """The call that asks for it."""
        return Call(FUNCTIONS[self.kind], self.party, self.cents, self.request_id)


class Desk:
    """A data directory of its own, with the files that every build copies in."""

    def __init__(self, subject: Subject, name: str) -> None:
        self._subject = subject
        self._folder = name
        for path in NOT_OURS:
            subject.write(path, subject.original(path))
        subject.write(f"{name}/.keep", "")

    def ask(
        self,
        payments: Sequence[Payment],
        how: str = "sequence",
        timeout_s: float = 30.0,
        **settings: str,
    ) -> tuple[Returned, ...]:
        """Ask for payments, in fresh processes."""
        return self._subject.call_many(
            [payment.call for payment in payments],
            how=how,
            env={"PAYMENTS_DATA": self._folder, **settings},
            timeout_s=timeout_s,
        )

    def receipts(self, answers: Sequence[Returned]) -> list[tuple[str, Payment]]:
        """The receipts that came back."""
        return [_entry(answer.value) for answer in answers]

    def lines(self, name: str) -> list[object]:
        """Parsed lines of a file of the data directory; none where there is none."""
        path = f"{self._folder}/{name}"
        if not self._subject.exists(path):
            return []
        text = self._subject.read(path)
        return [parse_json(line, f"a line of {name}") for line in text.splitlines()]

    def entries(self) -> list[tuple[str, Payment]]:
        """The ledger: the bank's id and what was paid."""
        return [_entry(line) for line in self.lines("ledger.jsonl")]

    def n_paid(self, payment: Payment) -> int | None:
        """How often it was paid; None where bank and ledger tell different stories."""
        sent = [_sent(line) for line in self.lines("bank.jsonl")]
        made = [transfer for transfer, entered in sent if entered == payment[:3]]
        entered = [transfer for transfer, found in self.entries() if found == payment]
        return len(made) if sorted(made) == sorted(entered) else None

    def expect_paid(
        self,
        payments: Sequence[Payment],
        receipts: Sequence[tuple[str, Payment]],
    ) -> None:
        """Bank and ledger show exactly these payments, and receipts are of them."""
        sent = [_sent(line) for line in self.lines("bank.jsonl")]
        moved = sorted(payment for _, payment in sent)
        wanted = sorted(payment[:3] for payment in payments)
        expect(moved == wanted, f"{len(wanted)} payments made, not {len(moved)}", moved)
        entries = self.entries()
        entered = sorted(payment for _, payment in entries)
        expect(entered == sorted(payments), "what the ledger holds", entered)
        same = [(transfer, payment[:3]) for transfer, payment in entries]
        expect(sorted(same) == sorted(sent), "ledger and bank agree", same)
        for receipt in receipts:
            expect(receipt in entries, "a receipt is of the payment made", receipt)


def _entry(line: object) -> tuple[str, Payment]:
    """The bank's id and the payment of a receipt or a line of the ledger."""
    names = ("transfer", "kind", "party", "cents", "request_id")
    if not isinstance(line, dict) or not set(names) <= set(line):  # pyright: ignore[reportUnknownArgumentType]
        fail("an entry of the ledger", line)
    found: dict[str, object] = line
    transfer, kind, party, cents, request_id = (found[name] for name in names)
    return str(transfer), Payment(str(kind), str(party), _cents(cents), str(request_id))


def _sent(line: object) -> tuple[str, tuple[str, str, int]]:
    """The bank's id and what it moved."""
    assert isinstance(line, dict)
    found: dict[str, object] = line
    moved = (str(found["kind"]), str(found["party"]), _cents(found["cents"]))
    return str(found["transfer"]), moved


def _cents(value: object) -> int:
    if type(value) is not int:
        fail("an amount in cents", value)
    return value


def drawn(subject: Subject, kind: str, request_id: str | None = None) -> Payment:
    """A random payment."""
    party = f"{kind[0]}-{subject.random.word()}"
    cents = subject.random.randrange(500, 90_000)
    return Payment(kind, party, cents, request_id or new_id(subject))


def new_id(subject: Subject) -> str:
    """A random request id, of the sort that makes no good file name."""
    return f"{subject.random.word(4)}/{subject.random.word(6)} é"


def again(payment: Payment, request_id: str) -> Payment:
    """An equal payment under another request id."""
    return payment._replace(request_id=request_id)


def expect_declined(answers: Sequence[Returned]) -> None:
    """Every call raised the bank's refusal."""
    for answer in answers:
        expect(answer.raises("Declined"), "what the bank refuses raises", answer)


@refunds("refund-once-in-process")
def refund_once_in_process(subject: Subject) -> None:
    """Retries in one process pay once; equal refunds with other ids are paid."""
    desk = Desk(subject, "desk")
    first, long = drawn(subject, "refund"), subject.random.word(199)
    distinct = [
        again(first, first.request_id.replace("/", "_")),
        again(first, first.request_id.upper()),
        again(first, f"{long}é"),
        again(first, f"{long}e"),
        again(first, new_id(subject))._replace(cents=1),
    ]
    asked = [first, first, *distinct, *distinct, first]
    small = again(first, new_id(subject))._replace(cents=0)
    large = again(first, new_id(subject))._replace(cents=1_000_001)
    answers = desk.ask([*asked, small, large, large])
    *receipted, refused, one, other = answers
    receipts = desk.receipts(receipted)
    desk.expect_paid([first, *distinct], receipts)
    got = [payment for _, payment in receipts]
    expect(got == asked, "each receipt is of the refund asked for", got)
    expect(refused.raises("ValueError"), "a refund of nothing raises", refused)
    expect_declined([one, other])
    overlapping, beside = drawn(subject, "refund"), drawn(subject, "refund")
    answers = desk.ask([overlapping] * N_OVERLAPPING + [beside], "threads")
    desk.expect_paid([first, *distinct, overlapping, beside], desk.receipts(answers))


@refunds("refund-once-across-restart")
def refund_once_across_restart(subject: Subject) -> None:
    """A retry after a restart pays only where nothing was paid before it."""
    desk = Desk(subject, "desk")
    first = drawn(subject, "refund")
    refused, fresh = again(first, new_id(subject)), again(first, new_id(subject))
    before = desk.receipts(desk.ask([first]))
    expect_declined(desk.ask([refused], BANK_LIMIT_CENTS="1"))
    after = desk.receipts(desk.ask([first, refused, fresh, refused]))
    desk.expect_paid([first, refused, fresh], [*before, *after])
    expect(after[0] == before[0], "the retry gets the receipt", after[0])


@payouts("payout-once-when-concurrent")
def payout_once_when_concurrent(subject: Subject) -> None:
    """Concurrent retries, in threads and in processes, and later ones pay once."""
    desk = Desk(subject, "desk")
    threaded = drawn(subject, "payout")
    forked = again(threaded, new_id(subject))
    refused, fresh = again(threaded, new_id(subject)), again(threaded, new_id(subject))
    refund = drawn(subject, "refund", threaded.request_id)
    answers = desk.ask([threaded] * N_CONCURRENT, "threads")
    answers += desk.ask([forked] * N_CONCURRENT, "processes")
    desk.expect_paid([threaded, forked], desk.receipts(answers))
    expect_declined(desk.ask([refused], BANK_LIMIT_CENTS="1"))
    least = again(threaded, new_id(subject))._replace(cents=100)
    small = again(threaded, new_id(subject))._replace(cents=99)
    later = [threaded, forked, refused, fresh, refund, refund, refused, least]
    *answers, too_small = desk.ask([*later, small])
    receipts = desk.receipts(answers)
    desk.expect_paid([threaded, forked, refused, fresh, refund, least], receipts)
    got = [payment for _, payment in receipts]
    expect(got == later, "each receipt is of the payment asked for", got)
    expect(too_small.raises("ValueError"), "a payout below 100 cents raises", too_small)


# --- tests ------------------------------------------------------------------


@refunds("refund-test-bites")
def refund_test_bites(subject: Subject) -> None:
    """A test in the suite fails when the refunds are as they were."""
    check_bites(subject, REFUNDS)


@payouts("payout-test-bites")
def payout_test_bites(subject: Subject) -> None:
    """A test in the suite fails when the payouts are as they were."""
    check_bites(subject, PAYOUTS)


def check_bites(subject: Subject, path: str) -> None:
    """A delivered test fails on a module as it was, by what that does.

    The delivered text stays in it as comments, for tests that look words up.
    """
    delivered = "".join(f"# {line}\n" for line in subject.read(path).splitlines())
    was = f"{subject.original(path)}\n\n{delivered}"
    subject.mutant({path: was}, shipped=SHIPPED_TESTS)


# --- the mechanism ----------------------------------------------------------


class Imports:
    """Which modules of the workspace import which, by reading them."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._paths = {path for path in subject.list() if path.endswith(".py")}

    def reached(self, path: str) -> set[str]:
        """The modules that one imports, directly or not."""
        found: set[str] = set()
        left = [path]
        while left:
            new = set(self._imported(left.pop())) - found
            found |= new
            left += sorted(new)
        return found

    def _imported(self, path: str) -> Iterator[str]:
        if path not in self._paths:
            return
        package = path.split("/")[:-1]
        for node in ast.walk(parsed(path, self._subject.read(path))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._found(alias.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                base = above + (node.module.split(".") if node.module else [])
                for alias in node.names:
                    inner = [*self._found([*base, alias.name])]
                    yield from inner or self._found(base)

    def _found(self, parts: Sequence[str]) -> Iterator[str]:
        name = "/".join(parts)
        yield from {f"{name}.py", f"{name}/__init__.py"} & self._paths


def parsed(path: str, text: str) -> ast.Module:
    """A module's tree; fails the check where it is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        fail(f"{path} is no Python", str(error))


class Faults(NamedTuple):
    """Statement mutants of some modules, tried on retries.

    A mutant counts where every kind pays more often than the delivered code does,
    and enters it all in the ledger: who does not record at all only seems to.
    """

    subject: Subject
    kinds: Sequence[str]

    def found_in(self, paths: Sequence[str]) -> bool:
        """True where a fault in one of these modules lets all kinds pay again."""
        asked = [drawn(self.subject, kind) for kind in self.kinds]
        usual = self._paid(asked, "as-delivered", 10 * HANGS_S)
        if not usual:
            return False
        n_hung = 0
        for n, (path, text, faulty) in enumerate(self._mutants(paths)):
            self.subject.write(path, faulty)
            try:
                paid = self._paid(asked, f"mutant-{n}", HANGS_S)
            finally:
                self.subject.write(path, text)
            if paid and all(paid[kind] > usual[kind] for kind in self.kinds):
                return True
            n_hung += paid == {}
            if n_hung > MAX_HUNG or n > MAX_TRIED:
                break
        return False

    def _mutants(self, paths: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        for path in paths:
            if path not in NOT_OURS:
                text = self.subject.read(path)
                parsed(path, text)
                for faulty in faults_of(text):
                    yield path, text, faulty

    def _paid(
        self, asked: Sequence[Payment], name: str, within_s: float
    ) -> dict[str, int] | None:
        """How often each kind was paid; None if muddled, empty if it hung."""
        desk = Desk(self.subject, name)
        for payments in ([p for p in asked for _ in range(2)], asked):
            answers = desk.ask(payments, timeout_s=within_s, BANK_LATENCY_MS="0")
            if any(answer.error == "timeout" for answer in answers):
                return {}
        found = {payment.kind: _n_paid(desk, payment) for payment in asked}
        whole = {kind: n for kind, n in found.items() if n is not None}
        return whole if len(whole) == len(found) else None


def _n_paid(desk: Desk, payment: Payment) -> int | None:
    try:
        return desk.n_paid(payment)
    except Failed:  # a mutant may write anything into the ledger
        return None


def faults_of(text: str) -> Iterator[str]:
    """Single-statement mutants: of the kit, and others before them.

    A claim made by creating a file has none of the kit that lets a retry through.
    """
    tree = ast.parse(text)
    nodes = [*ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from _with(tree, node, "right", node.left)
        if isinstance(node, ast.Constant) and node.value in ("x", "xb", "xt", "x+"):
            yield from _with(tree, node, "value", node.value.replace("x", "w"))
    for node in nodes:
        if isinstance(node, ast.If | ast.IfExp):
            for value in (False, True):
                yield from _with(tree, node, "test", ast.Constant(value))
    for node in nodes:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not isinstance(node, ast.Module):
                yield from _without_one(tree, block)  # pyright: ignore[reportUnknownArgumentType]
    yield from (mutant.text for mutant in mutants_of(text))


def _without_one(tree: ast.AST, block: list[ast.stmt]) -> Iterator[str]:
    """A block without one of its statements."""
    for n, statement in enumerate(block):
        documents = isinstance(statement, ast.Expr) and isinstance(
            statement.value, ast.Constant
        )
        if not documents and not isinstance(statement, ast.Pass):
            block[n] = ast.Pass()
            yield ast.unparse(tree)
            block[n] = statement


def _with(tree: ast.AST, node: ast.AST, name: str, value: object) -> Iterator[str]:
    """A node with another part."""
    kept = getattr(node, name)
    setattr(node, name, value)
    yield ast.unparse(tree)
    setattr(node, name, kept)


@refunds("mechanism-in-shared-module")
def mechanism_in_shared_module(subject: Subject) -> None:
    """A module that knows no kind of payment keeps refunds from being paid twice."""
    imports = Imports(subject)
    kinds = {REFUNDS, PAYOUTS}
    candidates = [
        path
        for path in sorted(imports.reached(REFUNDS) - kinds - {*NOT_OURS})
        if not imports.reached(path) & kinds
    ]
    expect(
        Faults(subject, ["refund"]).found_in(candidates),
        "a module apart from the kinds prevents double refunds",
        candidates,
    )


@payouts("payout-reuses-mechanism")
def payout_reuses_mechanism(subject: Subject) -> None:
    """One fault in one module lets refunds and payouts be paid twice."""
    imports = Imports(subject)
    reached = [imports.reached(path) | {path} for path in (REFUNDS, PAYOUTS)]
    shared = sorted(set.intersection(*reached) - {*NOT_OURS})
    expect(
        Faults(subject, ["refund", "payout"]).found_in(shared),
        "one module prevents double payments of both kinds",
        shared,
    )


# --- documents --------------------------------------------------------------

FENCE = re.compile(r"^\s*(?:```|~~~)")
CODE = re.compile(r"`+([^`\n]+)`+")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)[\s#:]*$")
ITEM = re.compile(r"^[#\s>*_]*\d+[.)][*_]*\s+\S")
TOLD_APART = re.compile(r"[:#(].*")
"""What may follow a path: a name in it, a line."""
OPEN = re.compile(r"[<>{}*$…=,;|\s]|://|\.\.\.|^[/~$-]|^data/")
"""Not a path of the repository: a placeholder, an address, data, an option."""
FILE = re.compile(r"\.(?:py|md|sh|toml|cfg|ini|txt|ya?ml)$")
COMMAND = re.compile(r"^(?:[$>]\s+)?(?:\w+=\S*\s+)*python3?\s+(?:-m\s+)?(\S+)")
LABEL = r"^[\s>#*_-]*{}[*_`]*\s*:[*_]*(.*)$"
NOTE = re.compile(
    r"docs/handoffs/\d{4}-\d\d-\d\d-[a-z0-9]+(?:-[a-z0-9]+)*\.md", re.ASCII
)


class Page:
    """A Markdown document of the workspace."""

    def __init__(self, subject: Subject, path: str) -> None:
        self._folder = posixpath.dirname(path)
        self._files = frozenset(subject.list())
        self.text = subject.read(path)
        self.lines = self.text.splitlines()

    def sections(self) -> dict[str, list[str]]:
        """Lines below each second-level heading, by its name in lower case."""
        found: dict[str, list[str]] = {}
        current: list[str] = []
        for line, fenced in _with_fences(self.lines):
            heading = None if fenced else HEADING.match(line)
            if heading and len(heading[1]) <= 2:
                name = heading[2].lower() if len(heading[1]) == 2 else ""
                current = found.setdefault(name, [])
            else:
                current.append(line)
        return found

    def paths(self, lines: Sequence[str]) -> tuple[set[str], set[str]]:
        """Paths named in some lines: those that exist, and those that do not."""
        there: set[str] = set()
        missing: set[str] = set()
        for line, fenced in _with_fences(lines):
            named = [] if fenced else [*CODE.findall(line), *LINK.findall(line)]
            for word in named:
                path = self._path(word.strip())
                if path in self._files or self._is_folder(path):
                    there.add(path)
                elif path:
                    missing.add(path)
        return there, missing

    def commands(self, lines: Sequence[str]) -> set[str]:
        """What commands run that are named in some lines and exist."""
        found: set[str] = set()
        for line, fenced in _with_fences(lines):
            # A block may also be one that is indented.
            named = [line] if fenced else [*CODE.findall(line), line]
            for words in named:
                match = COMMAND.match(words.strip())
                if match and self._runs(match[1]):
                    found.add(match[1])
        return found

    def _path(self, word: str) -> str:
        """The path a word is, from the root; empty where it is none."""
        bare = TOLD_APART.sub("", word)
        if not bare or OPEN.search(bare):
            return ""
        from_root = posixpath.normpath(bare)
        from_here = posixpath.normpath(posixpath.join(self._folder, bare))
        for path in (from_root, from_here, f"{from_root}.py"):
            if path in self._files or self._is_folder(path):
                return path
        first, slash, _ = from_root.partition("/")
        is_path = FILE.search(bare) or self._is_folder(first) or first == ".."
        return from_root if slash and is_path else ""

    def _is_folder(self, path: str) -> bool:
        return bool(path) and any(file.startswith(f"{path}/") for file in self._files)

    def _runs(self, word: str) -> bool:
        if word in self._files or posixpath.normpath(word) in self._files:
            return True
        name = word.replace(".", "/")
        own = {f"{name}.py", f"{name}/__main__.py"} & self._files
        return bool(own) or word.split(".", maxsplit=1)[0] in sys.stdlib_module_names


def _with_fences(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Lines, each with whether it is in a fenced block; fences themselves are not."""
    fenced = False
    for line in lines:
        if FENCE.match(line):
            fenced = not fenced
        else:
            yield line, fenced


def check_runbook(subject: Subject, path: str, kind: str) -> None:
    """It has the sections of a runbook, is about a kind, and names its mechanism."""
    page = Page(subject, path)
    sections = page.sections()
    absent = [name for name in SECTIONS if name.lower() not in sections]
    expect(not absent, f"{path} has its sections", absent)
    _, missing = page.paths(page.lines)
    expect(not missing, f"every path in {path} exists", sorted(missing))
    named = {name: page.paths(sections[name.lower()])[0] for name in SECTIONS}
    about = named["Applies to"]
    expect(MODULES[kind] in about, f"{path} applies to {MODULES[kind]}", sorted(about))
    for name in SECTIONS:
        n_paths = len(named[name])
        expect(n_paths <= MAX_PATHS, f"paths in {name} of {path}", n_paths)
        places = named[name] | page.commands(sections[name.lower()])
        expect(bool(places), f"{name} of {path} names a path or command", "none")
    items = [line for line in sections["procedure"] if ITEM.match(line)]
    expect(len(items) >= MIN_ITEMS, f"numbered steps in {path}", len(items))
    modules = modules_of(subject, named["Mechanism"])
    expect(
        Faults(subject, [kind]).found_in(modules),
        f"{path} names the module that prevents a second {kind}",
        modules,
    )


def modules_of(subject: Subject, paths: set[str]) -> list[str]:
    """Modules among paths; a folder stands for those in it."""
    return [
        file
        for path in sorted(paths)
        for file in ([path] if path.endswith(".py") else subject.list(path))
        if file.endswith(".py") and not file.startswith("tests/")
    ]


def expect_runbook(subject: Subject, kind: str) -> None:
    """One of the runbooks is about a kind of payment, and holds what it must."""
    reasons: list[str] = []
    for path in runbooks(subject):
        try:
            check_runbook(subject, path, kind)
        except Failed as failed:
            reasons.append(str(failed))
        else:
            return
    fail(f"a runbook for {MODULES[kind]}", " | ".join(reasons[::-1]) or "none")


def runbooks(subject: Subject) -> list[str]:
    """Paths of the runbooks."""
    return [path for path in subject.list("docs/runbooks") if path.endswith(".md")]


@refunds("runbook")
def runbook(subject: Subject) -> None:
    """Somebody who is called can follow the runbook for refunds."""
    expect_runbook(subject, "refund")


@payouts("runbook-covers-payouts")
def runbook_covers_payouts(subject: Subject) -> None:
    """A runbook is about payouts as well."""
    expect_runbook(subject, "payout")


def note(subject: Subject) -> Page:
    """The handoff note; of several the last by name, which is the newest."""
    paths = [path for path in subject.list("docs/handoffs") if NOTE.fullmatch(path)]
    if not paths:
        fail("a note in docs/handoffs", subject.list("docs/handoffs"))
    page = Page(subject, paths[-1])
    expect(bool(page.text.strip()), "the note says something", paths[-1])
    return page


def labelled(page: Page, label: str) -> list[str]:
    """What stands on the lines of a note that begin with a label."""
    pattern = re.compile(LABEL.format(label), re.IGNORECASE)
    found = [m[1] for line, _ in _with_fences(page.lines) if (m := pattern.match(line))]
    expect(bool(found), f"a line of the note begins with {label}:", "none does")
    return found


def one_path(page: Page, label: str) -> str:
    """The only path on the lines with a label."""
    lines = labelled(page, label)
    there, missing = page.paths(lines)
    if not there and not missing:
        there, missing = page.paths([f"`{word}`" for word in " ".join(lines).split()])
    expect(not missing, f"what follows {label}: exists", sorted(missing))
    expect(len(there) == 1, f"one path follows {label}:", sorted(there) or lines)
    return there.pop()


@handoff("note-exists")
def note_exists(subject: Subject) -> None:
    """There is a note, where notes are looked for."""
    note(subject)


@handoff("note-paths-exist")
def note_paths_exist(subject: Subject) -> None:
    """The note names places, and all of them are there."""
    page = note(subject)
    there, missing = page.paths(page.lines)
    expect(not missing, "every path in the note exists", sorted(missing))
    expect(len(there) >= 2, "the note names two paths", sorted(there))


@handoff("note-names-mechanism-and-procedure")
def note_names_mechanism_and_procedure(subject: Subject) -> None:
    """The note leads to the module that prevents it, and to the runbook."""
    page = note(subject)
    procedure = one_path(page, "Procedure")
    expect(procedure in runbooks(subject), "Procedure: leads to a runbook", procedure)
    book = Page(subject, procedure)
    about = book.paths(book.sections().get("applies to", []))[0]
    expect(
        bool(about & {REFUNDS, PAYOUTS}),
        f"{procedure} is about payments",
        sorted(about),
    )
    mechanism = one_path(page, "Mechanism")
    expect(
        Faults(subject, ["refund", "payout"]).found_in(
            modules_of(subject, {mechanism})
        ),
        "Mechanism: leads to the module that prevents both",
        mechanism,
    )


@handoff("note-covers-both-incidents")
def note_covers_both_incidents(subject: Subject) -> None:
    """The note says which incidents it is about."""
    named = set(
        re.findall(r"\bINC-\d+", " ".join(labelled(note(subject), "Incidents")))
    )
    expect(named >= INCIDENTS, "the note is about both incidents", sorted(named))
    others = named - INCIDENTS - SAME_FAMILY
    expect(not others, "the note is about no other incidents", sorted(others))
