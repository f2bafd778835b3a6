"""Pages of a running agent, read over plain HTTP. Proxies are ignored: the address is always called directly."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from league.cli.source import MATCHES, manager_url
from league.terminal import CommandError
from league.terminal.addresses import split_http

TIMEOUT_S = 10.0
READY_S = 2.0
PAUSES_S = (1.0, 2.0, 4.0)
"""Pauses before another try, if an agent answers that we have asked too often."""
LARGEST = 64 << 20
"""The limit on a page, in bytes; our own pages are far smaller."""
TLS_ALERT = "\x15\x03"
"""How the answer of a server that speaks https begins if it is asked in plain http."""


def is_ready(url: str) -> bool:
    """True if the manager at this URL works: a standby is not ready."""
    parts = split_http(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=READY_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


class Pages:
    """The pages of an agent, read over one connection.

    `url` may be the agent's /mcp address or only its host. None stands for the manager's usual address.
    """

    def __init__(self, url: str | None) -> None:
        parts = split_http(manager_url(url))
        self.base = f"{parts.scheme}://{parts.netloc}"
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)

    def get(self, path: str) -> Any:
        """The document at this path of a manager; None if there is no such match."""
        document = self.json(path)
        # Only a match may be missing; any other page every manager has.
        if not isinstance(document, dict) and not path.startswith(MATCHES):
            raise CommandError(f"{self.base} is not a League Manager: it has no {path}")
        return document

    def text(self, path: str) -> str:
        """The page at this path."""
        status, body = self._ask("GET", path)
        if status != 200:
            raise CommandError(f"{self.base}{path} answered with status {status}")
        return body.decode(errors="replace")

    def json(self, path: str) -> Any:
        """The document at this path; None if there is no such thing (404)."""
        status, body = self._ask("GET", path)
        if status == 404:
            return None
        try:
            if status == 200:
                return json.loads(body)
        except ValueError:
            pass
        raise CommandError(f"{self.base}{path} is not a page of a League Manager (status {status})")

    def post(self, path: str, document: object, token: str) -> tuple[int, bytes]:
        """Post a document; return status and body of the answer. If the answer is lost, the document is sent again."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return self._ask("POST", path, json.dumps(document).encode(), headers)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        status, answer = self._ask_once(method, path, body, headers)
        # The manager limits how often it is asked, and our own commands must not fail because of that.
        for pause in PAUSES_S:
            if status != 429:
                break
            time.sleep(pause)
            status, answer = self._ask_once(method, path, body, headers)
        return status, answer

    def _ask_once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
    ) -> tuple[int, bytes]:
        try:
            return self._try(method, path, body, headers or {})
        except (HTTPException, OSError):
            # The agent may have closed a connection that was idle for long, so one failure means nothing.
            self._connection.close()
        try:
            return self._try(method, path, body, headers or {})
        except (HTTPException, OSError) as error:
            self._connection.close()
            raise CommandError(_why_not(self.base, error)) from error

    def _try(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        all_headers = {"Accept": "application/json", **headers}
        self._connection.request(method, path, body, headers=all_headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read(LARGEST)

    def close(self) -> None:
        self._connection.close()


def _why_not(base: str, error: HTTPException | OSError) -> str:
    """Why there was no answer from this address."""
    from ssl import SSLCertVerificationError, SSLError

    from league.machine import NoConnection

    if isinstance(error, SSLCertVerificationError):
        return f"{base}: {NoConnection.NOT_TRUSTED}; SSL_CERT_FILE names the authority that signed it"
    if isinstance(error, SSLError):
        return f"{base}: {NoConnection.NO_TLS}"
    if isinstance(error, BadStatusLine) and str(error).startswith(TLS_ALERT):
        return f"{base}: {NoConnection.TLS}"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"nobody answers at {base}: {reason}"
