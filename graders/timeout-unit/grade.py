"""timeout-unit: what the file of a line says reaches the scales in the link's unit.

A link that answers as it is told keeps what it is asked, and for how long it may
wait. Only where the delivered link itself is meant are there scales to reach.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.grader import Checks, Subject, expect, parse_json

checks = Checks(
    {
        "weights-read": 1,
        "tare-as-before": 1,
        "attempts-and-pauses": 1,
        "whole-seconds": 2,
        "fractions-of-seconds": 2,
        "its-own-timeout": 1,
        "silent-and-slow": 2,
    }
)

FILE = "hall/line.toml"
TARE_S = 3
DEFAULT_TIMEOUT_S = 1.5
DEFAULT_PAUSE_S = 0.25
N_ATTEMPTS = 2
SILENT_MS = 300
"""How long the line waits for the scale that never answers."""
SLOW_S = 0.6
"""How long the slow one takes, which may take far longer."""
SLOW_MS = 6000
HANGS_S = 8.0
"""A run that takes longer, where 1.3 s would do, hangs at the silent scale."""
STAND_IN = """
import contextlib
import io
import runpy
import socket
import sys
import threading
import time

from weighline import line, link, settings


class Link:
    def __init__(self, told):
        self.told, self.asked = told, []

    def ask(self, address, command, timeout_s):
        self.asked.append(["ask", address, command, timeout_s])
        answers = self.told[address]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            raise link.NoAnswer(address)
        return answer


def poll(path, told):
    way = Link(told)
    keep = lambda pause_s: way.asked.append(["pause", pause_s])
    return [list(line.poll(settings.load(path), way, keep).items()), way.asked]


def tare(path, name, told):
    way = Link(told)
    return [line.tare(settings.load(path), name, way), way.asked]


def scale(answer, delay_s):
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            asking, _ = listening.accept()
            asking.recv(100)
            time.sleep(delay_s)
            with contextlib.suppress(OSError):
                asking.sendall((answer + "\\r\\n").encode())
                asking.close()

    if answer is not None:
        threading.Thread(target=serve, daemon=True).start()
    return listening


