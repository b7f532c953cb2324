"""The routes of API.md."""

import json
import re
import sys
import traceback
from typing import Any

from hop.errors import Expired, HopError, Invalid, Unknown
from hop.routes.http import Request, Response
from hop.service import Shortener

ERRORS = {Invalid: (400, "invalid_request"), Unknown: (404, "not_found"), Expired: (410, "gone")}


class Api:
    """Answers requests with what the service says."""

    def __init__(self, shortener: Shortener) -> None:
        self.shortener = shortener
        self.routes = [
            ("POST", "/links", self.create),
            ("DELETE", "/links/([^/]+)", self.delete),
            ("GET", "/([^/]+)", self.follow),
        ]

    def __call__(self, request: Request) -> Response:
        try:
            return self.dispatch(request)
        except HopError as error:
            status, code = ERRORS[type(error)]
            return failure(status, code, str(error))
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return failure(500, "internal", "something broke")

    def dispatch(self, request: Request) -> Response:
        if request.body is None:
            return failure(413, "too_large", "body too large")
        path = request.path.split("?")[0]
        for method, pattern, handler in self.routes:
            found = re.fullmatch(pattern, path)
            if found and method == request.method:
                return handler(request, *found.groups())
        raise Unknown("no such route")

    def create(self, request: Request) -> Response:
        try:
            body = json.loads(request.body or b"")
        except (ValueError, RecursionError) as error:
            raise Invalid("body is not JSON") from error
        if not isinstance(body, dict):
            raise Invalid("body is not an object")
        return shown(201, self.shortener.create(body))

    def follow(self, request: Request, code: str) -> Response:
        return Response(302, headers=(("Location", self.shortener.follow(code)),))

    def delete(self, request: Request, code: str) -> Response:
        self.shortener.delete(code)
        return Response(204)


def shown(status: int, value: Any) -> Response:
    """A JSON response."""
    return Response(status, json.dumps(value).encode(), (("Content-Type", "application/json"),))


def failure(status: int, code: str, message: str) -> Response:
    """An error response."""
    return shown(status, {"error": {"code": code, "message": message}})
