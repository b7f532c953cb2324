"""The way to a scale: one question, one line of answer."""

import socket


class NoAnswer(Exception):
    """The scale said nothing in time, or cannot be reached."""


class TcpLink:
    """Asks over TCP, on a new connection each time."""

    def ask(self, address: str, command: str, timeout_s: float) -> str:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout_s / 1000) as connection:
                connection.sendall(f"{command}\r\n".encode("ascii"))
                with connection.makefile("r", encoding="ascii") as lines:
                    answer = lines.readline().strip()
        except OSError as error:
            raise NoAnswer(f"{address}: {error}") from error
        if not answer:
            raise NoAnswer(f"{address}: hung up")
        return answer
