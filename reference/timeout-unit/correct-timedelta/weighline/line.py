"""What is done with the scales of a line."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from weighline.link import NoAnswer
from weighline.settings import Scale, Settings

AT_REST_S = 3

Sleep = Callable[[float], object]


def poll(settings: Settings, link: Any, sleep: Sleep = time.sleep) -> dict[str, int | None]:
    """Grams on each scale; None where one is silent."""
    weights: dict[str, int | None] = {}
    for scale in settings.scales:
        answer = next(answers(scale, settings, link, sleep), None)
        weights[scale.name] = None if answer is None else int(answer.split()[1])
    return weights


def answers(scale: Scale, settings: Settings, link: Any, sleep: Sleep) -> Iterator[str]:
    """Answers of a scale that is asked as often as the line allows."""
    for left in reversed(range(settings.attempts)):
        answer = ask(link, scale, "W", scale.timeout.total_seconds())
        if answer is not None:
            yield answer
        elif left:
            sleep(settings.pause.total_seconds())


def tare(settings: Settings, name: str, link: Any) -> bool:
    """Set a scale to nought; False where that did not work."""
    by_name = {scale.name: scale for scale in settings.scales}
    return name in by_name and ask(link, by_name[name], "Z", AT_REST_S) == "Z OK"


def ask(link: Any, scale: Scale, command: str, timeout_s: float) -> str | None:
    """The answer of a scale, if there is one."""
    try:
        return link.ask(scale.address, command, timeout_s=timeout_s)
    except NoAnswer:
        return None
