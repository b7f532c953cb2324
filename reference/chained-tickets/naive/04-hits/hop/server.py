"""A link shortener."""

import json
import os
import secrets
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse

MAX_TTL = 2592000
MAX_CREATES = 30


class Shortener:
    def __init__(self):
        self.path = os.environ.get("DATA_FILE", "links.data")
        self.links = {}
        self.recent = defaultdict(list)
        if os.path.exists(self.path):
            try:
                with open(self.path) as file:
                    self.links = json.load(file)
            except json.JSONDecodeError:
                pass

    def allow(self, client):
        now = time.time()
        self.recent[client] = [t for t in self.recent[client] if t > now - 60]
        self.recent[client].append(now)
        return len(self.recent[client]) <= MAX_CREATES

    def save(self):
        with open(self.path, "w") as file:
            json.dump(self.links, file)

    def create(self, url, ttl=None):
        code = secrets.token_urlsafe(6)
        self.links[code] = {"url": url, "expires_at": time.time() + ttl if ttl else None}
        self.save()
        return code


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        if self.path != "/links":
            return self.error(404, "not_found", "not found")
        if not self.server.shortener.allow(self.client_address[0]):
            return self.error(429, "too_many_requests", "slow down")
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        except ValueError:
            return self.error(400, "invalid_request", "invalid JSON")
        if not isinstance(body, dict) or "url" not in body:
            return self.error(400, "invalid_request", "url is required")
        url, ttl = body["url"], body.get("ttl_seconds")
        if not self.valid_url(url):
            return self.error(400, "invalid_request", "url is invalid")
        if ttl is not None and (not isinstance(ttl, int) or not 1 <= ttl <= MAX_TTL):
            return self.error(400, "invalid_request", "ttl_seconds is invalid")
        code = self.server.shortener.create(url, ttl)
        self.reply(201, {"code": code, **self.server.shortener.links[code]})

    def do_GET(self):
        if self.path.startswith("/stats/"):
            link = self.server.shortener.links.get(self.path.removeprefix("/stats/"))
            if link is None:
                return self.error(404, "not_found", "not found")
            return self.reply(200, {"hits": link.get("hits", 0)})
        link = self.server.shortener.links.get(self.path[1:])
        if link is None:
            return self.error(404, "not_found", "not found")
        if link["expires_at"] and link["expires_at"] < time.time():
            return self.error(410, "gone", "link has expired")
        link["hits"] = link.get("hits", 0) + 1
        self.server.shortener.save()
        self.send_response(302)
        self.send_header("Location", link["url"])
        self.end_headers()

    def do_DELETE(self):
        code = self.path.removeprefix("/links/")
        if self.server.shortener.links.pop(code, None) is None:
            return self.error(404, "not_found", "not found")
        self.server.shortener.save()
        self.send_response(204)
        self.end_headers()

    def valid_url(self, url):
        parsed = urlparse(url) if isinstance(url, str) else None
        return bool(parsed and parsed.scheme in ("http", "https") and parsed.netloc)

    def error(self, status, code, message):
        self.reply(status, {"error": {"code": code, "message": message}})

    def reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    request_queue_size = 128


def make_server(port):
    server = Server(("127.0.0.1", port), Handler)
    server.shortener = Shortener()
    return server
