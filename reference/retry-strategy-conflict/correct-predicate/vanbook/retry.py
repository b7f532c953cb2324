"""Asking again."""

from collections.abc import Callable
from typing import Any

from vanbook.courier import Busy
from vanbook.transport import ConnectionFailed, Timeout

ATTEMPTS = 4


def may_be_asked_again(error: Exception) -> bool:
    """Busy, or no connection for another reason than time."""
    if isinstance(error, Timeout):
        return False
    return isinstance(error, Busy | ConnectionFailed)


def persist(call: Callable[[], Any], sleep: Callable[[float], object]) -> Any:
    """The value of a call that is made again with doubling pauses."""
    done = 0
    while True:
        try:
            return call()
        except Exception as error:
            done += 1
            if done == ATTEMPTS or not may_be_asked_again(error):
                raise
        sleep(2.0 ** (done - 1))
