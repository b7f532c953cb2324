"""Whose models an agent may call, with which credential, and by whose consent."""

from __future__ import annotations

import ipaddress
import math
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from evalkit import prices, usage
from evalkit.agents.protocol import Credential, Vendor
from evalkit.errors import InfrastructureError, InputError
from evalkit.records import Access, Dialect, Plan, Request

UNUSED_CREDENTIAL = "no-credential-is-asked-for"
"""For a program on this machine, or a recording. Nothing else may hold these words:
wherever they stand they are taken for the secret, and withheld."""


ANTHROPIC = Vendor(
    Dialect.ANTHROPIC,
    "https://api.anthropic.com",
    {"ANTHROPIC_API_KEY": "x-api-key", "ANTHROPIC_AUTH_TOKEN": "authorization"},
)
OPENAI = Vendor(
    Dialect.OPENAI, "https://api.openai.com", {"OPENAI_API_KEY": "authorization"}
)
VENDORS = {vendor.dialect: vendor for vendor in (ANTHROPIC, OPENAI)}


def provider_url(plan: Plan, vendor: Vendor) -> str:
    """Where the models of a plan answer."""
    return (plan.provider_url or vendor.url).rstrip("/")


def is_loopback(url: str) -> bool:
    """True where a program on this machine answers, whatever it is."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def stands_in(plan: Plan, vendor: Vendor) -> bool:
    """True where a program on this machine answers, or a recording."""
    return plan.replay_run is not None or is_loopback(provider_url(plan, vendor))


def check_url(url: str) -> None:
    """Refuse an address that no request can go to, or that holds a secret.

    Raises:
        InputError: It is one; the address itself is not shown.
    """
    try:
        parts = urlsplit(url)
        usable = parts.hostname and (parts.port or 1) in range(1, 65_536)
    except ValueError:
        parts, usable = urlsplit(""), False
    secret = "@" in url or parts.query or parts.fragment
    if not usable or parts.scheme not in {"http", "https"} or secret:
        raise InputError(
            "provider",
            expected="http(s)://HOST or http(s)://HOST:PORT, without user or query",
            found="an address of another form",
            cure="mend --provider-url; the credential comes from the environment",
        )


def check_consent(plan: Plan, vendor: Vendor) -> None:
    """Refuse what costs money, or shows a credential, without a word for it.

    Raises:
        InputError: Consent is missing, or a cap is asked for that nobody would hold.
    """
    url = provider_url(plan, vendor)
    if not is_loopback(url) and not plan.allow_real_provider:
        raise InputError(
            "provider",
            expected="consent to requests that cost money, --allow-real-provider",
            found=f"{url} without it",
            cure="add the flag, or name a program on this machine by --provider-url",
        )
    if plan.access is Access.DIRECT and not plan.allow_credentialed_tools:
        raise InputError(
            "access",
            expected="consent to tools that can read the credential, "
            "--allow-credentialed-tools",
            found="direct access without it",
            cure="add the flag, or leave the gateway in between",
        )
    check_caps(plan, held=plan.access is Access.GATEWAY)


def check_caps(plan: Plan, *, held: bool) -> None:
    """Refuse caps of a trial where no gateway holds them.

    Raises:
        InputError: One is asked for in vain, or in dollars that nobody can count.
    """
    limits = plan.limits
    caps = (limits.max_requests, limits.max_tokens, limits.max_usd)
    for name, cap in (("trial", limits.max_usd), ("run", plan.budget.max_usd)):
        if cap is not None and not (math.isfinite(cap) and _has_price(plan)):
            raise InputError(
                f"cap of a {name} in dollars",
                expected="a finite number, and a model whose price is known",
                found=f"{cap} for {plan.model} by the accounting {plan.accounting}",
                cure="cap tokens, or name another accounting",
            )
    if not held and any(cap is not None for cap in caps):
        raise InputError(
            "limits",
            expected="caps of a trial only where the gateway stands between",
            found="caps without it",
            cure="leave them out, or use access gateway with an agent that calls a model",
        )


def _has_price(plan: Plan) -> bool:
    rates = prices.rates()
    one = Request(0, plan.model, 1, 0, 0, 0, 1, source="plan")
    return usage.price(one, rates, accounting=plan.accounting) is not None


def unused(vendor: Vendor) -> Credential:
    """For whoever asks for none."""
    return Credential(UNUSED_CREDENTIAL, next(iter(vendor.credentials.values())))


def find_credential(
    plan: Plan, vendor: Vendor, environ: Mapping[str, str] = os.environ
) -> Credential:
    """The credential in our environment.

    Raises:
        InfrastructureError: There is none, so that no call could be made.
    """
    for name, header in vendor.credentials.items():
        if environ.get(name):
            return Credential(environ[name], header)
    if is_loopback(provider_url(plan, vendor)):
        return unused(vendor)
    raise InfrastructureError(
        f"credential: expected one of {', '.join(vendor.credentials)} in the "
        f"environment, found none; export one, then run again: nothing was called"
    )
