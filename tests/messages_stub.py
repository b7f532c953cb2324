"""Stands in for a provider of models, and says what a script tells it to.

    messages_stub.py --policy FILE [--log FILE]

Prints the port it listens on. Speaks the Messages API (streaming or not, and
count_tokens) and the Responses API. The policy, JSON:

    {"conversations": [{"match": [WORD...], "without": [WORD...],
                        "turns": [TURN...] or "variants": [[TURN...]...]}...]}

A conversation is that of the first entry all of whose words stand in what the model
is told before its first own word, and none of `without` (the skills listed tell arms
apart). Its n-th request gets the n-th turn; after the last, the text `Done.`.
Conversations of one entry take its variants in turn. Sessions are told apart by the
header that the clients send. A TURN, all keys optional:

    text, thinking       what the model says
    tools                [{"name": .., "input": {..}}...]
    usage                {"input", "write_5m", "write_1h", "read", "output"}
    stop                 the stop reason; else told by `tools`
    garbage              answer 200 with this text, which is no message
    status               answer with this error; with retry_after, type, message
    times                this many requests get this turn
    wait_for             answer once this file exists
    gate                 send event n + 1 once the file GATE/n exists
    cut_after            end the stream well after this many events
    reset_after          or end the connection
    empty                no content at all

The log has a line when a request came (its headers without the key, but with a
digest of it) and one when it was answered.
"""

import argparse
import base64
import hashlib
import itertools
import json
import select
import socket
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KEYS = ("x-api-key", "authorization")
SESSIONS = ("x-claude-code-session-id", "session-id", "x-session")
USAGE = {"input": 11, "write_5m": 0, "write_1h": 0, "read": 0, "output": 7}
ERRORS = {400: "invalid_request_error", 401: "authentication_error",
          403: "permission_error", 404: "not_found_error", 429: "rate_limit_error",
          500: "api_error", 529: "overloaded_error"}  # fmt: skip
DONE = {"text": "Done."}


class ClientGoneError(Exception):
    """The client closed while it was being answered."""


def digest(credential: str) -> str:
    """As the log shows a credential."""
    return hashlib.sha256(credential.removeprefix("Bearer ").encode()).hexdigest()


def overlay_turns(folder: Path, *, workspace="/workspace", dialect="anthropic") -> list:
    """Turns in which the model lays the files of a folder over the workspace."""
    words = [f"cd {workspace}"]
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder)
        data = base64.b64encode(path.read_bytes()).decode()
        words.append(f"mkdir -p '{name.parent}'")
        words.append(f"base64 -d > '{name}' <<'END'\n{data}\nEND\n")
    command = "\n".join(words)
    tool = {"name": "Bash", "input": {"command": command}}
    if dialect == "openai":
        tool = {"name": "exec_command", "input": {"cmd": command}}
    return [{"text": "I write the files.", "tools": [tool]}, DONE]


class Policy:
    """Finds the turn of each request."""

    def __init__(self, conversations: list[dict]) -> None:
        self._lock = threading.Lock()
        self._entries = conversations
        self._counts: Counter = Counter()
        self._scripts: dict = {}
        self._begun: dict = defaultdict(itertools.count)

    def turn(self, told: str, session: str) -> dict:
        """What to answer to a request of this session, told this."""
        for n, entry in enumerate(self._entries):
            has = all(word in told for word in entry.get("match", []))
            if has and not any(word in told for word in entry.get("without", [])):
                return self._next((n, session), entry)
        return DONE

    def _next(self, key: tuple, entry: dict) -> dict:
        with self._lock:
            if key not in self._scripts:
                variants = entry.get("variants") or [entry["turns"]]
                n = next(self._begun[key[0]])
                self._scripts[key] = variants[n % len(variants)]
            turns = [t for t in self._scripts[key] for _ in range(t.get("times", 1))]
            n = self._counts[key]
            self._counts[key] += 1
        return turns[n] if n < len(turns) else DONE


def told_at_first(body: dict) -> str:
    """All text before the model's first own word."""
    parts = [body.get("system"), body.get("instructions")]
    for item in body.get("messages") or body.get("input") or []:
        if isinstance(item, dict) and (
            item.get("role") == "assistant" or item.get("type") == "function_call"
        ):
            break
        parts.append(item)
    return "\n".join(_texts(parts))


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


