"""Names and tags: their form, their rule and their order."""

import re
from unicodedata import normalize

from forge.errors import Misuse

RULE = re.compile(r"[^\W_][\w.-]{0,63}")


def composed(text: str) -> str:
    return normalize("NFC", text)


def follows_rule(word: str) -> bool:
    return RULE.fullmatch(word) is not None


def require(kind: str, typed: str) -> str:
    word = composed(typed)
    if not follows_rule(word):
        raise Misuse(f"bad {kind}: {word}")
    return word


def folded(text: str) -> str:
    return composed(composed(text).casefold())


def ordered(words):
    return sorted(sorted(words), key=str.casefold)
