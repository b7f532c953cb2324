"""Replies that end a request early."""

from http import HTTPStatus


class Refusal(Exception):
    """Raised by a resource instead of returning a reply."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status
