"""Statement mutants of Python source: one small change each, the rest as it was.

Texts are left alone, so that no wording counts as behaviour, and so are names
bound once, whose loss every run would notice. What is changed: a statement is
left out, a condition is turned round, an operator or a number is another, a value
is not returned, a handler does not catch, a block is entered without its `with`.
"""

from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

MAX_SHOWN = 48
COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
"""How an operator is found between its operands, and what takes its place."""
CALCULATED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
    ast.BitXor: (r"\^", "&"),
}
LEFT_OUT = (ast.Raise, ast.AugAssign, ast.Delete, ast.Assert, ast.Break, ast.Continue)
_Node = ast.expr | ast.stmt


class Mutant(NamedTuple):
    """A module with one change.

    `line` counts from 1; `what` tells the change and is unique in its line;
    `text` is the whole module.
    """

    line: int
    what: str
    text: str

    def __str__(self) -> str:
        """As in "12: `a < b` becomes `a <= b`"."""
        return f"{self.line}: {self.what}"


class _Edit(NamedTuple):
    """Bytes `start` to `end` of a module become others."""

    start: int
    end: int
    new: str


class _Source:
    """A module's bytes, and where its nodes are in them."""

    def __init__(self, text: str) -> None:
        self.raw = text.encode()
        lines = self.raw.splitlines(keepends=True)
        self._starts = [0, *itertools.accumulate(map(len, lines))]

    def line(self, at: int) -> int:
        """The line of a byte, from 1."""
        return bisect.bisect_right(self._starts, at)

    def span(self, first: _Node, last: _Node | None = None) -> tuple[int, int]:
        """First byte of a node, and the one after its end, or another's."""
        last = last or first
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        start = self._starts[first.lineno - 1] + first.col_offset
        return start, self._starts[last.end_lineno - 1] + last.end_col_offset

    def text(self, start: int, end: int) -> str:
        """What stands there."""
        return self.raw[start:end].decode()

    def between(
        self, left: ast.expr, right: ast.expr, change: tuple[str, str]
    ) -> Iterator[_Edit]:
        """The operator between two operands becomes another."""
        start, end = self.span(left)[1], self.span(right)[0]
        pattern, new = change
        found = re.search(pattern, self.text(start, end))
        if found:
            yield _Edit(start + found.start(), start + found.end(), new)

    def changed(self, edit: _Edit) -> bytes:
        """The module with a change."""
        return self.raw[: edit.start] + edit.new.encode() + self.raw[edit.end :]


def mutants_of(text: str) -> tuple[Mutant, ...]:
    """All mutants of a module, in the order of its lines.

    Args:
        text: Source of a module.

    Raises:
        SyntaxError: It is no Python.
    """
    tree, source = ast.parse(text), _Source(text)
    edits = sorted({found for node in _walk(tree) for found in _edits(node, source)})
    mutants: list[Mutant] = []
    seen = {ast.dump(tree)}
    told: Counter[tuple[int, str]] = Counter()
    for edit, (start, end) in edits:
        raw = source.changed(edit)
        try:
            dumped = ast.dump(ast.parse(raw))
        except SyntaxError:  # an operand was in parentheses of its own
            continue
        if dumped in seen:
            continue
        seen.add(dumped)
        new = source.text(start, edit.start) + edit.new + source.text(edit.end, end)
        line = source.line(edit.start)
        what = f"`{_short(source.text(start, end))}` becomes `{_short(new)}`"
        told[line, what] += 1
        if told[line, what] > 1:
            what += f" ({told[line, what]})"
        mutants.append(Mutant(line, what, raw.decode()))
    return tuple(mutants)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of annotations, and of f-strings, whose place is unknown."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                    yield from _walk(child)


def _edits(node: ast.AST, source: _Source) -> Iterator[tuple[_Edit, tuple[int, int]]]:
    """Changes of a node, each with the part of the source that shows it."""
    for kind, change in CHANGES.items():
        if isinstance(node, kind):
            for edit in change(node, source):
                whole = isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp)
                yield edit, source.span(node) if whole else (edit.start, edit.end)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}..."


# --- changes ----------------------------------------------------------------


def _leave_out(node: ast.stmt, source: _Source) -> Iterator[_Edit]:
    is_call = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    sets_part = isinstance(node, ast.Assign) and not all(
        isinstance(target, ast.Name) for target in node.targets
    )
    if is_call or sets_part or isinstance(node, LEFT_OUT):
        yield _Edit(*source.span(node), "pass")


def _turn_round(
    node: ast.If | ast.While | ast.IfExp | ast.comprehension, source: _Source
) -> Iterator[_Edit]:
    for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
        start, end = source.span(test)
        if not isinstance(test, ast.Constant) and not _has_opposite(test):
            yield _Edit(start, end, f"(not ({source.text(start, end)}))")


def _has_opposite(test: ast.expr) -> bool:
    """Another change turns it round already."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return not isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _compare(node: ast.Compare, source: _Source) -> Iterator[_Edit]:
    operands = [node.left, *node.comparators]
    for n, operator in enumerate(node.ops):
        left, right = operands[n : n + 2]
        yield from source.between(left, right, COMPARED[type(operator)])


def _calculate(node: ast.BinOp, source: _Source) -> Iterator[_Edit]:
    """Texts are joined and filled, not calculated."""
    textual = any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (node.left, node.right)
    )
    if type(node.op) in CALCULATED and not textual:
        yield from source.between(node.left, node.right, CALCULATED[type(node.op)])


def _join(node: ast.BoolOp, source: _Source) -> Iterator[_Edit]:
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    left, right = node.values[:2]
    yield from source.between(left, right, (rf"\b{old}\b", new))


def _drop_sign(node: ast.UnaryOp, source: _Source) -> Iterator[_Edit]:
    yield _Edit(*source.span(node), f"({source.text(*source.span(node.operand))})")


def _take_another(node: ast.Constant, source: _Source) -> Iterator[_Edit]:
    """A number is one more, a truth is the other."""
    if isinstance(node.value, bool):
        yield _Edit(*source.span(node), str(not node.value))
    elif isinstance(node.value, int | float):
        yield _Edit(*source.span(node), repr(node.value + 1))


def _return_nothing(node: ast.Return, source: _Source) -> Iterator[_Edit]:
    if node.value is not None:
        yield _Edit(*source.span(node.value), "None")


def _let_through(node: ast.ExceptHandler, source: _Source) -> Iterator[_Edit]:
    yield _Edit(*source.span(node.body[0], node.body[-1]), "raise")


def _enter_without(node: ast.With, source: _Source) -> Iterator[_Edit]:
    if all(item.optional_vars is None for item in node.items):
        start = source.span(node)[0]
        last = source.span(node.items[-1].context_expr)[1]
        yield _Edit(start, last, "if True")


CHANGES: dict[Any, Callable[[Any, _Source], Iterator[_Edit]]] = {
    ast.stmt: _leave_out,
    (ast.If, ast.While, ast.IfExp, ast.comprehension): _turn_round,
    ast.Compare: _compare,
    ast.BinOp: _calculate,
    ast.BoolOp: _join,
    ast.UnaryOp: _drop_sign,
    ast.Constant: _take_another,
    ast.Return: _return_nothing,
    ast.ExceptHandler: _let_through,
    ast.With: _enter_without,
}
"""What may change in which kind of node."""
