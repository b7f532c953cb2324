"""Whose models an agent may call, with which credential, and by whose consent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from evalkit.agents.protocol import Credential, Vendor
from evalkit.errors import InfrastructureError, InputError
from evalkit.records import Access, Dialect, Plan

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
UNUSED_CREDENTIAL = "unused"
"""For a program on this machine, which asks for none."""


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
    return urlsplit(url).hostname in LOOPBACK


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
        InputError: One is asked for in vain.
    """
    limits = plan.limits
    caps = (limits.max_requests, limits.max_tokens, limits.max_usd)
    if not held and any(cap is not None for cap in caps):
        raise InputError(
            "limits",
            expected="caps of a trial only where the gateway stands between",
            found="caps without it",
            cure="leave them out, or use access gateway with an agent that calls a model",
        )


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
        return Credential(UNUSED_CREDENTIAL, next(iter(vendor.credentials.values())))
    raise InfrastructureError(
        f"credential: expected one of {', '.join(vendor.credentials)} in the "
        f"environment, found none; export one, then run again: nothing was called"
    )
