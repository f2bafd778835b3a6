"""Chat completions: any provider that speaks OpenAI's protocol, asked over HTTP.

Requests go through our own HTTP client. The key comes from the environment and is never shown: not in a log, not in a
record, not in an error that quotes it. Providers differ in small things, and the reader takes them as they come: an
answer in parts, an answer as a stream of events although none was asked for, any content type.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from league.features.minds.asked.transports import REFUSAL, TOOL_CALL, Answer, Document, MindQuestion, NoAnswer, Usage
from league.machine import Failure
from league.protocol.endpoints import BadAddressError, parse
from league.terminal import USAGE, CommandError, console
from league.transport.http_client import CallFailed, HttpClient

KEY_VARIABLE: Final = "LEAGUE_LLM_KEY"
OK: Final = 200
UNAUTHORIZED: Final = 401
PASSING: Final = (408, 409, 425, 429)
"""Errors of a client that may be over the next time."""
RATE_LIMITED: Final = 429
NO_QUOTA: Final = "insufficient_quota"
"""The code of an error that only the owner of the account can mend."""
LARGEST_ANSWER: Final = 1_048_576
GREETING: Final = "Answer with the word ready."
GREETING_S: Final = 20.0
BYTES_A_TOKEN: Final = 4
"""For an estimate where the provider does not count tokens."""
LONGEST_TROUBLE: Final = 300
LONGEST_REQUEST: Final = 1_000
"""It travels with the registration, as the prompt does."""
UNREADABLE_DOCUMENT: Final = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
    LookupError,
    TypeError,
    AttributeError,
)
"""The errors that reading an unexpected document can raise."""
_KEY: Final = re.compile(r"[!-~]+")


class ProviderReply(NamedTuple):
    """An HTTP answer of a provider."""

    status: int
    body: bytes
    retry_after: float | None = None


class NoReply(NamedTuple):
    """A provider did not answer. `is_late`: not in time."""

    detail: str
    is_late: bool = False


Post = Callable[[bytes, float], Awaitable[ProviderReply | NoReply]]
"""Posts a request to the provider, and waits this many seconds for its answer."""


class ChatCompletions:
    """Asks a model by `post`, which knows where its provider is."""

    def __init__(
        self,
        model: str,
        provider: str,
        post: Post,
        temperature: float | None = None,
        more: Document | None = None,
    ) -> None:
        self.model = model
        self.provider = provider
        self._post = post
        self._more = dict(more or {})
        if temperature is not None:
            self._more["temperature"] = temperature
        self._must_stream = False
        """The provider has rejected a request because it was not for a stream."""

    @property
    def identity(self) -> str:
        return f"llm:{self.provider}"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        yield

    async def greet(self) -> NoAnswer | None:
        document = self.request(MindQuestion([{"role": "user", "content": GREETING}], ()))
        reply = await self.ask(document, GREETING_S)
        if isinstance(reply, Answer):
            return None
        if reply.is_late:
            return NoAnswer(f"the provider has not answered within {GREETING_S:g} s")
        return reply

    def request(self, question: MindQuestion) -> Document:
        document = {"model": self.model, "messages": list(question.messages), "stream": self._must_stream}
        return {**self._more, **document}

    async def ask(self, document: Document, seconds: float) -> Answer | NoAnswer:
        body = msgspec.json.encode(document)
        reply = await self._post(body, seconds)
        if isinstance(reply, NoReply):
            return NoAnswer(reply.detail, is_late=reply.is_late)
        # Some models answer in streams alone. The next request asks for one.
        if reply.status == 400 and "stream" in _sentence_in(reply.body) and not self._must_stream:
            self._must_stream = True
            return replace(trouble_in(reply), is_final=False)
        if reply.status == OK:
            answer = read_completion(reply.body, len(body) // BYTES_A_TOKEN)
            if answer is not None:
                return answer
        return trouble_in(reply)


def request_fields(text: str) -> Document:
    """Read the further fields of a request. CommandError if they are none, or if they are ours."""
    try:
        fields = msgspec.json.decode(text or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise CommandError(f"--request must be a JSON object, and {text[:80]!r} is none: {error}", USAGE) from error
    ours = sorted({"model", "messages", "stream", "temperature"} & fields.keys())
    if ours or len(text) > LONGEST_REQUEST:
        detail = f"cannot set {', '.join(ours)}" if ours else f"may have {LONGEST_REQUEST} characters at most"
        raise CommandError(f"--request {detail}", USAGE)
    return fields


# --- reading replies --------------------------------------------------------------------------------------------------


def read_completion(body: bytes, request_tokens: int) -> Answer | None:
    """Read a chat completion; None if this is none. A model that said nothing said the empty text."""
    try:
        document = _document_in(body)
        choice = document["choices"][0]
        message = choice["message"]
        text = _text_in(message.get("content"))
        finish_reason = str(choice.get("finish_reason") or "")
        calls_tool = bool(message.get("tool_calls") or message.get("function_call"))
        refuses = bool(message.get("refusal")) or finish_reason == "content_filter"
    except UNREADABLE_DOCUMENT:
        return None
    instead = ""
    if refuses:
        instead = REFUSAL
    elif calls_tool:
        instead = TOOL_CALL
    return Answer(
        text,
        raw=body.decode("utf-8", "replace"),
        usage=_usage_in(document.get("usage")) or Usage(request_tokens, len(text.encode()) // BYTES_A_TOKEN, True),
        finish_reason=finish_reason,
        model=str(document.get("model") or ""),
        instead=instead,
    )


def _document_in(body: bytes) -> Any:
    if not body.lstrip().startswith((b"data:", b"event:", b":")):
        return msgspec.json.decode(body)
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    finish_reason = None
    for event in _events_in(body):
        whole |= event
        for choice in event.get("choices") or ():
            finish_reason = choice.get("finish_reason") or finish_reason
            for name, part in (choice.get("delta") or {}).items():
                # Words come in pieces; whatever else there is, comes whole.
                if isinstance(part, str) and isinstance(message.get(name), str):
                    message[name] += part
                elif part is not None:
                    message[name] = part
    whole["choices"] = [{"message": message, "finish_reason": finish_reason}]
    return whole


def _events_in(body: bytes) -> Iterator[dict[str, Any]]:
    """The documents of a stream. It must come to its end, or half of an answer would count as one."""
    lines = [line.removeprefix(b"data:").strip() for line in body.splitlines() if line.startswith(b"data:")]
    if lines[-1] != b"[DONE]":
        raise LookupError("the stream was cut")
    for line in lines[:-1]:
        yield msgspec.json.decode(line, type=dict[str, Any])


def _text_in(content: object) -> str:
    # Some providers send a text in parts.
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _usage_in(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt = _count(usage.get("prompt_tokens"))
    completion = _count(usage.get("completion_tokens"))
    total = _count(usage.get("total_tokens"))
    if total is None and prompt is not None and completion is not None:
        total = prompt + completion
    if total is None:
        return None
    # The total may count thoughts that the completion does not.
    prompt = min(prompt or 0, total)
    return Usage(prompt, total - prompt)


def _count(value: object) -> int | None:
    # To Python true is a whole number, to a budget it is none.
    if type(value) is int and value >= 0:
        return value
    return None


def trouble_in(reply: ProviderReply) -> NoAnswer:
    """Say what is wrong with a reply that is no chat completion."""
    status = reply.status
    detail = f"the provider answered with status {status}"
    if status == OK:
        detail += ", but not with a chat completion"
    else:
        detail += f": {_sentence_in(reply.body)}"
    is_out_of_quota = status != OK and _is_out_of_quota(reply.body)
    return NoAnswer(
        detail,
        raw=reply.body.decode("utf-8", "replace"),
        is_final=is_out_of_quota or (300 <= status < 500 and status not in PASSING),
        is_rate_limit=status == RATE_LIMITED,
        retry_after=reply.retry_after,
        advice=_advice(status, is_out_of_quota),
    )


def _is_out_of_quota(body: bytes) -> bool:
    try:
        error = msgspec.json.decode(body)["error"]
        return NO_QUOTA in (error.get("code"), error.get("type"))
    except UNREADABLE_DOCUMENT:
        return False


def _sentence_in(body: bytes) -> str:
    """Return the sentence in an answer that is an error."""
    try:
        error = msgspec.json.decode(body)["error"]
        sentence = error["message"] if isinstance(error, dict) else error
    except UNREADABLE_DOCUMENT:
        # A proxy in between may answer with a page instead of JSON.
        sentence = body[:LONGEST_TROUBLE].decode("utf-8", "replace")
    one_line = " ".join(str(sentence).split())
    return one_line[:LONGEST_TROUBLE] or "no reason given"


def _advice(status: int, is_out_of_quota: bool) -> str:
    """Say what the user must change, if waiting will not help; otherwise an empty text."""
    if is_out_of_quota:
        return f"the account of {KEY_VARIABLE} needs credit"
    if status in (UNAUTHORIZED, 403):
        return f"{KEY_VARIABLE} must hold the key of this provider"
    if status == 404:
        return "--base-url must be the part before /chat/completions, and --model one of the provider's models"
    if status == OK or 300 <= status < 400:
        return "--base-url leads to something else"
    if status in (400, 405, 422):
        return "it does not accept such requests: check the model and its temperature"
    return ""


# --- over HTTP --------------------------------------------------------------------------------------------------------


class ProviderOfModels(ChatCompletions):
    """Asks a model at an address. The answers it returns never contain the key."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        temperature: float | None = None,
        key_variable: str = KEY_VARIABLE,
        more: Document | None = None,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._key = os.environ.get(key_variable, "")
        self._client: HttpClient | None = None
        try:
            self._endpoint = parse(self._url)
        except BadAddressError as error:
            raise CommandError(f"--base-url: {error}", USAGE) from error
        if self._key and not _KEY.fullmatch(self._key):
            raise CommandError(f"{key_variable} is not a key: it contains blanks or letters outside ASCII", USAGE)
        super().__init__(model, self._endpoint.host, self._post_to_provider, temperature, more)

    @property
    def identity(self) -> str:
        return f"llm:{self._url}"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        self._warn_if_unencrypted()
        # A client of its own: the calls of the league must never wait for a slow provider.
        self._client = HttpClient()
        try:
            yield
        finally:
            await self._client.close()

    async def greet(self) -> NoAnswer | None:
        trouble = await super().greet()
        # A provider that wants a stream gets one in the second request.
        if trouble is not None and self._must_stream:
            return await super().greet()
        return trouble

    async def _post_to_provider(self, body: bytes, seconds: float) -> ProviderReply | NoReply:
        assert self._client is not None, "the session has begun"
        headers = b""
        if self._key:
            headers = f"Authorization: Bearer {self._key}\r\n".encode()
        try:
            reply = await self._client.post(self._url, body, seconds, LARGEST_ANSWER, headers)
        except CallFailed as error:
            if error.failure is Failure.UNUSABLE:
                return NoReply(f"the provider answered, but {error.detail}")
            return NoReply(f"the provider cannot be reached: {error}", error.failure is Failure.TIMEOUT)
        text = reply.body
        # Errors are shown to people, and may quote the key.
        if self._key and reply.status != OK:
            text = text.replace(self._key.encode(), b"***")
        return ProviderReply(reply.status, text, reply.retry_after)

    def _warn_if_unencrypted(self) -> None:
        ip = self._endpoint.ip
        is_local = ip is not None and ip.is_loopback
        if self._key and self._endpoint.scheme == "http" and not is_local:
            console.complain(f"{KEY_VARIABLE} is sent to {self._endpoint.host} unencrypted: use https")
