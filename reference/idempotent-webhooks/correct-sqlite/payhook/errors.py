"""Errors that a client gets to see."""


class Refused(Exception):
    """A request is refused with a status and a text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
