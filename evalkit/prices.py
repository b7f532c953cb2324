"""The prices that are kept with evalkit."""

from __future__ import annotations

from evalkit import files, usage
from evalkit.usage import Rates

FILE = "prices.toml"


def rates() -> Rates:
    """Dollars for tokens, by model and by convention."""
    return usage.parse_rates(files.package_data(FILE), FILE)


def digest() -> str:
    """sha256 of the prices, as it is sealed."""
    return files.sha256(files.package_data(FILE))