def run(path, text, scales, *options):
    opened = [scale(*each) for each in scales]
    ports = [each.getsockname()[1] for each in opened]
    with open(path, "w") as file:
        file.write(text.format(*ports))
    out = io.StringIO()
    sys.argv = ["weighline", path, *options]
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_module("weighline", run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as left:
            code = left.code or 0
    return [code, out.getvalue()]


def ask(answer, delay_s, timeout_s):
    opened = scale(answer, delay_s)
    address = "127.0.0.1:%d" % opened.getsockname()[1]
    return link.TcpLink().ask(address, "W", timeout_s)
"""

Scale = dict[str, Any]
Told = Mapping[str, Sequence[str | None]]


class Polled(NamedTuple):
    """What a poll returned, and what was asked and paused meanwhile."""

    weights: list[Any]
    events: list[Any]

    @property
    def order(self) -> list[Any]:
        """Addresses asked, and pauses between them."""
        return [event[1] for event in self.events]

    def waits(self, scale: Scale) -> list[Any]:
        """How long each attempt at a scale might have waited."""
        address = scale["address"]
        return [event[-1] for event in self.events if event[:2] == ["ask", address]]


# --- lines ------------------------------------------------------------------


def drawn_scales(subject: Subject, n: int, **keys: Any) -> list[Scale]:
    """Scales of a line."""
    hosts = subject.random.sample(range(2, 250), n)
    return [
        {"name": subject.random.text(9), "address": f"10.0.7.{host}:4001", **keys}
        for host in hosts
    ]


def toml(scales: Sequence[Scale], **keys: Any) -> str:
    """The file of a line."""
    lines = [f"{key} = {value}" for key, value in keys.items()]
    for scale in scales:
        lines += ["", "[[scale]]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in scale.items()]
    return "\n".join(lines) + "\n"


def prepare(subject: Subject, scales: Sequence[Scale], **keys: Any) -> None:
    """Write the file, and the stand-in."""
    subject.write(FILE, toml(scales, **keys))
    subject.write("stand_in.py", STAND_IN)


def poll(subject: Subject, scales: Sequence[Scale], told: Told, **keys: Any) -> Polled:
    """Poll a line with scales that answer so, by address."""
    prepare(subject, scales, **keys)
    return Polled(*subject.call("stand_in:poll", FILE, told).value)


def silent_but_last(subject: Subject, scales: Sequence[Scale]) -> dict[str, Any]:
    """Scales that never answer, and one behind them that does."""
    told: dict[str, Any] = {scale["address"]: [None] for scale in scales}
    told[scales[-1]["address"]] = [f"W {grams(subject)} g"]
    return told


def grams(subject: Subject) -> int:
    """What lies on a scale."""
    return subject.random.randint(0, 60_000)


def alike(found: Sequence[Any], wanted: Sequence[float]) -> bool:
    """True where these are the same durations."""
    return len(found) == len(wanted) and all(
        isinstance(one, int | float) and abs(one - other) < 1e-7
        for one, other in zip(found, wanted, strict=True)
    )


# --- plain function ---------------------------------------------------------


@checks("weights-read")
def weights_read(subject: Subject) -> None:
    """Each scale is asked until it answers, in the order of the file."""
    scales = drawn_scales(subject, 4)
    weights = [[scale["name"], grams(subject)] for scale in scales]
    told: dict[str, Any] = {
        scale["address"]: [f"W {weight} g"]
        for scale, (_, weight) in zip(scales, weights, strict=True)
    }
    late = subject.random.choice(scales)
    told[late["address"]].insert(0, None)
    found = poll(subject, scales, told)
    expect(found.weights == weights, f"weights are {weights}", found.weights)
    asked = sorted(event[1:3] for event in found.events if event[0] == "ask")
    wanted = sorted([scale["address"], "W"] for scale in [*scales, late])
    expect(asked == wanted, f"asked is {wanted}", asked)


@checks("tare-as-before")
def tare_as_before(subject: Subject) -> None:
    """Taring still waits for the pan to rest, and the link for as long as it is told."""
    scales = drawn_scales(subject, 3)
    prepare(subject, scales)
    for answer in ("Z OK", "Z BUSY", None):
        scale = subject.random.choice(scales)
        told = {scale["address"]: [answer]}
        done, asked = subject.call("stand_in:tare", FILE, scale["name"], told).value
        expect(done == (answer == "Z OK"), f"taring after {answer}", done)
        expect(
            [event[1:3] for event in asked] == [[scale["address"], "Z"]], "asked", asked
        )
        expect(alike([asked[0][3]], [TARE_S]), f"it waits {TARE_S} s", asked)
    unknown = subject.call("stand_in:tare", FILE, subject.random.word(5), {}).value
    expect(unknown == [False, []], "an unknown scale", unknown)
    answer = f"W {grams(subject)} g"
    got = subject.call("stand_in:ask", answer, SLOW_S, SLOW_MS / 1000).value
    expect(got == answer, f"the link waits for {answer}", got)
    name = scales[0]["name"]
    text = toml([{"name": name, "address": "127.0.0.1:{}"}])
    resting = [["Z OK", SLOW_S]]
    options = (FILE, text, resting, "--tare", name)
    code, _ = subject.call("stand_in:run", *options).value
    expect(code == 0, "exit after taring a scale that comes to rest", code)


@checks("attempts-and-pauses")
def attempts_and_pauses(subject: Subject) -> None:
    """A silent scale gets its attempts, with pauses between, and the next follows."""
    draw = subject.random
    for keys in (
        {},
        {"attempts": draw.randint(3, 6), "pause_ms": draw.randint(10, 999)},
    ):
        scales = silent, other = drawn_scales(subject, 2)
        told = silent_but_last(subject, scales)
        found = poll(subject, scales, told, **keys)
        pause_s = keys.get("pause_ms", DEFAULT_PAUSE_S * 1000) / 1000
        n_again = keys.get("attempts", N_ATTEMPTS) - 1
        wanted = [silent["address"], *[pause_s, silent["address"]] * n_again]
        order = [round(e, 7) if isinstance(e, float) else e for e in found.order]
        expect(order.count(other["address"]) == 1, "the other is asked", order)
        order.remove(other["address"])
        expect(order == wanted, f"asked and paused is {wanted}", order)
        weight = int(told[other["address"]][0].split()[1])
        weights = [[silent["name"], None], [other["name"], weight]]
        expect(found.weights == weights, f"weights are {weights}", found.weights)


# --- the unit ---------------------------------------------------------------


def expect_waits(subject: Subject, wanted_s: float, **keys: Any) -> None:
    """Each attempt at a silent scale, and at one that answers, waits as long as said."""
    scales = drawn_scales(subject, 2)
    found = poll(subject, scales, silent_but_last(subject, scales), **keys)
    for scale, n in zip(scales, (N_ATTEMPTS, 1), strict=True):
        waits = found.waits(scale)
        expect(alike(waits, [wanted_s] * n), f"attempts wait {wanted_s} s", waits)


@checks("whole-seconds")
def whole_seconds(subject: Subject) -> None:
    """A number of thousands reaches the link as seconds."""
    for seconds in subject.random.sample(range(2, 30), 3):
        expect_waits(subject, seconds, timeout_ms=seconds * 1000)


@checks("fractions-of-seconds")
def fractions_of_seconds(subject: Subject) -> None:
    """So does any other, and what holds where the file says nothing."""
    draw = subject.random
    for millis in (
        draw.randint(20, 90),
        draw.randint(400, 499),
        draw.randint(1001, 1999),
    ):
        expect_waits(subject, millis / 1000, timeout_ms=millis)
    expect_waits(subject, DEFAULT_TIMEOUT_S)


@checks("its-own-timeout")
def its_own_timeout(subject: Subject) -> None:
    """A scale's own timeout goes before the line's, in the same unit."""
    seconds = subject.random.sample(range(2, 30), 3)
    own = [{"timeout_ms": second * 1000} for second in seconds[:2]]
    scales = [
        {**scale, **keys}
        for scale, keys in zip(drawn_scales(subject, 3), [*own, {}], strict=True)
    ]
    told: Told = {str(scale["address"]): [None] for scale in scales}
    found = poll(subject, scales, told, timeout_ms=seconds[2] * 1000)
    for scale, second in zip(scales, seconds, strict=True):
        waits = found.waits(scale)
        right = alike(waits, [second] * N_ATTEMPTS)
        expect(right, f"attempts at this scale wait {second} s", waits)


@checks("silent-and-slow")
def silent_and_slow(subject: Subject) -> None:
    """On the command line a silent scale is left, and a slow one is waited for."""
    scales: list[Scale] = [
        {"name": f"{subject.random.word(6)} {n}", "address": "127.0.0.1:{}"}
        for n in range(3)
    ]
    scales[1]["timeout_ms"] = SLOW_MS
    slow, prompt = grams(subject), grams(subject)
    told = [[None, 0], [f"W {slow} g", SLOW_S], [f"W {prompt} g", 0]]
    prepare(subject, scales)
    text = toml(scales, timeout_ms=SILENT_MS, pause_ms=50)
    answer = subject.call("stand_in:run", FILE, text, told, timeout_s=HANGS_S)
    code, out = answer.value
    weights = parse_json(out, "what is printed")
    wanted = dict(zip([s["name"] for s in scales], (None, slow, prompt), strict=True))
    expect(code == 0, "exit of a run", code)
    expect(weights == wanted, f"printed is {wanted}", weights)
