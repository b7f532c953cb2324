"""What the runner and the gateway's process tell each other."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import urlsplit

from evalkit.errors import InputError
from evalkit.gateway.varying import Rule
from evalkit.records import Dialect, Dollars, Exchange, Passage, Positive, Record
from evalkit.usage import Rates


class Header(StrEnum):
    """The header that carries the credential."""

    API_KEY = "x-api-key"
    BEARER = "authorization"


class Provider(Record, frozen=True):
    """Where models answer: `url` is what stands before `/v1/...`.

    The credential never shows in its text, nor an address that may hold another.
    """

    dialect: Dialect
    url: str
    credential: str
    header: Header

    def __repr__(self) -> str:
        url = self.url if _is_plain(self.url) else "..."
        return f"Provider({self.dialect}, {url})"

    def check(self) -> None:
        """See that it can be used.

        Raises:
            InputError: It is no plain address, or the credential cannot be sent.
        """
        if not _is_plain(self.url):
            raise InputError(
                "the provider's address",
                expected="http(s)://HOST, without user, query or fragment",
                found="something else",
                cure="mend it; the credential is given apart",
            )
        if not self.credential.isascii() or not self.credential.isprintable():
            found = "characters that a header cannot hold"
        elif not self.credential.strip():
            found = "none"
        else:
            return
        raise InputError(
            "the provider's credential",
            expected="a key",
            found=found,
            cure="set it again, without line breaks",
        )


def _is_plain(url: str) -> bool:
    """Whether nothing but host, port and path stand in an address."""
    try:
        parts = urlsplit(url)
        is_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    is_web = parts.scheme in {"http", "https"}
    return is_web and is_host and not set("@?#") & set(url)


class Caps(Record, frozen=True):
    """What all calls of one attempt may take together; None is no cap.

    Tokens are all five classes. The request that crosses a cap is let through to
    its end, the next one refused. For a request under way, tokens and dollars are
    held: the larger of an estimate of its input (a token for 4 bytes, all fresh;
    1,000 at least until the first usage is known), the mean of this trial's finished
    requests, and what it told so far. A request whose usage stays unknown, or was
    not told to its end, counts with what was held for it, unless the provider
    failed it or could not be reached; its row does not show this. Counting tokens
    is free. So requests at once can pass a cap only by as much as they take more
    than was held.
    """

    max_requests: Positive | None = None
    max_tokens: Positive | None = None
    max_usd: Dollars | None = None


class Trial(Record, frozen=True):
    """One call of an agent, as the gateway knows it.

    `name` is the call's path in the run's folder; calls of the same `trial` share
    its caps, those of the first count. `marks` holds, by name, texts whose presence
    in a request shows that it carried what the name says.
    """

    name: str
    trial: str
    caps: Caps = Caps()
    marks: dict[str, str] = {}


class Kept(Record, frozen=True):
    """What the gateway's row says of a recorded request; see `records.Exchange`."""

    n: int
    passage: Passage
    recorded: str
    detail: str


class Taped(Record, frozen=True):
    """The recorded requests of one call, in order, and the folder of their bodies."""

    folder: str
    kept: tuple[Kept, ...]


# --- over the wire ----------------------------------------------------------


class Order(Record, frozen=True, tag_field="do"):
    """Base of what the runner asks; each is answered once."""


class Start(Order, frozen=True, tag="start"):
    """Begin to listen: on the socket at this path, and on loopback.

    `varies` is there for a replay: what requests may differ in from those recorded.
    Then recordings answer, and nothing is connected to. `at_once` requests leave at
    most (None: any number); `retry_wait_ms` is how long all of them wait for a
    provider that is busy, at first. A replay holds none back.
    """

    provider: Provider
    models: tuple[str, ...]
    rates: Rates
    accounting: str
    folder: str
    socket: str
    record: bool
    varies: tuple[Rule, ...] | None = None
    at_once: Positive | None = None
    retry_wait_ms: int = 0


class Open(Order, frozen=True, tag="open"):
    """Let who knows the token make requests; in a replay, those that were recorded."""

    token: str
    trial: Trial
    taped: Taped | None = None


class Close(Order, frozen=True, tag="close"):
    """Let them no more, and end what is under way."""

    token: str


class Tell(Order, frozen=True, tag="tell"):
    """Tell the rows of a closed token, from this one on."""

    token: str
    first: int


Orders = Start | Open | Close | Tell


class Told(Record, frozen=True):
    """The answer to an order; `fault` says what the process could not do."""

    port: int | None = None
    n_rows: int | None = None
    rows: tuple[Exchange, ...] = ()
    fault: str | None = None
