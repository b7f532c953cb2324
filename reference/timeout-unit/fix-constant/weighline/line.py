"""What is done with the scales of a line."""

import time
from collections.abc import Callable
from typing import Any

from weighline.link import NoAnswer
from weighline.settings import Scale, Settings

AT_REST_S = 3
ANSWERS_S = 1.5

Sleep = Callable[[float], object]


def poll(settings: Settings, link: Any, sleep: Sleep = time.sleep) -> dict[str, int | None]:
    """Grams on each scale; None where one is silent."""
    return {scale.name: weigh(scale, settings, link, sleep) for scale in settings.scales}


def weigh(scale: Scale, settings: Settings, link: Any, sleep: Sleep) -> int | None:
    """Ask a scale as often as the line allows."""
    for attempt in range(settings.attempts):
        if attempt:
            sleep(settings.pause_ms / 1000)
        try:
            answer = link.ask(scale.address, "W", ANSWERS_S)
        except NoAnswer:
            continue
        return int(answer.split()[1])
    return None


def tare(settings: Settings, name: str, link: Any) -> bool:
    """Set a scale to nought; False where that did not work."""
    for scale in settings.scales:
        if scale.name == name:
            try:
                return link.ask(scale.address, "Z", AT_REST_S) == "Z OK"
            except NoAnswer:
                return False
    return False
