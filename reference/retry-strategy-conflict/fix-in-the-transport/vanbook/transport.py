"""A thin HTTP client: one call, a reply or a TransportError."""

import http.client
import json
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit


PAUSES_S = (1, 2, 4)


class TransportError(Exception):
    """A call that brought no reply."""


class ConnectionFailed(TransportError):
    """Refused, unreachable or dropped."""


class Timeout(TransportError):
    """It took too long."""


class ConnectTimeout(ConnectionFailed, Timeout):
    """No connection in time."""


class ReadTimeout(Timeout):
    """A connection, but no answer in time."""


class Reply(NamedTuple):
    status: int
    text: str


class HttpTransport:
    """Posts JSON to one host, on a new connection each time."""

    def __init__(self, base_url: str, timeout_s: float) -> None:
        parts = urlsplit(base_url)
        self._host = parts.netloc
        self._prefix = parts.path.rstrip("/")
        self._timeout_s = timeout_s

    def post(self, path: str, body: Any, headers: dict[str, str]) -> Reply:
        for pause in PAUSES_S:
            try:
                return self._post(path, body, headers)
            except TransportError:
                time.sleep(pause)
        return self._post(path, body, headers)

    def _post(self, path: str, body: Any, headers: dict[str, str]) -> Reply:
        connection = http.client.HTTPConnection(self._host, timeout=self._timeout_s)
        try:
            self._connect(connection)
            return self._exchange(connection, path, body, headers)
        finally:
            connection.close()

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except TimeoutError as error:
            raise ConnectTimeout(f"no connection to {self._host}") from error
        except OSError as error:
            raise ConnectionFailed(f"{self._host}: {error}") from error

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: Any,
        headers: dict[str, str],
    ) -> Reply:
        sent = {"Content-Type": "application/json", **headers}
        try:
            connection.request("POST", self._prefix + path, json.dumps(body), sent)
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
        except TimeoutError as error:
            raise ReadTimeout(f"no answer from {self._host}") from error
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(f"{self._host}: {error}") from error
        return Reply(response.status, text)
