"""gateway.holding: when a request may leave, and what is told of one that waited."""

import asyncio
import json
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import realroot

from evalkit.agents import faults
from evalkit.gateway import Caps, Gateway, Header, Provider, Trial
from evalkit.gateway.accounts import Account, Taking
from evalkit.gateway.holding import Heard, Holding, seconds_of
from evalkit.gateway.meter import Meter
from evalkit.process import Finished
from evalkit.records import Dialect, Ended, Exchange, Passage

MODEL = "claude-opus-5-5"
WAIT_MS = 1_000
WELL = Heard(200, "", None)
BUSY = Heard(529, "", None)


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self, monkeypatch):
        self.now_s = 0.0
        self._sleep = asyncio.sleep
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    def __call__(self):
        return self.now_s

    async def sleep(self, seconds):
        self.now_s += seconds
        await self._sleep(0)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def _leave(holding, *told):
    """When one request after the other leaves, each of which hears something."""

    async def leave_all():
        times = []
        for heard in told:
            async with holding.leave() as at_s:
                times.append(at_s)
                holding.hear(at_s, heard)
        return times

    return asyncio.run(leave_all())


def test_nobody_waits_for_a_provider_that_has_time(clock):
    assert _leave(Holding(None, 10, clock), WELL, Heard(500, "", None), WELL) == [0] * 3


def test_each_time_that_it_is_busy_again_all_wait_longer_up_to_a_longest_time(clock):
    found = _leave(Holding(None, 10, clock), *[BUSY] * 5, WELL)
    assert found == [0, 10, 50, 210, 370, 530]


def test_a_provider_that_stays_busy_for_ever_is_asked_as_seldom_as_before(clock):
    found = _leave(Holding(None, 10, clock), *[BUSY] * 600, WELL)
    assert found[-1] - found[-2] == 160


def test_one_that_left_early_and_came_back_late_is_heeded_as_the_first(clock):
    holding = Holding(None, 10, clock)
    holding.hear(0, BUSY)
    holding.hear(10, WELL)
    clock.now_s = 20
    holding.hear(0, BUSY)
    assert _leave(holding, WELL) == [30]


def test_once_it_has_time_again_a_wait_is_as_short_as_the_first(clock):
    assert _leave(Holding(None, 10, clock), BUSY, BUSY, WELL, BUSY, WELL) == [
        *(0, 10, 50),
        *(50, 60),
    ]


@pytest.mark.parametrize("status", [400, 429, 500])
def test_it_is_taken_at_its_word_up_to_the_longest_time(clock, status):
    heard = Heard(status, "", "7")
    assert _leave(Holding(None, 10, clock), heard, heard, WELL) == [0, 7, 14]
    assert _leave(Holding(None, 0.1, clock), heard, WELL)[1] - clock.now_s == 0
    assert clock.now_s == pytest.approx(14 + 0.1 * 16)


def test_an_error_in_a_stream_that_began_well_counts_too(clock):
    heard = Heard(200, '{"type":"overloaded_error"}', None)
    assert _leave(Holding(None, 10, clock), heard, WELL) == [0, 10]


def test_requests_that_left_together_tell_one_thing(clock):
    holding = Holding(None, 10, clock)

    async def both():
        async with holding.leave() as one, holding.leave() as other:
            holding.hear(one, BUSY)
            holding.hear(other, BUSY)

    asyncio.run(both())
    assert _leave(holding, WELL) == [10]


def test_no_more_are_under_way_than_may_be_and_they_leave_as_they_came():
    holding = Holding(2, 10)
    under_way, most, order = set(), [], []

    async def one(n):
        async with holding.leave():
            under_way.add(n)
            most.append(len(under_way))
            order.append(n)
            await asyncio.sleep(0)
            under_way.remove(n)

    async def all_of_them():
        await asyncio.gather(*map(one, range(7)))

    asyncio.run(all_of_them())
    assert (max(most), order) == (2, list(range(7)))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("Mon, 30 Nov 2026 10:00:05 GMT", 5.0),
        ("Mon, 30 Nov 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        (f"Mon, 30 Nov {10**20} 10:00:05 GMT", None),
    ],
)
def test_a_retry_after_is_seconds_or_a_date(said, seconds):
    now = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
    assert seconds_of(said, now) == seconds


