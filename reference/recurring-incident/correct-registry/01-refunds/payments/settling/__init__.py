"""Settling requests: each is carried out once, whoever asks how often."""

from .registry import settled_once

__all__ = ["settled_once"]
