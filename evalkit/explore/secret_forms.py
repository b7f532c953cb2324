"""The forms of secrets: those of detect-secrets, and some that it does not know.

Its detectors that know a form are taken, and the one that goes by the name a value is
given to. Those which only find a text random, or an address public, are left out: they
take commits, digests and ids for secrets.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.ip_public import IPPublicDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector

NAMES = r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?"
"""Parts of the names that settings give to secrets."""
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\S]{0,16000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|[A-Za-z0-9+/=\s\\]{0,16000})"
    r"|(?:^[^\S\n]*[A-Za-z0-9+/=]{16,}\s+){1,200}-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----",
    re.MULTILINE,
)
"""A key with its body, or as much of it as there is."""
_LEFT_OUT = (IPPublicDetector, PrivateKeyDetector)
"""What finds too much; and the detector of a key's first line, where we take it all."""


class Form(NamedTuple):
    """A form of secrets within a line, to be sought in many lines at once.

    `chosen`: people choose such values, so that they may be words, and examples.
    """

    kind: str
    pattern: re.Pattern[str]
    chosen: bool = False


_OURS = (
    Form("Model Provider Key", re.compile(r"\bsk-(?:ant|proj|svcacct|or)-[\w-]{16,}")),
    Form("Model Provider Key", re.compile(r"\bsk-(?=[\w-]*\d)[A-Za-z0-9][\w-]{15,}")),
    Form("Model Provider Key", re.compile(r"\bAIza[\w-]{35}")),
    Form("Model Provider Key", re.compile(r"\b(?:hf|gsk|xai|r8)_[A-Za-z0-9]{24,}")),
    Form("Forge Token", re.compile(r"\bgithub_pat_\w{22,}")),
    Form(
        "Authorization Header",
        re.compile(
            r"authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+"
            r"([\w.~+/-]{8,}=*)",
            re.IGNORECASE,
        ),
    ),
    Form(
        "Authorization Header",
        re.compile(r"x-api-key[\"']?\s*[:=]\s*[\"']?([\w.~+/-]{8,}=*)", re.IGNORECASE),
    ),
    Form(
        "Secret Setting",
        re.compile(rf"\b[A-Z0-9_]*(?:{NAMES})(?:_[A-Z0-9_]*)?=[\"']?([^\s\"'`;|&]+)"),
        chosen=True,
    ),
    Form(
        "Secret Setting",
        re.compile(
            r"(?:^|[\s{,])[\"']?[\w.-]*(?:password|passwd|secret|api_?key|token)[\"']?"
            r"[ \t]*[:=][ \t]*(?=\S*\d)(?=\S*[A-Za-z])([^\s\"'`,;(){}\[\]<>$]{8,})[ \t]*$",
            re.IGNORECASE | re.MULTILINE,
        ),
        chosen=True,
    ),
)


@cache
def forms() -> tuple[Form, ...]:
    """All of them."""
    found: list[Form] = []
    for kind in get_mapping_from_secret_type_to_class().values():
        if issubclass(kind, RegexBasedDetector) and not issubclass(kind, _LEFT_OUT):
            plugin = kind()
            chosen = isinstance(plugin, BasicAuthDetector)
            name = str(plugin.secret_type)
            found += [Form(name, pattern, chosen) for pattern in plugin.denylist]
    return (*found, *_OURS)
