"""A stand-in for the provider of language models: a real HTTP server that speaks OpenAI's chat completions. The name of
the model says how it behaves."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-stand-in-0123456789"
ERROR = {"error": {"message": "something broke in here", "type": "server_error", "code": None}}
REFUSED = {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "invalid_request_error"}}
UNKNOWN = {"error": {"message": "this model does not exist", "type": "invalid_request_error"}}
BUSY = {"error": {"message": "too many requests", "type": "rate_limit"}}
SPENT = {"error": {"message": "you exceeded your quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
LARGE = 200_000


@dataclass(frozen=True, slots=True)
class Said:
    """What is answered: a status, a body and headers."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    """Is the second half of the body missing?"""


def completion(text: str | None, tokens: int | None = 12) -> Said:
    message = {"role": "assistant", "content": text}
    usage = {} if tokens is None else {"usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": tokens}}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "stand-in", "choices": [choice], **usage}
    return Said(body)


def option_in(prompt: str) -> str:
    """The first option a prompt shows; "even" if it shows none."""
    found = re.search(r"one of: ([^,.]+)", prompt)
    return found[1] if found else "even"


TEXTS: Mapping[str, str | None] = {
    "right": "{option}",
    "upper": "{OPTION}",
    "prose": "Let me see. I choose **{option}**, for luck!",
    "thinking": "<think>odd? even?</think>\n\n{option}",
    "json": '```json\n{{"choice": "{option}"}}\n```',
    "uncounted": "{option}",
    "empty": "",
    "null": None,
    "banana": "banana",
    "large": "even or odd, who knows? " * (LARGE // 24),
}
"""What models say that answer at once."""
TROUBLE: Mapping[str, Said] = {
    "failing": Said(ERROR, 500),
    "busy": Said(BUSY, 429),
    "spent": Said(SPENT, 429),
    "page": Said("<html>Welcome</html>"),
    "oversized": Said("x" * 2_000_000),
    "moved": Said("", 301, {"Location": "/v2"}),
}


INSTEAD: Mapping[str, Mapping[str, Any]] = {
    "refusing": {"message": {"role": "assistant", "content": None, "refusal": "I can't help with that."}},
    "filtered": {"message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter"},
    "sorry": {"message": {"role": "assistant", "content": "I'm sorry, but I can't take part in games of chance."}},
    "calling": {
        "message": {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]},
        "finish_reason": "tool_calls",
    },
}
"""What models do instead of choosing."""


def streamed(text: str, is_cut: bool = False) -> str:
    """A completion as a stream of events."""
    head = {"id": "c-1", "object": "chat.completion.chunk", "model": "stand-in"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": letter} for letter in text)]
    events: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append({**head, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}})
    lines = [f"data: {json.dumps(event)}" for event in events]
    return "\n\n".join(lines[:2] if is_cut else [*lines, "data: [DONE]"]) + "\n\n"


class StandIn(ThreadingHTTPServer):
    """Serves at a free port. While `is_down`, everybody gets status 503; `key` is asked for if there is one."""

    daemon_threads = True

    def __init__(self, key: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key, self.is_down, self.is_closing = key, False, threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.refuses_after: tuple[int, int] | None = None
        """After so many requests, everything gets this status."""
        self.fails_once_in = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def prompts(self) -> list[str]:
        """The first message of every request but the greetings."""
        firsts = [one["messages"][0]["content"] for one in self.requests]
        return [one for one in firsts if "ready" not in one]

    def handle_error(self, *_: object) -> None:
        """Who was too slow for its client has nobody to answer."""

    def answer(self, path: str, authorization: str, body: bytes) -> Said:
        if path != "/v1/chat/completions":
            return Said({"error": {"message": f"there is no {path}"}}, 404)
        if self.key and authorization != f"Bearer {self.key}":
            return Said(REFUSED, 401)
        if self.is_down:
            return Said(ERROR, 503)
        request = json.loads(body)
        self.requests.append(request)
        messages = [one["content"] for one in request["messages"]]
        if request["model"] == "stream-only" and not request["stream"]:
            return Said({"error": {"message": "this model needs stream=true"}}, 400)
        return self._failure() or self._behave(request["model"], messages[0], messages[-1])

    def _failure(self) -> Said | None:
        if self.refuses_after is not None and len(self.requests) > self.refuses_after[0]:
            return Said(UNKNOWN, self.refuses_after[1])
        if self.fails_once_in and len(self.requests) % self.fails_once_in == 0:
            return Said(ERROR, 500)
        return None

    def _behave(self, model: str, first: str, last: str) -> Said:
        option = option_in(first)
        if model == "corrected":
            self.is_closing.wait(0.002)  # times are on record in whole milliseconds
            return completion("Hm." if last == first else option)
        if model == "limited" and len(self.requests) % 2 == 0:
            return Said(BUSY, 429, {"Retry-After": "1"})
        if model == "cut":
            return Said(completion(option).body, cut=True)
        if model == "slow" and "ready" not in first:
            self.is_closing.wait()  # longer than anybody waits for it
        if model in ("limited", "slow"):
            return completion(option)
        if model in TEXTS:
            text = TEXTS[model]
            said = None if text is None else text.format(option=option, OPTION=option.upper())
            return completion(said, tokens=None if model == "uncounted" else 12)
        return _unusual(model, option, is_greeting="ready" in first) or TROUBLE.get(model, Said(UNKNOWN, 404))


def _unusual(model: str, option: str, is_greeting: bool) -> Said | None:
    """How models answer that are not like the others."""
    if model in ("streaming", "stream-only", "stream-cut"):
        is_cut = model == "stream-cut" and not is_greeting
        return Said(streamed(option, is_cut), headers={"Content-Type": "text/event-stream"})
    if model == "mistyped":
        return Said(completion(option).body, headers={"Content-Type": "text/html; charset=latin-1"})
    if model in INSTEAD:
        body = completion("").body
        return Said({**body, "choices": [{"index": 0, "finish_reason": "stop", **INSTEAD[model]}]})
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = self.server.answer(self.path, self.headers.get("Authorization", ""), body)
        raw = said.body.encode() if isinstance(said.body, str) else json.dumps(said.body).encode()
        raw = raw[: len(raw) // 2] if said.cut else raw
        self.send_response(said.status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **said.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Tests read what they asked for, not a log."""


@contextmanager
def stand_in(key: str = "") -> Iterator[StandIn]:
    """A provider that serves while the test runs."""
    server = StandIn(key)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.is_closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