# --- through a gateway ----------------------------------------------------------


@contextmanager
def _gateway(folder, stub, **options):
    provider = Provider(Dialect.ANTHROPIC, stub.url, "sk-dummy", Header.API_KEY)
    with Gateway(folder, provider, (MODEL,), **options) as gateway:
        yield (
            gateway,
            [
                gateway.open(Trial(f"{name}/1/01-task/task", f"{name}/1"))
                for name in "ab"
            ],
        )


def _send(url, token):
    """Ask, without waiting for the answer."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    messages = [{"role": "user", "content": "Do it."}]
    body = json.dumps({"model": MODEL, "messages": messages})
    connection.request("POST", "/v1/messages", body, {"x-api-key": token})
    return connection


def _status(connection):
    with connection.getresponse() as reply:
        reply.read()
        return reply.status


def test_a_request_over_the_number_at_once_waits_and_its_row_says_so(tmp_path):
    opens = tmp_path / "opens"
    script = realroot.always({"text": "Hi", "wait_for": str(opens)})
    with (
        realroot.provider(tmp_path / "stub", script) as stub,
        _gateway(tmp_path, stub, at_once=1) as (gateway, (one, other)),
    ):
        first = _send(one.url, one.token)
        stub.await_lines("asked", 1)
        _send(other.url, other.token)
        for _ in range(2):  # what came before these has been read by then
            assert _status(_send(other.url, "nobody")) == 401
        (held,) = gateway.close(other.token)
        opens.touch()
        assert _status(first) == 200
        (row,) = gateway.close(one.token)
        assert len(stub.lines("asked")) == 1
    assert (held.passage, held.total_ms, held.input) == (Passage.HELD, 0.0, None)
    assert held.held_ms > 0
    assert (row.passage, row.held_ms < held.held_ms) == (Passage.COMPLETE, True)
    assert faults.count_unknown([held]) == 0


def test_what_one_call_is_told_of_a_busy_provider_all_heed(tmp_path):
    script = realroot.in_turn([{"status": 529}], [{"text": "Hi"}])
    with (
        realroot.provider(tmp_path / "stub", script) as stub,
        _gateway(tmp_path, stub, retry_wait_ms=WAIT_MS) as (gateway, (one, other)),
    ):
        assert _status(_send(one.url, one.token)) == 529
        assert _status(_send(other.url, other.token)) == 200
        (row,) = gateway.close(other.token)
    assert row.held_ms > 0
    assert row.first_byte_ms <= row.total_ms


def test_a_request_that_never_left_counts_against_no_cap_of_tokens():
    account = Account(Caps(max_tokens=1_000), lambda *_: 0.0)
    for _ in range(2):
        taking = Taking(MODEL, Meter(Dialect.ANTHROPIC), n_bytes=8_000)
        account.begin(taking)
        account.end(taking, Passage.HELD)
    assert account.reached() is None


@pytest.mark.parametrize(
    ("held_s", "ended"), [(30, Ended.PROVIDER_FAULT), (10, Ended.TIMED_OUT)]
)
def test_time_that_a_call_was_held_back_is_not_held_against_the_agent(held_s, ended):
    finished = Finished(None, 100.0, None, timed_out=True, truncated=False)
    one = Exchange(
        n=1,
        path="/v1/messages",
        model=MODEL,
        passage=Passage.COMPLETE,
        streamed=True,
        started_at="",
        first_byte_ms=1.0,
        total_ms=2.0,
        held_ms=held_s * 500.0,
    )
    assert faults.stopped_by_us(finished, [one, one])[0] is ended
