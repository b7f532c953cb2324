"""The rules of shortening."""

from hop.service.shortener import Shortener

__all__ = ["Shortener"]
