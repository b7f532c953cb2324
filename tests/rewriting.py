"""Cheats that understand nothing: programs rewritten by rules about words and syntax.

A cheat gets the modules of a program and the words of a task, and puts the words
where words go, or changes statements without a thought for what they do. What it
makes is valid Python, and the same for a seed.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple, TypeVar

CODE_WORD = re.compile(r"\w*_\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*|[A-Z]{3,}|\S*:\S*\w")
CLOSE = 0.5
"""Likeness from which a name is taken for one that the task names."""
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
}
Modules = dict[str, ast.Module]
T = TypeVar("T")


class Told(NamedTuple):
    """What a cheat knows of a task."""

    text: str
    kept: frozenset[str]
    """Words of documents and tests: names that others may use."""

    def nouns(self, drawn: Random) -> list[str]:
        """Words of the task that can be names, shuffled."""
        found = sorted(
            {word.lower() for word in re.findall(r"[A-Za-z]{4,}", self.text)}
        )
        usable = [
            w for w in found if not keyword.iskeyword(w) and not hasattr(builtins, w)
        ]
        drawn.shuffle(usable)
        return usable

    def code_words(self) -> list[str]:
        """Words of the task that look like code, in order."""
        found = (word.strip(",.`") for word in CODE_WORD.findall(self.text))
        return list(dict.fromkeys(found))

    def error(self) -> str:
        """The error that the task names last, if it names any."""
        named = [word for word in self.code_words() if word.endswith("Error")]
        return ("TaskError", *named)[-1]


Cheat = Callable[[Modules, Told, Random], object]


def rewritten(
    program: dict[str, str], told: Told, cheats: tuple[Cheat, ...], seed: object
) -> dict[str, str]:
    """The modules of a program, by path, after some cheats."""
    drawn = Random(f"{seed}")
    modules = {path: ast.parse(text) for path, text in sorted(program.items())}
    for cheat in cheats:
        cheat(modules, told, drawn)
    texts = {
        path: ast.unparse(ast.fix_missing_locations(module)) + "\n"
        for path, module in modules.items()
    }
    for path, text in texts.items():
        compile(text, path, "exec")
    return texts


# --- words ------------------------------------------------------------------


def rename(modules: Modules, told: Told, drawn: Random) -> None:
    """Give all names that nobody outside uses the nouns of the task."""
    names = sorted(_own_names(modules) - told.kept)
    nouns = [noun for noun in told.nouns(drawn) if noun not in _all_names(modules)]
    chosen = dict(zip(names, _endless(nouns), strict=False))
    for node in _nodes(modules):
        for field in ("id", "arg", "attr", "name"):
            if getattr(node, field, None) in chosen:
                setattr(node, field, chosen[getattr(node, field)])


def dress(modules: Modules, told: Told, drawn: Random) -> None:
    """Explain everything with the words of the task, and define some of them."""
    taken = _all_names(modules)
    nouns = [noun for noun in told.nouns(drawn) if noun not in taken][:3]
    for module in modules.values():
        for noun in nouns:
            text = f"{noun} = {told.text!r}\ndef get_{noun}():\n    return {noun}"
            module.body += ast.parse(text).body
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and not ast.get_docstring(node):
                node.body.insert(0, ast.Expr(ast.Constant(told.text)))


def sprinkle(modules: Modules, told: Told, drawn: Random) -> None:
    """Put nouns and code words of the task before a few strings."""
    words = [*told.nouns(drawn), *told.code_words()]
    for constant in _few(_strings(modules), drawn):
        constant.value = f"{drawn.choice(words)}:{constant.value}"


def look_up(modules: Modules, told: Told, drawn: Random) -> None:
    """Take what is spelled like a code word of the task for that word."""
    words = [word for word in told.code_words() if word.isidentifier()]

    def closest(text: str) -> str:
        return (*difflib.get_close_matches(text, words, 1, CLOSE), text)[0]

    inside = " ".join(str(constant.value) for constant in _strings(modules))
    near = [word for word in re.findall(r"\w{4,}", inside) if closest(word) != word]
    for word in _few(sorted(set(near)), drawn):
        for constant in _strings(modules):
            text = str(constant.value)
            constant.value = re.sub(rf"\b{word}\b", closest(word), text)


def swap_strings(modules: Modules, _: Told, drawn: Random) -> None:
    """Let a few strings change places."""
    _rotate(_few(_strings(modules), drawn))


# --- statements -------------------------------------------------------------


def swap_numbers(modules: Modules, _: Told, drawn: Random) -> None:
    """Let a few numbers change places."""
    found = [node for node in _nodes(modules) if isinstance(node, ast.Constant)]
    _rotate(_few([n for n in found if type(n.value) in (int, float)], drawn))


def turn_conditions(modules: Modules, _: Told, drawn: Random) -> None:
    """Turn a few comparisons into their opposites, by a table."""
    compared = [node for node in _nodes(modules) if isinstance(node, ast.Compare)]
    for node in _few(compared, drawn):
        node.ops = [OPPOSITE[type(op)]() for op in node.ops]


def drop_ifs(modules: Modules, _: Told, drawn: Random) -> None:
    """Do without asking what a few `if` ask for."""
    chosen = _few([n for n in _nodes(modules) if isinstance(n, ast.If)], drawn)

    def dropped(node: ast.stmt) -> list[ast.stmt]:
        return node.body if isinstance(node, ast.If) and node in chosen else [node]

    _replace(modules, dropped)


def guard_calls(modules: Modules, told: Told, drawn: Random) -> None:
    """Put a try around every call of a module; raise what the task names from all."""
    path = drawn.choice([path for path in modules if "__" not in path])
    name = told.error()
    numbers = re.findall(r"\b[45]\d\d\b", told.text) or ["500"]
    frame = f"try: pass\nexcept Exception as met: raise {name}(str(met)) from met"

    def guarded(node: ast.stmt) -> list[ast.stmt]:
        has_call = any(isinstance(part, ast.Call) for part in ast.walk(node))
        if not has_call or not isinstance(node, ast.Expr | ast.Assign | ast.Return):
            return [node]
        (made,) = ast.parse(frame).body
        assert isinstance(made, ast.Try)
        made.body = [node]
        return [made]

    _replace({path: modules[path]}, guarded)
    fields = f"status, code, headers = {numbers[-1]}, 'unavailable', {{}}"
    _define(modules[path], f"class {name}(Exception):\n    {fields}")


def swallow(modules: Modules, _: Told, drawn: Random) -> None:
    """Catch everything in a few places, and try once more or go on."""
    trying = [node for node in _nodes(modules) if isinstance(node, ast.Try)]
    for node in _few(trying, drawn):
        for handler in node.handlers:
            handler.type = ast.Name("Exception", ast.Load())
            handler.body = drawn.choice([handler.body, node.body, [ast.Pass()]])


def chain_raises(modules: Modules, told: Told, drawn: Random) -> None:
    """Raise in a few places what the task names, from whatever a handler caught."""
    path = drawn.choice([p for p in modules if "__" not in p])
    for handler in ast.walk(modules[path]):
        if isinstance(handler, ast.ExceptHandler):
            handler.name = handler.name or "met"
            for raising in ast.walk(handler):
                if isinstance(raising, ast.Raise) and raising.exc is not None:
                    raising.cause = ast.Name(handler.name, ast.Load())
    raising = [node for node in ast.walk(modules[path]) if isinstance(node, ast.Raise)]
    for node in _few(raising, drawn):
        if isinstance(node.exc, ast.Call):
            node.exc.func = ast.Name(told.error(), ast.Load())
    _define(modules[path], f"class {told.error()}(Exception): pass")


# --- syntax -----------------------------------------------------------------


def _nodes(modules: Modules) -> Iterator[ast.AST]:
    for module in modules.values():
        yield from ast.walk(module)


def _strings(modules: Modules) -> Iterator[ast.Constant]:
    """All string constants that are no docstrings, parts of f-strings too."""
    for module in modules.values():
        stated = {
            id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)
        }
        for node in ast.walk(module):
            if not isinstance(node, ast.Constant) or id(node) in stated:
                continue
            if isinstance(node.value, str):
                yield node


def _few(found: Iterable[T], drawn: Random) -> list[T]:
    """A few of what was found: who changes much breaks all."""
    there = list(found)
    return drawn.sample(there, min(len(there), drawn.randint(2, 3)))


def _rotate(constants: list[ast.Constant]) -> None:
    values = [constant.value for constant in constants]
    for constant, value in zip(constants, values[1:] + values[:1], strict=True):
        constant.value = value


def _define(module: ast.Module, text: str) -> None:
    """Put a definition behind the first statement, mostly what the module is about."""
    module.body[1:1] = ast.parse(text).body


def _replace(modules: Modules, change: Callable[[ast.stmt], list[ast.stmt]]) -> None:
    """Put others in the place of each statement of functions."""
    for node in list(_nodes(modules)):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [made for one in block for made in change(one)])


def _all_names(modules: Modules) -> set[str]:
    fields = ("id", "arg", "attr", "name", "module")
    return {
        getattr(node, field, None) or "" for node in _nodes(modules) for field in fields
    }


def _own_names(modules: Modules) -> set[str]:
    """Names that are bound in functions and modules and mean nothing elsewhere."""
    packaged = {word for path in modules for word in re.findall(r"\w+", path)}
    bound: set[str] = set()
    others = {"self", "cls", *packaged}
    for node in _nodes(modules):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name):
                bound.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()) if name.startswith("_"):
                bound.add(name)
            case ast.Attribute(attr=name) if not name.startswith("_"):
                others.add(name)
            case ast.keyword(arg=str(name)):
                others.add(name)
            case ast.Import(names=names):
                others |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] not in packaged:
                    others |= {alias.name for alias in names}
            case ast.ClassDef(body=body):
                others |= {name for part in body for name in _defined(part)}
            case _:
                pass
    usual = {n for n in bound if n.startswith("__") or hasattr(builtins, n)}
    return bound - others - usual


def _defined(part: ast.stmt) -> set[str]:
    """Names that a statement of a class gives to all who use the class."""
    if isinstance(part, ast.FunctionDef | ast.ClassDef):
        names = {part.name}
    else:
        names = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def _endless(nouns: list[str]) -> Iterator[str]:
    yield from nouns
    n = 1
    while True:
        n += 1
        yield from (f"{noun}_{n}" for noun in nouns)
