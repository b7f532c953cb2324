"""Hash functions that the standard library lacks."""

from .legacy import Keccak256

__all__ = ["Keccak256"]
