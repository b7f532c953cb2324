"""The HTTP API."""

import hmac
import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from sentinel import config, pages, public
from sentinel.body import read_body
from sentinel.errors import RequestError
from sentinel.store import Paste, Store

log = logging.getLogger("sentinel.server")


class PasteServer(ThreadingHTTPServer):
    """Serves the API and owns the store."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, Handler)
        self.store = Store()
        self.admin_token = config.admin_token()


def create_server(host: str, port: int) -> PasteServer:
    """A server bound to host and port (0: any free port), ready to serve."""
    return PasteServer((host, port))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PasteServer

    def do_GET(self) -> None:
        self._handle(self._get)

    def do_POST(self) -> None:
        self._handle(self._post)

    def do_DELETE(self) -> None:
        self._handle(self._delete)

    def _handle(self, method: Any) -> None:
        url = urlsplit(self.path)
        try:
            method(unquote(url.path), url.query)
        except RequestError as error:
            self._reply_json(error.status, {"error": str(error)}, Connection="close")

    # resources

    def _get(self, path: str, query: str) -> None:
        resource, _, rest = path.removeprefix("/").partition("/")
        if path == "/health":
            self._reply_json(200, {"ok": True})
        elif path == "/admin/stats":
            self._admin_stats()
        elif path == "/search":
            self._search(query)
        elif resource == "pastes":
            self._reply_json(200, describe(self._paste(rest)))
        elif resource == "view":
            self._reply_html(pages.paste_page(self._paste(rest)))
        elif resource == "files":
            self._file(rest)
        else:
            raise RequestError(404, "no such resource")

    def _post(self, path: str, query: str) -> None:
        if path != "/pastes":
            raise RequestError(404, "no such resource")
        title, text = parse_paste(read_body(self.headers, self.rfile))
        paste = self.server.store.add(title, text)
        self._reply_json(201, {"id": paste.id, "delete_token": paste.delete_token})

    def _delete(self, path: str, query: str) -> None:
        resource, _, rest = path.removeprefix("/").partition("/")
        if resource != "pastes":
            raise RequestError(404, "no such resource")
        paste = self._paste(rest)
        if not paste.may_delete(self.headers.get("X-Delete-Token", "")):
            raise RequestError(403, "this needs the paste's delete token")
        self.server.store.remove(paste.id)
        self.send_response(204)
        self.end_headers()

    def _admin_stats(self) -> None:
        if not self._is_admin():
            raise RequestError(401, "this needs the admin token")
        pastes = self.server.store.all()
        n_characters = sum(len(paste.text) for paste in pastes)
        self._reply_json(200, {"pastes": len(pastes), "characters": n_characters})

    def _is_admin(self) -> bool:
        expected = self.server.admin_token
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return (
            expected is not None
            and scheme.lower() == "bearer"
            and hmac.compare_digest(token.strip().encode(), expected.encode())
        )

    def _search(self, query: str) -> None:
        words = parse_qs(query).get("q", [""])[0]
        self._reply_html(pages.search_page(words, self.server.store.find(words)))

    def _file(self, path: str) -> None:
        file = public.find_file(path)
        if file is None:
            raise RequestError(404, "no such file")
        self._reply(200, file.read_bytes(), public.content_type(file))

    def _paste(self, paste_id: str) -> Paste:
        paste = self.server.store.get(paste_id)
        if paste is None:
            raise RequestError(404, "no such paste")
        return paste

    # replies

    def _reply_json(self, status: int, body: dict[str, Any], **headers: str) -> None:
        data = json.dumps(body).encode()
        self._reply(status, data, "application/json", **headers)

    def _reply_html(self, page: str) -> None:
        self._reply(200, page.encode(), "text/html; charset=utf-8")

    def _reply(self, status: int, data: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        log.info("%s %s", self.address_string(), format % args)


def parse_paste(body: bytes) -> tuple[str, str]:
    """Title and text of a paste as posted."""
    try:
        posted = json.loads(body)
    except ValueError:
        raise RequestError(400, "the body is not JSON") from None
    if not isinstance(posted, dict):
        raise RequestError(400, "the body is not an object")
    title, text = posted.get("title"), posted.get("text")
    if not isinstance(title, str) or not isinstance(text, str):
        raise RequestError(400, "title and text have to be texts")
    if not 1 <= len(title) <= config.MAX_TITLE_CHARACTERS:
        raise RequestError(400, "title is too short or too long")
    return title, text


def describe(paste: Paste) -> dict[str, Any]:
    """What the API shows of a paste."""
    return {"id": paste.id, "title": paste.title, "text": paste.text}
