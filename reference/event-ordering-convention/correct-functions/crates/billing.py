"""Charges for crates."""

from functools import partial
from typing import Any

from crates.packed import charge


def BillingHandler(billing: Any):
    return partial(charge, billing)
