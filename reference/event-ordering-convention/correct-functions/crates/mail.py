"""Mails to customers."""

from typing import Any

from crates.packed import announcer


def MailHandler(mailer: Any):
    return announcer(mailer)