# --- Messages API -----------------------------------------------------------


def blocks_of(turn: dict, n: int) -> list[dict]:
    """Content of a message."""
    if turn.get("empty"):
        return []
    blocks = []
    if "thinking" in turn:
        text = turn["thinking"]
        blocks.append({"type": "thinking", "thinking": text, "signature": "c2ln"})
    if "text" in turn or not turn.get("tools"):
        blocks.append({"type": "text", "text": turn.get("text", "")})
    for i, tool in enumerate(turn.get("tools", [])):
        name = f"toolu_{n:06}{i:02}"
        blocks.append({"type": "tool_use", "id": name, **tool})
    return blocks


def message_of(turn: dict, n: int, model: str) -> dict:
    """A whole message."""
    stop = "tool_use" if turn.get("tools") else "end_turn"
    return {
        "id": f"msg_{n:08}", "type": "message", "role": "assistant", "model": model,
        "content": blocks_of(turn, n), "stop_reason": turn.get("stop", stop),
        "stop_sequence": None, "usage": anthropic_usage(turn),
    }  # fmt: skip


def anthropic_usage(turn: dict) -> dict:
    used = USAGE | turn.get("usage", {})
    return {
        "input_tokens": used["input"],
        "cache_creation_input_tokens": used["write_5m"] + used["write_1h"],
        "cache_read_input_tokens": used["read"],
        "cache_creation": {
            "ephemeral_5m_input_tokens": used["write_5m"],
            "ephemeral_1h_input_tokens": used["write_1h"],
        },
        "output_tokens": used["output"],
    }


