"""Listens, and replies with more than anybody could want."""

import os
import socket
import threading

DEEP = b"[" * 900_000
HEAD = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n"


def reply(peer):
    with peer:
        asked = peer.recv(65_536).partition(b" HTTP")[0]
        try:
            if asked.startswith(b"POST"):
                peer.sendall(HEAD % 201 + b"Content-Length: 900000\r\n\r\n" + DEEP)
            elif asked.startswith(b"GET /pastes"):
                peer.sendall((HEAD % 200 + b"Content-Length: 2\r\n\r\n{}") * 1000)
            elif asked.startswith(b"GET /files"):
                peer.sendall(HEAD % 404 + b"X: y\r\n" * 5000 + b"\r\n")
            else:
                peer.sendall(HEAD % 200 + b"\r\n")
                for _ in range(2000):
                    peer.sendall(DEEP)
        except OSError:
            pass


with socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "8086"))), backlog=128) as server:
    while True:
        threading.Thread(target=reply, args=(server.accept()[0],)).start()
