"""The paste service as a WSGI application."""

import hmac
import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from sentinel import pages, public
from sentinel.body import body_of
from sentinel.config import TITLE_LIMIT, Settings
from sentinel.errors import Refusal
from sentinel.store import Entry, Shelf

Environ = dict[str, Any]
Result = tuple[HTTPStatus, str, bytes]


class Application:
    """Routes requests to resources; called by a WSGI server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._shelf = Shelf()
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Result]]] = [
            (method, re.compile(pattern, re.DOTALL), resource)
            for method, pattern, resource in (
                ("GET", "/health", self.health),
                ("GET", "/admin/stats", self.stats),
                ("GET", "/search", self.search),
                ("GET", "/pastes/(.*)", self.show),
                ("GET", "/view/(.*)", self.view),
                ("GET", "/files/(.*)", self.file),
                ("POST", "/pastes", self.create),
                ("DELETE", "/pastes/(.*)", self.delete),
            )
        ]

    def __call__(self, environ: Environ, start_response: Any) -> list[bytes]:
        """Answer one request."""
        try:
            status, kind, body = self._route(environ)
        except Refusal as refusal:
            status, kind, body = as_json(refusal.status, {"error": str(refusal)})
        headers = [("Content-Length", str(len(body)))]
        if kind:
            headers.append(("Content-Type", kind))
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    def _route(self, environ: Environ) -> Result:
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        for method, pattern, resource in self._routes:
            match = pattern.fullmatch(path)
            if match and method == environ["REQUEST_METHOD"]:
                return resource(environ, *match.groups())
        raise Refusal(HTTPStatus.NOT_FOUND, "no such resource")

    def health(self, environ: Environ) -> Result:
        return as_json(HTTPStatus.OK, {"ok": True})

    def stats(self, environ: Environ) -> Result:
        secret = self._settings.operator_secret
        given = environ.get("HTTP_AUTHORIZATION", "").encode()
        wanted = f"Bearer {secret}".encode()
        if not secret or not hmac.compare_digest(given, wanted):
            raise Refusal(HTTPStatus.UNAUTHORIZED, "for operators only")
        sizes = [len(entry.text) for entry in self._shelf]
        counts = {"pastes": len(sizes), "characters": sum(sizes)}
        return as_json(HTTPStatus.OK, counts)

    def search(self, environ: Environ) -> Result:
        query = parse_qs(environ["QUERY_STRING"]).get("q", [""])[0]
        wanted = query.casefold()
        found = [entry for entry in self._shelf if wanted in entry.title.casefold()]
        return as_html(pages.results_page(query, found))

    def show(self, environ: Environ, number: str) -> Result:
        entry = self._entry(number)
        shown = {"id": entry.number, "title": entry.title, "text": entry.text}
        return as_json(HTTPStatus.OK, shown)

    def view(self, environ: Environ, number: str) -> Result:
        return as_html(pages.entry_page(self._entry(number)))

    def file(self, environ: Environ, name: str) -> Result:
        found = public.lookup(self._settings.files, name)
        if found is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "no such file")
        content, kind = found
        return HTTPStatus.OK, kind, content

    def create(self, environ: Environ) -> Result:
        title, text = posted(body_of(environ))
        number, key = self._shelf.put(title, text)
        return as_json(HTTPStatus.CREATED, {"id": number, "delete_token": key})

    def delete(self, environ: Environ, number: str) -> Result:
        key = environ.get("HTTP_X_DELETE_TOKEN", "")
        if not self._shelf.take(self._entry(number), key):
            raise Refusal(HTTPStatus.FORBIDDEN, "not the delete token of this paste")
        return HTTPStatus.NO_CONTENT, "", b""

    def _entry(self, number: str) -> Entry:
        entry = self._shelf.look(number)
        if entry is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "no such paste")
        return entry


def posted(body: bytes) -> tuple[str, str]:
    """Title and text out of a body."""
    try:
        match json.loads(body):
            case {"title": str(title), "text": str(text)}:
                if 1 <= len(title) <= TITLE_LIMIT:
                    return title, text
    except ValueError:
        pass
    raise Refusal(HTTPStatus.BAD_REQUEST, "this is no paste with title and text")


def as_json(status: HTTPStatus, content: dict[str, Any]) -> Result:
    """A JSON reply."""
    return status, "application/json", json.dumps(content).encode()


def as_html(page: bytes) -> Result:
    """A page as a reply."""
    return HTTPStatus.OK, "text/html; charset=utf-8", page