def message_events(turn: dict, n: int, model: str) -> list[dict]:
    """The events of a streamed message."""
    message = message_of(turn, n, model)
    usage = message["usage"]
    start = message | {"content": [], "stop_reason": None}
    start["usage"] = usage | {"output_tokens": 1}
    events: list[dict] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for i, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        events.append(
            {"type": "content_block_start", "index": i, "content_block": empty}
        )
        events += [
            {"type": "content_block_delta", "index": i, "delta": delta}
            for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": i})
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    counts = {"output_tokens": usage["output_tokens"]}
    events.append({"type": "message_delta", "delta": delta, "usage": counts})
    return [*events, {"type": "message_stop"}]


def _deltas(block: dict) -> tuple[dict, list[dict]]:
    if block["type"] == "text":
        return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        said = {"type": "thinking_delta", "thinking": block["thinking"]}
        sign = {"type": "signature_delta", "signature": block["signature"]}
        return block | {"thinking": "", "signature": ""}, [said, sign]
    given = json.dumps(block["input"])
    half = len(given) // 2
    parts = [given[:half], given[half:]]
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return block | {"input": {}}, deltas


# --- Responses API ----------------------------------------------------------


def response_of(turn: dict, n: int, model: str) -> dict:
    """A whole response."""
    items = []
    if "text" in turn or not turn.get("tools"):
        content = [{"type": "output_text", "text": turn.get("text", ""),
                    "annotations": []}]  # fmt: skip
        items.append({"type": "message", "id": f"msg_{n:08}", "role": "assistant",
                      "status": "completed", "content": content})  # fmt: skip
    for i, tool in enumerate(turn.get("tools", [])):
        items.append({"type": "function_call", "id": f"fc_{n:06}{i:02}",
                      "call_id": f"call_{n:06}{i:02}", "name": tool["name"],
                      "arguments": json.dumps(tool["input"])})  # fmt: skip
    used = USAGE | turn.get("usage", {})
    whole = used["input"] + used["read"] + used["write_5m"]
    details = {"cached_tokens": used["read"], "cache_write_tokens": used["write_5m"]}
    usage = {
        "input_tokens": whole,
        "input_tokens_details": details,
        "output_tokens": used["output"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": whole + used["output"],
    }
    return {"id": f"resp_{n:08}", "object": "response", "status": "completed",
            "model": model, "output": items, "usage": usage}  # fmt: skip


def response_events(turn: dict, n: int, model: str) -> list[dict]:
    """The events of a streamed response."""
    response = response_of(turn, n, model)
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    events: list[dict] = [{"type": "response.created", "response": begun}]
    for i, item in enumerate(response["output"]):
        events.append(
            {"type": "response.output_item.added", "output_index": i, "item": item}
        )
        events.append(
            {"type": "response.output_item.done", "output_index": i, "item": item}
        )
    return [*events, {"type": "response.completed", "response": response}]


# --- the server -------------------------------------------------------------


class Stub(ThreadingHTTPServer):
    """The server, its policy and its log."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, policy: dict, log: Path | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.policy = Policy(policy.get("conversations", []))
        self._log = log.open("a") if log else None
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def next_number(self) -> int:
        return next(self._numbers)

    def note(self, **line) -> None:
        if self._log:
            with self._lock:
                self._log.write(json.dumps(line) + "\n")
                self._log.flush()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Stub

    def log_message(self, *_) -> None:
        """The log is our own."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.loads(raw)
        n = self.server.next_number()
        lower = {k.lower(): v for k, v in self.headers.items()}
        keys = {k: digest(v) for k, v in lower.items() if k in KEYS}
        others = {k: v for k, v in lower.items() if k not in KEYS}
        session = next((lower[k] for k in SESSIONS if k in lower), "")
        path = self.path.partition("?")[0]
        self.server.note(event="asked", n=n, path=self.path, session=session,
                         credential=keys, headers=others, body=body)  # fmt: skip
        turn, ended = {}, "complete"
        try:
            if path == "/v1/messages/count_tokens":
                self._whole(200, {"input_tokens": max(1, len(raw) // 4)})
            elif path in {"/v1/messages", "/v1/responses"}:
                turn = self.server.policy.turn(told_at_first(body), session)
                ended = self._answer(path, turn, n, body)
            else:
                self._error({"status": 404}, path)
        except (ClientGoneError, ConnectionError):
            ended = "client-gone"
            self.close_connection = True
        used = USAGE | turn.get("usage", {})
        self.server.note(event="answered", n=n, session=session, ended=ended,
                         status=turn.get("status", 200), usage=used)  # fmt: skip

    def do_GET(self) -> None:
        self._error({"status": 404}, self.path)

    def _answer(self, path: str, turn: dict, n: int, body: dict) -> str:
        if "wait_for" in turn:
            self._wait(Path(turn["wait_for"]))
        if turn.get("status", 200) >= 400:
            self._error(turn, path)
            return "error"
        if "garbage" in turn:
            self._whole(200, turn["garbage"])
            return "complete"
        openai = path == "/v1/responses"
        if not body.get("stream"):
            whole = response_of if openai else message_of
            self._whole(200, whole(turn, n, body["model"]))
            return "complete"
        events = response_events if openai else message_events
        return self._stream(turn, events(turn, n, body["model"]))

    def _stream(self, turn: dict, events: list[dict]) -> str:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for n, event in enumerate(events):
            if turn.get("reset_after") == n:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
                self.close_connection = True
                return "reset"
            if turn.get("cut_after") == n:
                self._chunk(b"")
                return "cut"
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self._chunk(data.encode())
            if "gate" in turn and n + 1 < len(events):
                self._wait(Path(turn["gate"]) / str(n))
        self._chunk(b"")
        return "complete"

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _wait(self, path: Path) -> None:
        while not path.exists():
            if select.select([self.connection], [], [], 0)[0] and not (
                self.connection.recv(1, socket.MSG_PEEK)
            ):
                raise ClientGoneError
            time.sleep(0.005)

    def _error(self, turn: dict, path: str) -> None:
        kind = turn.get("type", ERRORS.get(turn["status"], "api_error"))
        error = {"type": kind, "message": turn.get("message", kind)}
        body = {"type": "error", "error": error}
        if path == "/v1/responses":
            body = {"error": error | {"code": kind, "param": None}}
        after = turn.get("retry_after")
        headers = {} if after is None else {"retry-after": str(after)}
        self._whole(turn["status"], body, headers)

    def _whole(self, status: int, body: dict, headers: dict | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    with Stub(json.loads(given.policy.read_text()), given.log) as stub:
        print(stub.server_port, flush=True)
        with suppress(KeyboardInterrupt):
            stub.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
